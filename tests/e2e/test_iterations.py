"""Iteration mode: with an optimizer whose steps count, and without one."""

import os

import pytest

from harness import traces
from harness.job import Job


def test_traces_the_steps_asked_for(main, scratch):
    daemon, job = main
    answer = daemon.dyno("gputrace", "--pids", job.pid, "--iterations", 20,
                         "--profile-start-iteration-roundup", 10, "--log-file",
                         os.path.join(scratch, "t.json"), "--json")
    assert answer.code == 0, answer
    (update,) = answer.json["processes"]
    trace = traces.assert_good(update["file"], update)
    steps = [e for e in trace["traceEvents"] if "Optimizer.step" in e.get("name", "")]
    # One more or less at the edges of the window.
    assert 19 <= len(steps) <= 21, len(steps)


@pytest.fixture(scope="module")
def stepless(hall):
    job = Job("--no-optimizer", socket_dir=hall)
    yield job.wait_ready()
    job.close()


def test_without_steps_it_is_a_trace_by_duration_and_said_so(main_daemon, stepless, scratch):
    main_daemon.wait_for(stepless.pid, state="idle")
    answer = main_daemon.dyno("gputrace", "--pids", stepless.pid, "--iterations", 5,
                              "--duration-ms", 300, "--log-file", os.path.join(scratch, "t.json"),
                              "--json")
    assert answer.code == 0, answer
    (update,) = answer.json["processes"]
    trace = traces.assert_good(update["file"], update)
    assert 200 < traces.window_ms(trace) < 900, traces.window_ms(trace)
    assert any("instead of 5 iterations" in note for note in update["notes"]), update
