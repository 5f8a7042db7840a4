"""Time that jumps or stands still, and kernels that are older than what they are asked.

docs/hostile-input.md says which test is for which attack.
"""

import datetime
import json
import os
import signal
import socket
import struct
import subprocess
import time

import pytest

from harness import datagrams, frames, places
from harness.daemon import tcp_port
from harness.users import JOBS
from harness.waiting import until

ALICE = 20001
BOB = 20002
QUIET = ("--noenable_ipc_monitor", "--port=0")


@pytest.fixture
def job(kineto_job_here):
    return kineto_job_here


@pytest.mark.parametrize("phase", ["fetched", "tracing"])
def test_daemon_that_was_stopped_for_a_while(daemon, job, script, shared_directory, phase):
    """As after a suspend: no late answers, no wrong ones, and a trace under way goes on.

    Where it was only fetched, idle polls and the news of its file wait for the daemon together.
    """
    served = daemon(*QUIET, f"--kineto_socket_dir={shared_directory}", "--rpc_idle_timeout_s=5")
    port = tcp_port(served)
    poller = script("poller.py", shared_directory)
    poller.hear()
    assert poller.tell("poll")["reply"] == ""
    traced = job()
    served.wait_for(traced.pid, state="idle")
    running = served.dyno_started("gputrace", "--pids", traced.pid, "--duration-ms", 2000,
                                  "--log-file", traced.file("t.json"), "--json", "--timeout", 40)
    running.wait_until_said(f": {phase}")
    half = frames.connect(port)
    half.sendall(struct.pack("<i", 18) + b'{"fn":"get')
    late = served.counter("kineto_late") + served.counter("kineto_behind")
    served.pause()
    try:
        # Seven polls of 2 s each without an answer: more than the 10 s that a request may take.
        assert [poller.tell("poll")["reply"] for _ in range(7)] == [None] * 7
    finally:
        served.process.send_signal(signal.SIGCONT)
    assert until("an answer", lambda: poller.tell("poll")["reply"] is not None)
    assert poller.tell("poll")["reply"] == "", "no reply behind"
    counted = served.counter("kineto_late") + served.counter("kineto_behind")
    assert counted >= late + 7, counted
    answer = running.finish()
    assert answer.code == 0, answer
    (update,) = answer.json["processes"]
    assert update["state"] == "delivered", update
    assert served.dyno("ps", "--json").code == 0
    try:
        frames.read_frame(half)
    except (EOFError, ConnectionResetError):
        pass
    half.close()
    assert json.loads(frames.call(port, {"fn": "getStatus"})) == {"status": 1}


# --- a wall clock that is set ---

class WallClock:
    """For processes with this environment; setting the host's own would harm whatever runs here."""

    def __init__(self, directory):
        self.library = os.path.join(directory, "wall_clock.so")
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", self.library,
                        os.path.join(JOBS, "wall_clock.c"), "-ldl"], check=True)
        self.path = os.path.join(directory, "offset")
        self.jump_to(0)

    def jump_to(self, seconds):
        with open(self.path, "wb" if not os.path.exists(self.path) else "r+b") as file:
            file.write(struct.pack("<q", seconds))

    @property
    def environment(self):
        return {"LD_PRELOAD": self.library, "WALL_CLOCK_OFFSET": self.path,
                "ASAN_OPTIONS": "verify_asan_link_order=0"}


def ticks(daemon):
    return max(c["successes"] for c in daemon.status()["collectors"])


def seconds_since_epoch(stamp):
    return datetime.datetime.fromisoformat(stamp).timestamp()


def newest_stamp(lines):
    """Of the last whole line of --json_file."""
    with open(lines) as file:
        whole = [line for line in file if line.endswith("}\n")]
    return seconds_since_epoch(json.loads(whole[-1])["time"]) if whole else 0


def newest_logged(daemon):
    return seconds_since_epoch(daemon.log().splitlines()[-1].split()[0])


def test_clock_that_jumps_an_hour_forth_and_back(daemon, job, script, scratch, shared_directory):
    """Ages and deadlines do not notice; what is stamped follows; polls and traces go on."""
    clock = WallClock(scratch)
    lines = os.path.join(scratch, "lines")
    served = daemon(*QUIET, f"--kineto_socket_dir={shared_directory}", "--use_JSON",
                    "--json_interval_s=1", f"--json_file={lines}", env=clock.environment)
    traced = job(env=clock.environment)
    poller = script("poller.py", shared_directory)
    poller.hear()
    served.wait_for(traced.pid, state="idle")
    for hours in (1, 0, -1, 0):
        clock.jump_to(3600 * hours)
        before = ticks(served)

        def is_of_now(stamp):
            return abs(stamp - time.time() - 3600 * hours) < 60
        until("a line of the new time", lambda: is_of_now(newest_stamp(lines)))
        assert until("a poll to be answered", lambda: poller.tell("poll")["reply"] == "")
        row = served.wait_for(traced.pid, state="idle")
        assert row["last_poll_age_s"] < 60, row
        answer = served.dyno("gputrace", "--pids", traced.pid, "--duration-ms", 100, "--log-file",
                             traced.file("t.json"), "--json")
        assert answer.code == 0, (hours, answer)
        assert is_of_now(newest_logged(served)), served.log()
        until("the sampling to go on", lambda: ticks(served) > before)
        assert served.status()["uptime_s"] < 600


# --- older kernels ---

@pytest.fixture
def old(unstarted_daemon, shared_directory):
    """A daemon that finds the interfaces of Linux 6.1 only."""
    made = unstarted_daemon(*QUIET, f"--kineto_socket_dir={shared_directory}")
    command = made.command()
    made.command = lambda: [places.plain_python(),
                            places.published(os.path.join(JOBS, "old_kernel.py")), *command]
    made.start()
    with open(f"/proc/{made.pid}/status") as file:
        assert "Seccomp:\t2" in file.read()
    return made


def test_older_kernel_callers_and_traces(old, job):
    mine, theirs = job(uid=ALICE), job(uid=BOB)
    for each in (mine, theirs):
        old.wait_for(each.pid, state="idle")
    for tcp in (None, tcp_port(old)):
        assert [row["pid"] for row in old.processes(uid=ALICE, tcp=tcp)] == [mine.pid]
        refused = old.dyno("gputrace", "--pids", theirs.pid, "--log-file", mine.file("x.json"),
                           uid=ALICE, tcp=tcp)
        assert refused.code == 3, refused
    answer = old.dyno("gputrace", "--log-file", mine.file("t.json"), "--duration-ms", 100,
                      "--json", uid=ALICE)
    assert answer.code == 0, answer


def test_older_kernel_descriptors_sent_along(old, script, shared_directory):
    """They cannot be refused there: the message is dropped, and nothing stays open or blocks."""
    assert datagrams.is_served(shared_directory)
    before = old.counter("kineto_with_descriptors")
    held = len(os.listdir(f"/proc/{old.pid}/fd"))
    sender = datagrams.Client(shared_directory)
    for _ in range(20):
        sender.send(datagrams.request([os.getpid()]), rights=[0] * 20)
    until("the messages to be dropped",
          lambda: old.counter("kineto_with_descriptors") == before + 20)
    assert datagrams.is_served(shared_directory)
    sender.close()
    until("all of them to be closed", lambda: len(os.listdir(f"/proc/{old.pid}/fd")) <= held)
    with frames.connect_unix(os.path.join(old.run_dir, "dynolog.sock")) as connection:
        socket.send_fds(connection, [frames.frame(b'{"fn":"daemonStatus"}')], [0] * 20)
        assert frames.closed(connection)
    assert old.dyno("status", "--json").code == 0
    until("all of them to be closed", lambda: len(os.listdir(f"/proc/{old.pid}/fd")) <= held)


def test_older_kernel_forged_sender(old, script, shared_directory):
    forger = script("poller.py", shared_directory)
    forger.hear()
    assert forger.tell("forge", ALICE)["reply"] == ""
    assert old.wait_for(forger.pid)["uid"] == 0


def test_older_kernel_caller_that_is_gone(old, job):
    """Without a pidfd of the caller: who sends and ends is himself or nobody, never root."""
    traced = job()
    old.wait_for(traced.pid, state="idle")
    path = os.path.join(old.run_dir, "dynolog.sock")
    body = frames.existing_trace_request(traced.file("t.json"), pids=str(traced.pid))
    before = old.counter("rpc_requests")
    for _ in range(5):
        child = os.fork()
        if child == 0:
            os.setgroups([])
            os.setgid(ALICE)
            os.setuid(ALICE)
            connection = frames.connect_unix(path)
            connection.sendall(frames.frame(body))
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
    until("the five requests to be read", lambda: old.counter("rpc_requests") >= before + 5)
    assert "started by" not in old.log()
    answer = old.dyno("gputrace", "--pids", traced.pid, "--log-file", traced.file("t.json"),
                      "--duration-ms", 100, "--json")
    assert answer.code == 0, answer
    assert old.log().count("started by") == 1
