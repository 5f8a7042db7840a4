"""The daemon comes later, goes away and comes back: jobs and waiting commands carry on."""

import glob
import os
import signal

import pytest

from harness import places, traces
from harness.daemon import Daemon
from harness.job import Job
from harness.kineto_job import KinetoJob
from harness.waiting import until


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
    # Under the daemon's name for it: nobody is there to move it.
    until("the file", lambda: glob.glob(os.path.join(scratch, f"dynolog-*_{job.pid}.json")))
    daemon.start()
    traced(running.finish())
    assert os.path.exists(os.path.join(scratch, f"t_{job.pid}.json"))


def partly_brought(directory):
    """The file that is being brought, once some of it is there."""
    return [path for path in glob.glob(os.path.join(directory, ".*.part"))
            if os.path.getsize(path) > 0]


@pytest.mark.parametrize("end", ["SIGTERM", "SIGKILL"])
def test_restart_while_the_file_is_brought(daemon, shared_directory, scratch, end):
    """What was brought before counts: the pieces go on where they were, of the same file."""
    served = daemon("--noenable_ipc_monitor", "--no_tcp", f"--kineto_socket_dir={shared_directory}")
    job = KinetoJob(shared_directory, "good", "--megabytes", 60)
    try:
        job.wait_ready()
        served.wait_for(job.pid, state="idle")
        running = served.dyno_started("gputrace", "--pids", job.pid, "--duration-ms", 100,
                                      "--output", scratch, "--json")
        until("the first pieces", lambda: partly_brought(scratch), pause=0.002)
        running.process.send_signal(signal.SIGSTOP)
        (part,) = partly_brought(scratch)
        before = os.path.getsize(part)
        served.stop() if end == "SIGTERM" else served.kill()
        served.start()
        running.process.send_signal(signal.SIGCONT)
        answer = running.finish()
        traced(answer)
        (update,) = answer.json["processes"]
        assert 0 < before < os.path.getsize(update["file"]), "it was in the middle of it"
        assert partly_brought(scratch) == []
    finally:
        job.close()
