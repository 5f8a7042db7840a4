"""The daemon comes later, goes away and comes back: jobs and waiting commands carry on."""

import glob
import os
import signal

import pytest

from harness import places, traces
from harness.daemon import Daemon
from harness.job import Job


@pytest.fixture(scope="module")
def early():
    """A job that was there before any daemon, and the directory where it looks for one."""
    directory = places.short_directory(0o1777)
    job = Job(socket_dir=directory)
    try:
        yield job.wait_ready(), directory
    finally:
        job.close()
        places.remove(directory)


@pytest.fixture
def pair(early):
    job, directory = early
    daemon = Daemon("--noenable_ipc_monitor", "--no_tcp", f"--kineto_socket_dir={directory}")
    try:
        daemon.start()
        daemon.wait_for(job.pid, state="idle")
        yield daemon, job
    finally:
        job.signal(signal.SIGCONT)
        daemon.close()


def traced(answer):
    assert answer.code == 0, answer
    (update,) = answer.json["processes"]
    traces.assert_good(update["file"], update)


def test_daemon_started_after_the_job(pair, scratch):
    daemon, job = pair
    traced(daemon.dyno("gputrace", "--log-file", os.path.join(scratch, "t.json"), "--json"))


@pytest.mark.parametrize("end", ["SIGTERM", "SIGKILL"])
def test_restart_in_mid_trace(pair, scratch, end):
    daemon, job = pair
    running = daemon.dyno_started("gputrace", "--duration-ms", 2500, "--log-file",
                                  os.path.join(scratch, "t.json"), "--json")
    running.wait_until_said(": tracing")
    daemon.stop() if end == "SIGTERM" else daemon.kill()
    daemon.start()
    traced(running.finish())
    daemon.wait_for(job.pid, state="idle")


def test_restart_before_it_was_fetched(pair, scratch):
    daemon, job = pair
    job.signal(signal.SIGSTOP)
    running = daemon.dyno_started("gputrace", "--log-file", os.path.join(scratch, "t.json"),
                                  "--json")
    running.wait_until_said(": staged")
    daemon.kill()
    daemon.start()
    job.signal(signal.SIGCONT)
    traced(running.finish())


def test_trace_written_while_no_daemon_ran(pair, scratch):
    daemon, job = pair
    running = daemon.dyno_started("gputrace", "--duration-ms", 1000, "--log-file",
                                  os.path.join(scratch, "t.json"), "--json")
    running.wait_until_said(": tracing")
    daemon.kill()
    from harness.waiting import until
    # Under the daemon's name for it: nobody is there to move it.
    until("the file", lambda: glob.glob(os.path.join(scratch, f"dynolog-*_{job.pid}.json")))
    daemon.start()
    traced(running.finish())
    assert os.path.exists(os.path.join(scratch, f"t_{job.pid}.json"))
