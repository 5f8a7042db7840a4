#!/usr/bin/env python3
"""Does the daemon grow? It runs under valgrind's massif while a million Kineto polls and a hundred
thousand calls go through it; its heap must be at the end what it was after the first tenth, its
threads and its descriptors what they were before.

Usage: growth.py [POLLS, default 1000000] [CALLS, default 100000]
Needs root, valgrind and a release build (build/release). tests/e2e/test_growth.py runs it with
small numbers.
"""

import array
import fcntl
import json
import os
import re
import select
import socket
import struct
import sys
import termios
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "tests", "e2e"))

from harness import datagrams, places  # noqa: E402
from harness.daemon import Daemon  # noqa: E402
from harness.waiting import until  # noqa: E402

STEPS = 10
CLIENTS = 40  # processes that poll at once
POLLS_OF_EACH = 250  # at most; then a new process takes its place
TRIES = 60  # to be answered once, under valgrind and on a busy machine
ALLOWED_GROWTH = 0.05  # of the heap, between the first step and the last


class MassifDaemon(Daemon):
    """The daemon under massif. Its workers are programs of their own, and are left alone."""

    def command(self):
        self.massif = os.path.join(self.directory, "massif.out")
        return ["valgrind", "--tool=massif", f"--massif-out-file={self.massif}", "--time-unit=ms",
                "--detailed-freq=1000000", "--max-snapshots=200", "-q", *super().command()]


# --- what goes through it ---

def be_answered(client):
    """The daemon answers nobody late and nobody twice at once: who is not answered asks again."""
    for _ in range(TRIES):
        if client.poll(seconds=0.5) is not None:
            return
    raise SystemExit("a client was never answered")


def unread(client):
    """Bytes that it sent and the daemon has not taken yet."""
    size = array.array("i", [0])
    fcntl.ioctl(client.socket, termios.TIOCOUTQ, size)
    return size[0]


def one_client(directory, count, answered, begin):
    """`count` polls: the first until it is answered, the others as quick as the daemon takes them.

    All are answered once before anybody floods: behind a flood every poll would be late.
    """
    client = datagrams.Client(directory)
    be_answered(client)
    os.write(answered, b"x")
    os.close(answered)
    os.read(begin, 1)
    poll = datagrams.request([os.getpid()])
    for _ in range(count - 1):
        client.send(poll)  # waits while the queue is full
        while client.receive(0) is not None:
            pass
    while unread(client) > 0:  # what a process that has ended sent is not taken for its poll
        select.select([], [], [], 0.005)
    client.close()


def wave(directory, count):
    """CLIENTS processes that send `count` polls each."""
    answers, answered = os.pipe()
    begin, release = os.pipe()
    children = []
    for _ in range(CLIENTS):
        child = os.fork()
        if child == 0:
            try:
                os.close(release)
                one_client(directory, count, answered, begin)
                os._exit(0)
            finally:
                os._exit(1)
        children.append(child)
    os.close(answered)
    os.close(begin)
    left = CLIENTS
    while left > 0 and (came := os.read(answers, CLIENTS)):  # nothing when one of them failed
        left -= len(came)
    os.close(release)
    os.close(answers)
    assert all(os.waitpid(child, 0)[1] == 0 for child in children), "a client failed"


def polls(directory, count):
    """In waves; at least one poll of each client. Gives how many were answered for certain."""
    left = max(count // CLIENTS, 1)
    waves = 0
    while left > 0:
        wave(directory, min(left, POLLS_OF_EACH))
        left -= POLLS_OF_EACH
        waves += 1
    return waves * CLIENTS


def calls(path, count):
    """On connections of 1,000 calls each."""
    body = json.dumps({"fn": "daemonStatus"}).encode()
    frame = struct.pack("<i", len(body)) + body
    for done in range(0, count, 1000):
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(path)
            for _ in range(min(count - done, 1000)):
                connection.sendall(frame)
                left = struct.unpack("<i", connection.recv(4, socket.MSG_WAITALL))[0]
                assert len(connection.recv(left, socket.MSG_WAITALL)) == left


# --- what it holds ---

def held(pid):
    """(descriptors, threads)"""
    return len(os.listdir(f"/proc/{pid}/fd")), len(os.listdir(f"/proc/{pid}/task"))


def at_rest(daemon):
    """What it holds once it has seen the last of its clients end."""
    until("the daemon to have no client", lambda: not daemon.processes())
    return held(daemon.pid)


def back_at(daemon, rest):
    """Waits: the daemon learns of an end a moment after it."""
    until(f"descriptors and threads to be {rest} again",
          lambda: not daemon.processes() and all(now <= then for now, then in
                                                 zip(held(daemon.pid), rest)))


def heap_at(massif):
    """[(milliseconds, bytes)]: massif's snapshots."""
    with open(massif) as file:
        text = file.read()
    return [(int(at), int(size)) for at, size in
            re.findall(r"^time=(\d+)\nmem_heap_B=(\d+)", text, re.M)]


def largest_between(snapshots, start, end):
    sizes = [size for at, size in snapshots if start <= at <= end]
    assert sizes, f"massif took no snapshot between {start:.0f} and {end:.0f} ms"
    return max(sizes)


def load(daemon, sockets, total_polls, total_calls):
    """The times, in milliseconds since its start, at which the steps began and the last ended."""
    rpc = os.path.join(daemon.run_dir, "dynolog.sock")
    marks = []

    def mark():
        marks.append((time.monotonic() - daemon.started) * 1e3)

    polls(sockets, CLIENTS)  # what is made at the first poll and call is no growth
    calls(rpc, 10)
    rest = at_rest(daemon)
    before = dict(daemon.status()["counters"])
    answered = 0
    mark()
    for step in range(STEPS):
        answered += polls(sockets, total_polls // STEPS)
        calls(rpc, total_calls // STEPS)
        back_at(daemon, rest)
        mark()
        print(f"{step + 1} of {STEPS}: descriptors and threads are {rest} again", flush=True)
    after = dict(daemon.status()["counters"])
    grown = {name: after[name] - before[name] for name in after if after[name] != before[name]}
    print(grown)
    # A process whose end the daemon saw before its last poll has vanished by then.
    assert grown["kineto_polls"] + grown.get("kineto_vanished", 0) >= total_polls, "polls are lost"
    assert grown.get("kineto_vanished", 0) <= grown["kineto_polls"] // 100, "clients ended early"
    assert grown["kineto_answered"] >= answered, f"{answered} clients were answered, they say"
    assert grown["rpc_requests"] >= total_calls, "calls are lost"
    return marks


def main():
    total_polls = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    total_calls = int(sys.argv[2]) if len(sys.argv) > 2 else 100_000
    sockets = places.short_directory()
    daemon = MassifDaemon("--noenable_ipc_monitor", "--no_tcp", f"--kineto_socket_dir={sockets}")
    daemon.started = time.monotonic()
    try:
        daemon.start()
        marks = load(daemon, sockets, total_polls, total_calls)
        daemon.stop()
        snapshots = heap_at(daemon.massif)
    finally:
        daemon.close()
        places.remove(sockets)
    first = largest_between(snapshots, marks[0], marks[1])
    last = largest_between(snapshots, marks[-2], marks[-1])
    growth = last / first - 1
    print(f"heap: at most {first:,} bytes in the first tenth, {last:,} in the last ({growth:+.1%})")
    if growth > ALLOWED_GROWTH:
        sys.exit("it grows")


main()
