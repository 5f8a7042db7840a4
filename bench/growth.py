#!/usr/bin/env python3
"""Does the daemon grow? It runs under valgrind's massif while a million Kineto polls, a hundred
thousand calls and forty reloads of its collectors and sinks go through it; its heap must be at the
end what it was after the first tenth, its threads and its descriptors what they were before.

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
import signal
import socket
import struct
import subprocess
import sys
import termios
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "tests", "e2e"))

from harness import datagrams, page, places  # noqa: E402
from harness.daemon import Daemon  # noqa: E402
from harness.waiting import until  # noqa: E402

STEPS = 10
RELOADS = 4  # in each step
CLIENTS = 40  # processes that poll at once
POLLS_OF_EACH = 250  # at most; then a new process takes its place
TRIES = 60  # to be answered once, under valgrind and on a busy machine
ALLOWED_GROWTH = 0.05  # of the heap, between the first step and the last


# --- the daemon ---

class Broker:
    """Opens pidfds for a program that cannot: see growth_preload.c."""

    def __init__(self, path):
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.listener.bind(path)
        self.listener.listen(64)
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            with self.listener.accept()[0] as asked:
                self.answer(asked)

    @staticmethod
    def answer(asked):
        pid, = struct.unpack("=i", asked.recv(4))
        try:
            pidfd = os.pidfd_open(pid)
        except OSError as error:
            asked.send(struct.pack("=i", error.errno))
            return
        socket.send_fds(asked, [struct.pack("=i", 0)], [pidfd])
        os.close(pidfd)


class MassifDaemon(Daemon):
    """The daemon under massif. Its workers are programs of their own, and are left alone."""

    def __init__(self, *flags):
        super().__init__(*flags)
        library = os.path.join(self.directory, "growth_preload.so")
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", library,
                        os.path.join(HERE, "growth_preload.c"), "-ldl"], check=True)
        broker = os.path.join(self.directory, "broker")
        self.broker = Broker(broker)
        self.env |= {"LD_PRELOAD": library, "GROWTH_BROKER": broker,
                     "GROWTH_PROGRAM": places.program("dynolog")}

        self.made = time.monotonic()

    def age(self):
        """In milliseconds."""
        return (time.monotonic() - self.made) * 1e3

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


def reload(daemon, config):
    """With other collectors each time, so that all of them and the sinks are made anew."""
    for disabled in ("load", "entropy") * (RELOADS // 2):
        with open(config, "w") as file:
            file.write(f'disabled_collectors = ["{disabled}"]\n')
        before = daemon.log().count("SIGHUP: configuration read anew")
        daemon.process.send_signal(signal.SIGHUP)
        until("the reload", lambda: daemon.log().count("SIGHUP: configuration read anew") > before)


# --- what it holds ---

def held(pid):
    """(descriptors, threads)"""
    return len(os.listdir(f"/proc/{pid}/fd")), len(os.listdir(f"/proc/{pid}/task"))


def at_rest(daemon):
    """What it holds once it measures and has seen the last of its clients end."""
    page.page_of(page.page_url(daemon))
    until("the daemon to have no client", lambda: not daemon.processes())
    before = None
    while before != (now := held(daemon.pid)):  # workers start, and are let go of
        before = now
        time.sleep(3)
    return now


def back_at(daemon, rest):
    """Waits: the daemon learns of an end a moment after it."""
    until(f"descriptors and threads to be {rest} again",
          lambda: not daemon.processes() and all(now <= then for now, then in
                                                 zip(held(daemon.pid), rest)))


def heap_at(massif, ended):
    """[(milliseconds, bytes)]: massif's snapshots. Its own start, from which it counts, is seconds
    after ours on a busy machine; the last one is of the end."""
    with open(massif) as file:
        text = file.read()
    snapshots = [(int(at), int(size)) for at, size in
                 re.findall(r"^time=(\d+)\nmem_heap_B=(\d+)", text, re.M)]
    late = ended - snapshots[-1][0]
    return [(at + late, size) for at, size in snapshots]


def least_between(snapshots, start, end):
    """What it holds between two polls: the most is of one moment, and differs each time. What it
    held at the start counts too, since massif looks only when something is allocated."""
    at_start = [size for at, size in snapshots if at < start][-1:]
    return min(at_start + [size for at, size in snapshots if start <= at <= end])


def load(daemon, sockets, config, total_polls, total_calls):
    """The times, in milliseconds since its start, at which the steps began and the last ended."""
    rpc = os.path.join(daemon.run_dir, "dynolog.sock")
    marks = []

    def mark():
        marks.append(daemon.age())

    polls(sockets, CLIENTS)  # what is made at the first poll and call is no growth
    calls(rpc, 10)
    reload(daemon, config)
    rest = at_rest(daemon)
    before = dict(daemon.status()["counters"])
    answered = 0
    mark()
    for step in range(STEPS):
        answered += polls(sockets, total_polls // STEPS)
        calls(rpc, total_calls // STEPS)
        reload(daemon, config)
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
    config = os.path.join(sockets, "dynolog.toml")
    with open(config, "w"):
        pass
    daemon = MassifDaemon("--noenable_ipc_monitor", "--no_tcp", f"--kineto_socket_dir={sockets}",
                          "--prometheus_port=0", f"--config={config}")
    try:
        daemon.start()
        marks = load(daemon, sockets, config, total_polls, total_calls)
        daemon.stop()
        snapshots = heap_at(daemon.massif, daemon.age())
    finally:
        daemon.close()
        places.remove(sockets)
    first = least_between(snapshots, marks[1], marks[2])
    last = least_between(snapshots, marks[-2], marks[-1])
    growth = last / first - 1
    print(f"heap: {first:,} bytes after the first tenth, {last:,} in the last ({growth:+.1%})")
    if growth > ALLOWED_GROWTH:
        sys.exit("it grows")


main()
