"""The main job: a PyTorch process on this host is traced, and the exit code tells the truth."""

import os
import re
import signal

import pytest

from harness import places, traces
from harness.waiting import until

ORDER = ["staged", "fetched", "warming_up", "tracing", "writing", "written",
         "delivered"]


def states_said(text, pid):
    """The states of `pid` in the order in which the command named them, without repeats."""
    said = re.findall(rf"pid {pid}\b[^:]*: ([a-z_]+)", text)
    return [state for i, state in enumerate(said) if i == 0 or said[i - 1] != state]


def kineto_name(path, pid):
    return path.replace(".json", f"_{pid}.json", 1)


def test_one_process_goes_through_its_states_to_a_checked_file(main, scratch):
    daemon, job = main
    log_file = os.path.join(scratch, "trace.json")
    answer = daemon.dyno("gputrace", "--pids", job.pid, "--log-file", log_file, "--json")
    assert answer.code == 0, answer

    result = answer.json
    assert result["schema"] == 1 and result["exit_code"] == 0
    (update,) = result["processes"]
    assert update["pid"] == job.pid and update["state"] == "delivered"
    assert update["checked"] and update["whole"] and update["ours"], update
    assert update["file"] == kineto_name(log_file, job.pid)
    trace = traces.assert_good(update["file"], update)
    assert update["summary"]["events"] > 100 and "empty" not in update
    assert update["summary"]["bytes"] == os.path.getsize(update["file"])
    assert any(e.get("cat") == "cpu_op" for e in trace["traceEvents"])
    assert places.listed(scratch) == [os.path.basename(update["file"])], "nothing else is left"

    seen = states_said(answer.err, job.pid)
    assert seen == [state for state in ORDER if state in seen], seen
    assert {"staged", "fetched", "tracing", "delivered"} <= set(seen), (seen, answer.err)


def test_plain_output_says_where_the_trace_is(main, scratch):
    daemon, job = main
    log_file = os.path.join(scratch, "t.json")
    answer = daemon.dyno("trace", "--pids", job.pid, "--log-file", log_file, "--duration-ms", 200)
    assert answer.code == 0, answer
    assert kineto_name(log_file, job.pid) in answer.out + answer.err
    assert "1 of 1 traces delivered and checked" in answer.out + answer.err


def test_options_reach_the_profiler(main, scratch):
    daemon, job = main
    log_file = os.path.join(scratch, "deep.json")
    answer = daemon.dyno("gputrace", "--pids", job.pid, "--log-file", log_file, "--json",
                         "--duration-ms", 200, "--record-shapes", "--with-stacks",
                         "--activity-types", "cpu_op,python_function")
    assert answer.code == 0, answer
    trace = traces.assert_good(kineto_name(log_file, job.pid), answer.json["processes"][0])
    assert any("Input Dims" in e.get("args", {}) for e in trace["traceEvents"])
    assert any(e.get("cat") == "python_function" for e in trace["traceEvents"])


def test_no_wait_asks_and_leaves_and_follow_takes_it_up(main, scratch):
    daemon, job = main
    log_file = os.path.join(scratch, "later.json")
    answer = daemon.dyno("gputrace", "--pids", job.pid, "--log-file", log_file, "--no-wait",
                         "--json")
    assert answer.code == 0, answer
    assert not os.path.exists(kineto_name(log_file, job.pid)), "it did not wait"
    followed = daemon.dyno("gputrace", "--follow", answer.json["session"], "--json")
    assert followed.code == 0, followed
    (update,) = followed.json["processes"]
    traces.assert_good(kineto_name(log_file, job.pid), update)
    again = daemon.dyno("gputrace", "--follow", answer.json["session"])
    assert again.code == 0, again
    assert daemon.dyno("gputrace", "--follow", "0123456789abcdef").code == 3


def test_cancel_of_a_session_that_was_left(stopped, scratch):
    daemon, job = stopped
    answer = daemon.dyno("gputrace", "--pids", job.pid, "--log-file",
                         os.path.join(scratch, "t.json"), "--no-wait", "--json")
    assert answer.code == 0, answer
    cancelled = daemon.dyno("gputrace", "--cancel", answer.json["session"], "--json")
    assert cancelled.code == 0 and cancelled.json["withdrawn"] == 1, cancelled
    assert_nothing_happens(daemon, job, scratch)


def test_ps_and_status_for_people(main):
    daemon, job = main
    until("the version of PyTorch", lambda: daemon.process_of(job.pid)["torch_version"])
    listed = daemon.dyno("ps")
    assert listed.code == 0
    line = next(line for line in listed.out.splitlines() if line.split()[0] == str(job.pid))
    assert "root" in line and "idle" in line and "2." in line and "python" in line, line
    status = daemon.dyno("status")
    assert status.code == 0 and str(daemon.pid) in status.out and daemon.run_dir in status.out


def test_missing_directory_is_said_before_anything_starts(main, scratch):
    daemon, job = main
    answer = daemon.dyno("gputrace", "--pids", job.pid, "--log-file",
                         os.path.join(scratch, "nowhere", "t.json"))
    assert answer.code == 4, answer
    assert os.path.join(scratch, "nowhere") in answer.out + answer.err
    assert daemon.process_of(job.pid)["state"] == "idle"


def test_own_profiler_makes_it_busy(main, scratch):
    daemon, job = main
    job.tell("profile", "profiling")
    try:
        daemon.wait_for(job.pid, state="busy")
        answer = daemon.dyno("gputrace", "--pids", job.pid, "--log-file",
                             os.path.join(scratch, "t.json"), "--json")
    finally:
        job.tell("unprofile", "profiled")
    assert answer.code == 4, answer
    (update,) = answer.json["processes"]
    assert update["state"] == "busy"
    assert "profiler" in update["sentence"], update
    assert places.listed(scratch) == []
    daemon.wait_for(job.pid, state="idle")


def test_own_profiler_during_warm_up_cancels(main, scratch):
    daemon, job = main
    running = daemon.dyno_started("gputrace", "--pids", job.pid, "--warmup", 3, "--log-file",
                                  os.path.join(scratch, "t.json"), "--json")
    running.wait_until_said("warming_up")
    job.tell("profile", "profiling")
    try:
        until("the job to be past the window", lambda: daemon.process_of(job.pid)["state"] in (
            "tracing", "writing"))
    finally:
        job.tell("unprofile", "profiled")
    answer = running.finish()
    assert answer.code == 4, answer
    (update,) = answer.json["processes"]
    assert update["state"] == "cancelled" and update["sentence"], update
    daemon.wait_for(job.pid, state="idle")


def test_second_trace_while_one_is_under_way_is_busy(main, scratch):
    daemon, job = main
    first = daemon.dyno_started("gputrace", "--pids", job.pid, "--duration-ms", 1500, "--log-file",
                                os.path.join(scratch, "first.json"), "--json")
    first.wait_until_said("fetched")
    second = daemon.dyno("gputrace", "--pids", job.pid, "--log-file",
                         os.path.join(scratch, "second.json"), "--json")
    assert second.code == 4, second
    (planned,) = second.json["planned"]
    assert "another trace (session" in planned["problem"], second
    answer = first.finish()
    assert answer.code == 0, answer
    assert places.listed(scratch) == [f"first_{job.pid}.json"]


def test_killed_in_mid_trace_is_lost(main_daemon, hall, job, scratch):
    victim = job(socket_dir=hall).wait_ready()
    main_daemon.wait_for(victim.pid, state="idle")
    running = main_daemon.dyno_started("gputrace", "--pids", victim.pid, "--duration-ms", 5000,
                                       "--log-file", os.path.join(scratch, "t.json"), "--json")
    running.wait_until_said(": tracing")
    victim.signal(signal.SIGKILL)
    victim.process.wait()
    answer = running.finish()
    assert answer.code == 4, answer
    (update,) = answer.json["processes"]
    assert update["state"] == "lost" and update["sentence"], update
    assert main_daemon.process_of(victim.pid) is None, "a dead process leaves at once"


@pytest.fixture
def stopped(main):
    """The main job, stopped by a signal a moment ago; it runs again afterwards."""
    daemon, job = main
    job.signal(signal.SIGSTOP)
    try:
        yield daemon, job
    finally:
        job.signal(signal.SIGCONT)
        daemon.wait_for(job.pid, state="idle")


def assert_nothing_happens(daemon, job, directory):
    """The process runs again and is not traced: the next trace is the only one."""
    job.signal(signal.SIGCONT)
    daemon.wait_for(job.pid, state="idle")
    good = os.path.join(directory, "good.json")
    answer = daemon.dyno("gputrace", "--pids", job.pid, "--log-file", good)
    assert answer.code == 0, answer
    assert places.listed(directory) == [f"good_{job.pid}.json"]


def test_deadline_passes_before_it_is_fetched(stopped, scratch):
    daemon, job = stopped
    answer = daemon.dyno("gputrace", "--pids", job.pid, "--deadline", 2, "--log-file",
                         os.path.join(scratch, "t.json"), "--json")
    assert answer.code == 5, answer
    assert answer.json["processes"][0]["state"] == "timed_out"
    assert_nothing_happens(daemon, job, scratch)


def test_interrupt_takes_back_what_was_not_fetched(stopped, scratch):
    daemon, job = stopped
    running = daemon.dyno_started("gputrace", "--pids", job.pid, "--log-file",
                                  os.path.join(scratch, "t.json"), "--json")
    running.wait_until_said(": staged")
    running.process.send_signal(signal.SIGINT)
    answer = running.finish()
    assert answer.code == 4, answer
    assert answer.json["interrupted"] is True
    assert answer.json["processes"][0]["state"] == "cancelled"
    assert_nothing_happens(daemon, job, scratch)


def test_stopped_process_is_shown_as_stalled(stopped, scratch):
    daemon, job = stopped
    daemon.wait_for(job.pid, state="stalled")
    answer = daemon.dyno("gputrace", "--pids", job.pid, "--deadline", 2, "--log-file",
                         os.path.join(scratch, "t.json"))
    assert answer.code != 0 and "stalled" in answer.out + answer.err, answer


def test_interrupt_says_what_cannot_be_recalled(main, scratch):
    daemon, job = main
    running = daemon.dyno_started("gputrace", "--pids", job.pid, "--duration-ms", 2000,
                                  "--log-file", os.path.join(scratch, "t.json"))
    running.wait_until_said(": tracing")
    running.process.send_signal(signal.SIGINT)
    answer = running.finish()
    assert answer.code == 4, answer
    assert str(job.pid) in answer.err and "recall" in answer.err, answer
    until("the trace that runs on", lambda: places.listed(scratch) == [f"t_{job.pid}.json"])
    daemon.wait_for(job.pid, state="idle")
