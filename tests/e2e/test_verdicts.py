"""What can go wrong between the request and the file, and the reason that the command gives.

One test for each line of the table of what can be seen of a client from outside.
"""

import os
import signal
import time

import pytest

from harness import places
from harness.waiting import until


def trace(daemon, job, scratch, *options, **popen):
    answer = daemon.dyno("gputrace", "--pids", job.pid, "--duration-ms", 200, "--log-file",
                         os.path.join(scratch, "t.json"), "--json", *options, **popen)
    assert answer.json["processes"], answer
    return answer, answer.json["processes"][0]


@pytest.fixture
def ready(kineto_job, main_daemon):
    def make(behaviour, *arguments, **options):
        job = kineto_job(behaviour, *arguments, **options)
        main_daemon.wait_for(job.pid)
        return job
    return make


def assert_nothing_left(scratch):
    """Taken away after the end was told, so it may be a moment later."""
    until("no temporary of ours to stay", lambda: places.listed(scratch) == [])


def test_configuration_not_read(ready, main_daemon, scratch):
    """It polls, but leaves the answer in its socket."""
    job = ready("deaf")
    answer, update = trace(main_daemon, job, scratch, "--deadline", 8)
    assert answer.code == 5 and update["state"] == "timed_out", update
    assert "not read in time" in update["sentence"], update


def test_delivered_but_never_begun(ready, main_daemon, scratch):
    job = ready("ignore")
    answer, update = trace(main_daemon, job, scratch)
    assert answer.code == 4 and update["state"] == "rejected", update
    assert "no trace file appeared" in update["sentence"], update
    assert_nothing_left(scratch)


def test_no_optimizer_steps(ready, main_daemon, scratch):
    """Up to 2.11 an iteration trace of a process without steps never begins."""
    job = ready("no-steps")
    answer, update = trace(main_daemon, job, scratch, "--iterations", 2, "--deadline", 10)
    assert answer.code == 5 and update["state"] == "timed_out", update
    assert "makes no training steps" in update["sentence"], update
    (found,) = [each for each in answer.json["findings"] if each["pid"] == job.pid]
    assert found["check"] == "iterations" and found["level"] == "warning", found
    assert found["fix"] == ("trace it for a time: dyno gputrace --pids "
                            f"{job.pid} --duration-ms 500"), found
    assert found["fix"] in answer.err, answer


def test_busy_without_a_file(ready, main_daemon, scratch):
    """It traces, but cannot open its file."""
    job = ready("no-file")
    answer, update = trace(main_daemon, job, scratch)
    assert answer.code == 4 and update["state"] == "busy", update
    assert "could not open the file" in update["sentence"], update
    assert_nothing_left(scratch)


def test_temporary_file_then_idle(ready, main_daemon, scratch):
    job = ready("cancelled")
    answer, update = trace(main_daemon, job, scratch)
    assert answer.code == 4 and update["state"] == "cancelled", update
    assert "profiler" in update["sentence"] or "buffer" in update["sentence"], update
    assert_nothing_left(scratch)


def test_process_dies_with_its_temporary_file(ready, main_daemon, scratch):
    job = ready("dies")
    answer, update = trace(main_daemon, job, scratch)
    assert answer.code == 4 and update["state"] == "lost", update
    assert "the process ended while" in update["sentence"], update
    assert_nothing_left(scratch)


def test_truncated_file(ready, main_daemon, scratch):
    """It is brought to its place all the same: half a trace is more than none."""
    job = ready("truncated")
    answer, update = trace(main_daemon, job, scratch)
    assert answer.code == 4 and update["state"] == "delivered", answer
    assert not update["whole"] and "cut off" in update["problem"], update
    assert os.path.exists(update["file"])


def test_file_of_another_trace(ready, main_daemon, scratch):
    job = ready("other-id")
    answer, update = trace(main_daemon, job, scratch)
    assert answer.code == 4 and update["state"] == "undelivered" and not update["ours"], update
    assert os.path.exists(update["file"]), "left where it is"
    assert "4711" in update["problem"] + update["sentence"], update
    assert f"t_{job.pid}.json" not in places.listed(scratch), "it is not taken for ours"


def test_process_gone_before_it_asked(ready, main_daemon, scratch):
    job = ready("good", "--period", 5)
    running = main_daemon.dyno_started("gputrace", "--pids", job.pid, "--log-file",
                                       os.path.join(scratch, "t.json"), "--json")
    running.wait_until_said(": staged")
    job.kill()
    answer = running.finish()
    assert answer.code == 4 and answer.json["processes"][0]["state"] == "lost", answer
    assert "before it fetched" in answer.json["processes"][0]["sentence"], answer


def test_stopped_process(ready, main_daemon, scratch):
    job = ready("good")
    job.process.send_signal(signal.SIGSTOP)
    try:
        main_daemon.wait_for(job.pid, state="stalled")
        answer, update = trace(main_daemon, job, scratch, "--deadline", 2)
    finally:
        job.process.send_signal(signal.SIGCONT)
    assert answer.code == 5 and update["state"] == "timed_out", answer
    assert "stalled" in answer.out + answer.err, answer
    fixes = {each["fix"] for each in answer.json["findings"] if each["pid"] == job.pid}
    assert f"kill -CONT {job.pid}" in fixes, answer
    assert f"kill -CONT {job.pid}" in answer.err, answer


def test_start_too_near_is_refused_before(main, scratch):
    daemon, job = main
    answer = daemon.dyno("gputrace", "--pids", job.pid, "--start-in", "0.1", "--warmup", "2",
                         "--log-file", os.path.join(scratch, "t.json"))
    assert answer.code == 2, answer
    assert "too soon" in answer.err and "at least" in answer.err, answer
    assert daemon.process_of(job.pid)["state"] == "idle"


def test_start_in(main, scratch):
    daemon, job = main
    before = time.time_ns()
    answer, update = trace(daemon, job, scratch, "--start-in", "6")
    assert answer.code == 0 and update["state"] == "delivered", answer
    assert update["summary"]["window_start_ns"] >= before + 5_900_000_000, update["summary"]


def test_unknown_activity_type_is_refused_before(main, scratch):
    daemon, job = main
    answer = daemon.dyno("gputrace", "--pids", job.pid, "--activity-types", "cpu_op,kernels",
                         "--log-file", os.path.join(scratch, "t.json"))
    assert answer.code == 2, answer
    assert "kernels" in answer.err and "did you mean kernel?" in answer.err, answer
    assert daemon.process_of(job.pid)["state"] == "idle"


def test_activity_types_reach_the_profiler(main, scratch):
    daemon, job = main
    answer, update = trace(daemon, job, scratch, "--activity-types", "user_annotation")
    assert answer.code == 0, answer
    categories = {row["category"] for row in update["summary"]["categories"]}
    assert "user_annotation" in categories and "cpu_op" not in categories, categories


def test_iterations_turned_into_a_duration(daemon, job, shared_directory, scratch):
    """2.12 and later trace a process without steps by time: the answer says so."""
    own = daemon("--noenable_ipc_monitor", "--no_tcp", f"--kineto_socket_dir={shared_directory}")
    stepless = job("--no-optimizer", socket_dir=shared_directory).wait_ready()
    own.wait_for(stepless.pid, state="idle")
    answer = own.dyno("gputrace", "--pids", stepless.pid, "--iterations", 3, "--duration-ms", 300,
                      "--log-file", os.path.join(scratch, "t.json"), "--json")
    assert answer.code == 0, answer
    (update,) = answer.json["processes"]
    said = " ".join(update["notes"])
    assert "instead of 3 iterations" in said, update


def test_the_trace_that_comes_after_the_deadline_is_delivered(main, scratch):
    daemon, job = main
    answer = daemon.dyno("gputrace", "--pids", job.pid, "--duration-ms", 3000, "--deadline", 3,
                         "--log-file", os.path.join(scratch, "t.json"), "--json")
    assert answer.code == 5, answer
    assert answer.json["processes"][0]["state"] == "timed_out"
    until("the late trace under its name",
          lambda: places.listed(scratch) == [f"t_{job.pid}.json"])
    daemon.wait_for(job.pid, state="idle")
