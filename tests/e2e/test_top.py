"""dyno top on a terminal of the test's own, and without one."""

import fcntl
import json
import os
import pty
import re
import select
import struct
import subprocess
import termios
import threading
import time

import pytest

from harness import places
from harness.daemon import Daemon, environment
from harness.readings import rfc3339
from harness.waiting import PATIENCE, until

ESCAPES = re.compile(rb"\x1b(\[[0-9;?]*[A-Za-z]|[()][0-9A-Za-z]|[=>78]|\][^\x07]*\x07)")


@pytest.fixture(scope="module")
def daemon():
    daemon = Daemon("--noenable_ipc_monitor", "--no_tcp", "--use_history=true").start()
    yield daemon
    daemon.close()


def command(daemon, *arguments):
    return [places.program("dyno"), f"--run-dir={daemon.run_dir}", "top", *arguments]


def snapshot(daemon, *arguments):
    return subprocess.run(command(daemon, *arguments), env=environment(), capture_output=True,
                          text=True, timeout=60)


class Screen:
    """A program on a pseudo-terminal, and all that it has written, without its escapes."""

    def __init__(self, arguments, term="xterm-256color", rows=24, columns=80):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.environ.update(environment(), TERM=term)
            os.execv(arguments[0], arguments)
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.written = b""

    def shows(self, text):
        deadline = time.monotonic() + PATIENCE
        while text.encode() not in ESCAPES.sub(b"", self.written):
            assert time.monotonic() < deadline, ESCAPES.sub(b"", self.written)[-3000:]
            if select.select([self.fd], [], [], 0.5)[0]:
                try:
                    self.written += os.read(self.fd, 65536)
                except OSError:  # the program has ended
                    assert text.encode() in ESCAPES.sub(b"", self.written), self.written[-3000:]
        self.written = b""

    def keep_reading(self):
        """Beside the test, so that the program is never kept waiting, until it ends."""
        def read():
            try:
                while os.read(self.fd, 65536):
                    pass
            except OSError:
                pass
        threading.Thread(target=read, daemon=True).start()

    def type(self, keys):
        os.write(self.fd, keys)

    def exit_code(self):
        os.set_blocking(self.fd, False)

        def ended():
            try:
                os.read(self.fd, 65536)
            except OSError:
                pass
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            return (os.waitstatus_to_exitcode(status),) if pid else None

        code = until("dyno top to end", ended)[0]
        os.close(self.fd)
        return code


def test_a_snapshot_where_there_is_no_terminal(daemon):
    def has_figures():
        done = snapshot(daemon)
        assert done.returncode == 0, done.stderr
        return re.search(r"cpu +[0-9.]+ %", done.stdout) and done.stdout
    text = until("two readings to have been kept", has_figures, pause=1)
    assert text.startswith("dynolog top ")
    assert re.search(r"mem \[[| ]+\] \S+ of \S+", text)
    assert "\x1b" not in text
    for heading in ("disk ", "network ", "     pid "):
        assert f"\n{heading}" in text


def test_json_is_the_daemons_answer(daemon):
    done = snapshot(daemon, "--json")
    assert done.returncode == 0, done.stderr
    metrics = {result.get("metric") for result in json.loads(done.stdout)["results"]}
    assert {"cpu.utilization", "memory.limit", "disk.read_bytes"} <= metrics


def test_keys_on_a_terminal(daemon):
    screen = Screen(command(daemon, "--interval=0.5"))
    screen.shows("dynolog top")
    screen.type(b"?")
    screen.shows("10 seconds back and forward")
    screen.type(b" ")
    screen.shows("pressure")
    screen.type(b" ")
    screen.shows("PAUSED")
    screen.type(b" ")
    screen.type(b"\x1bOD")  # left, as terminals say it to programs with a keypad
    screen.shows("PAST")
    screen.type(b"n")
    screen.type(b"/")
    screen.shows("filter /_")
    screen.type(b"qqq\r")
    screen.type(b"q")
    assert screen.exit_code() == 0


@pytest.mark.parametrize("term", ["vt100", "screen", "tmux-256color", "linux"])
def test_other_terminals(daemon, term):
    screen = Screen(command(daemon), term=term)
    screen.shows("dynolog top")
    screen.type(b"q")
    assert screen.exit_code() == 0


def test_an_unknown_terminal_is_said(daemon):
    screen = Screen(command(daemon), term="no-such-terminal")
    screen.shows("is not known here")
    assert screen.exit_code() != 0


def runs(daemon):
    """How often all processes of the host were looked through, and how often its CPUs were read."""
    stages = {c["name"]: c["successes"] for c in daemon.status()["collectors"]}
    return stages["top"], stages["cpu"]


def runs_over(daemon, ticks):
    """How often both were, until the CPUs were so many times; and the seconds that it took."""
    start = time.monotonic()
    looks, begun = runs(daemon)

    def over():
        now = runs(daemon)
        return now if now[1] >= begun + ticks else None
    now = until(f"{ticks} ticks", over, pause=0.5)
    return now[0] - looks, now[1] - begun, time.monotonic() - start


def assert_left_alone(daemon, ticks):
    """Processes are looked through every 10 s, or less often where that takes long."""
    looks, ticks, seconds = runs_over(daemon, ticks)
    assert looks <= seconds // 10 + 1, f"{looks} looks in {ticks} ticks, {seconds} s"


def test_processes_are_looked_through_often_only_while_somebody_looks():
    """Hosts have thousands of them: at each tick for whom it concerns, else one time in ten."""
    watched = Daemon("--noenable_ipc_monitor", "--no_tcp", "--use_history=true").start()
    try:
        runs_over(watched, 1)  # the first look is at the first tick
        assert_left_alone(watched, 12)
        screen = Screen(command(watched, "--interval=0.5"))
        screen.shows("dynolog top")
        screen.keep_reading()
        runs_over(watched, 2)
        looks, ticks, _ = runs_over(watched, 6)
        screen.type(b"q")
        assert screen.exit_code() == 0
        assert looks >= ticks - 1, f"{looks} looks in {ticks} ticks"
        runs_over(watched, 7)  # for some seconds it is taken to be there still
        assert_left_alone(watched, 20)
    finally:
        watched.close()


def test_the_past_and_what_is_no_time(daemon):
    def seen():
        done = snapshot(daemon, "--at=-1s")
        assert done.returncode in (0, 3), done.stderr  # 3: the daemon has just been started
        return done.stdout
    assert "PAST" in until("a second of the past", seen)
    done = snapshot(daemon, "--at=yesterday")
    assert done.returncode == 2 and "--at must be a time" in done.stderr


def values_of(reply, metric):
    """{labels: (value, its time in ms)} of a metric's series in an answer of one moment."""
    (result,) = [one for one in reply["results"] if one.get("metric") == metric]
    return {tuple(sorted(series["labels"].items())): (series["values"][-1], series["newest_ms"])
            for series in result["series"] if series["values"][-1] is not None}


def test_a_moment_of_the_past_is_that_moments(daemon):
    """What top shows of a second is what a query says of it, and not what is now."""
    def kept():
        answer = daemon.dyno("metrics", "query", "memory.available", "--last", "1m", "--json",
                             "--step", "1s")
        (series,) = answer.json["results"][0]["series"]
        return sum(value is not None for value in series["values"]) >= 15
    until("15 seconds to be kept", kept)
    at = int(time.time()) * 1000 - 10_000
    done = snapshot(daemon, "--at", rfc3339(at // 1000), "--json")
    assert done.returncode == 0, done.stderr
    reply = json.loads(done.stdout)
    # One value each: the newest up to then.
    for metric in ("memory.limit", "load.1m", "cpu.utilization", "cpu.share", "disk.read_bytes"):
        seen = values_of(reply, metric)
        assert seen or metric == "disk.read_bytes", metric
        asked = daemon.dyno("metrics", "query", metric, "--from", rfc3339(at // 1000 - 5), "--to",
                            rfc3339(at // 1000), "--step", "1s", "--json").json
        for series in asked["results"][0]["series"]:
            key = tuple(sorted(series["labels"].items()))
            if not any(value is not None for value in series["values"]):
                continue  # it has gone, or is read less often
            value, newest = seen[key]
            assert at - 5000 <= newest < at, (metric, newest, at)
            step = (newest - asked["begin_ms"]) // asked["step_ms"]
            assert series["values"][step] == value, (metric, series, value)
            assert not any(later is not None for later in series["values"][step + 1:]), metric
    now = values_of(json.loads(snapshot(daemon, "--json").stdout), "cpu.utilization")
    assert list(now.values())[0][1] > at
    text = snapshot(daemon, "--at=-10s").stdout
    assert "PAST" in text and re.search(r"^cpu +[0-9.]+ %", text, re.M), text


def test_another_hosts_top(daemon):
    """By TCP, as from another host; what is shown is that host's."""
    from harness.daemon import tcp_port
    remote = Daemon("--noenable_ipc_monitor", "--port=0", "--use_history=true").start()
    try:
        asked = [places.program("dyno"), "--hostname", "localhost", "--port", str(tcp_port(remote))]

        def figures():
            done = subprocess.run([*asked, "top", "--once"], env=environment(), capture_output=True,
                                  text=True, timeout=60)
            assert done.returncode == 0, done.stderr
            return re.search(r"^cpu +[0-9.]+ %", done.stdout, re.M) and done.stdout
        text = until("figures of the other host", figures, pause=1)
        assert text.startswith(f"dynolog top {os.uname().nodename}"), text
        query = subprocess.run([*asked, "metrics", "query", "cpu.utilization", "--json"],
                               env=environment(), capture_output=True, text=True, timeout=60)
        assert query.returncode == 0 and json.loads(query.stdout)["results"][0]["series"], query
        screen = Screen([*asked, "top", "--interval=0.5"])
        screen.shows(os.uname().nodename)
        screen.type(b"q")
        assert screen.exit_code() == 0
    finally:
        remote.close()


def test_jobs_and_what_the_daemon_takes_itself(kineto_job_here, shared_directory):
    watching = Daemon("--noenable_ipc_monitor", "--no_tcp", "--use_history=true",
                      f"--kineto_socket_dir={shared_directory}").start()
    try:
        job = kineto_job_here(env={"SLURM_JOB_ID": "4711", "RANK": "3", "LOCAL_RANK": "3",
                                   "WORLD_SIZE": "16"}, uid=20001)
        watching.wait_for(job.pid, rank=3, job="4711")
        line = until("the job", lambda: [one for one in snapshot(watching).stdout.splitlines()
                                         if re.match(rf" *{job.pid} ", one)])
        pid, user, of_job, rank, gpus, cpu, memory, state, *what = line[0].split()
        assert (user, of_job, rank, gpus, state) == ("20001", "4711", "3", "-", "idle"), line

        # The figures of the daemon's own cost are those of the kernel.
        def own():
            found = re.search(r"daemon ([0-9.]+) % of a CPU, ([0-9.]+)(\w)",
                              snapshot(watching).stdout)
            return found and found.groups()
        share, amount, unit = until("the daemon's own cost", own, pause=1)
        assert 0 <= float(share) < 100
        with open(f"/proc/{watching.pid}/statm") as file:
            resident = int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / (1 << 20)
        assert unit == "M" and resident / 2 < float(amount) < resident * 2, (amount, resident)
    finally:
        watching.close()


def test_without_a_daemon(tmp_path):
    done = subprocess.run([places.program("dyno"), f"--run-dir={tmp_path}", "top"],
                          env=environment(), capture_output=True, text=True, timeout=60)
    assert done.returncode == 6, done.stderr
