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
import time

import pytest

from harness import places
from harness.daemon import Daemon, environment
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


def test_the_past_and_what_is_no_time(daemon):
    done = snapshot(daemon, "--at=-1s")
    assert done.returncode == 0 and "PAST" in done.stdout
    done = snapshot(daemon, "--at=yesterday")
    assert done.returncode == 2 and "--at must be a time" in done.stderr


def test_without_a_daemon(tmp_path):
    done = subprocess.run([places.program("dyno"), f"--run-dir={tmp_path}", "top"],
                          env=environment(), capture_output=True, text=True, timeout=60)
    assert done.returncode == 6, done.stderr
