#!/usr/bin/env python3
"""Does the daemon grow? It runs under valgrind's massif while a million Kineto polls, a hundred
thousand calls and a hundred reloads of its collectors and sinks go through it; its heap, its threads
and its descriptors must be at the end what they were after the first tenth.

Usage: growth.py [POLLS, default 1000000] [CALLS, default 100000]
Needs root, valgrind and a release build (build/release).
"""

import json
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "tests", "e2e"))

from harness import datagrams, places  # noqa: E402
from harness.daemon import Daemon  # noqa: E402
from harness.waiting import until  # noqa: E402

CLIENTS = 40  # processes that poll at once
STEPS = 10
RELOADS = 10  # in each step
ALLOWED_GROWTH = 0.05  # of the heap, between the first step and the last


class MassifDaemon(Daemon):
    """The daemon under massif. Its workers are programs of their own, and are left alone."""

    def command(self):
        self.massif = os.path.join(self.directory, "massif.out")
        return ["valgrind", "--tool=massif", f"--massif-out-file={self.massif}", "--time-unit=ms",
                "--detailed-freq=1000000", "--max-snapshots=200", "-q", *super().command()]


def poll_many(directory, count):
    """One client process: `count` polls, as quick as the daemon takes them."""
    client = datagrams.Client(directory)
    for _ in range(count):
        client.socket.setblocking(True)
        client.send(datagrams.request([os.getpid()]))
        while client.receive(0) is not None:
            pass
    client.close()


def polls(directory, count):
    children = []
    for _ in range(CLIENTS):
        child = os.fork()
        if child == 0:
            try:
                poll_many(directory, count // CLIENTS)
                os._exit(0)
            finally:
                os._exit(1)
        children.append(child)
    assert all(os.waitpid(child, 0)[1] == 0 for child in children), "a client failed"


def calls(path, count):
    """On connections of 1,000 calls each."""
    body = json.dumps({"fn": "daemonStatus"}).encode()
    frame = struct.pack("<i", len(body)) + body
    for _ in range(0, count, 1000):
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(path)
            for _ in range(min(count, 1000)):
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


def descriptors(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def heap_at(massif):
    """[(milliseconds, bytes)]: massif's snapshots."""
    with open(massif) as file:
        text = file.read()
    return [(int(at), int(size)) for at, size in
            re.findall(r"^time=(\d+)\nmem_heap_B=(\d+)", text, re.M)]


def largest_between(snapshots, start, end):
    return max(size for at, size in snapshots if start <= at <= end)


def main():
    total_polls = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    total_calls = int(sys.argv[2]) if len(sys.argv) > 2 else 100_000
    sockets = places.short_directory()
    config = os.path.join(sockets, "dynolog.toml")
    with open(config, "w"):
        pass
    daemon = MassifDaemon(f"--kineto_socket_dir={sockets}", "--port=-1", "--prometheus_port=0",
                          f"--config={config}")
    started = time.monotonic()
    daemon.start()
    marks = []
    try:
        before = daemon.status()["counters"]
        for step in range(STEPS):
            polls(sockets, total_polls // STEPS)
            calls(os.path.join(daemon.run_dir, "dynolog.sock"), total_calls // STEPS)
            reload(daemon, config)
            marks.append(((time.monotonic() - started) * 1e3, descriptors(daemon.pid)))
            print(f"{step + 1} of {STEPS}: {marks[-1][1]} descriptors", flush=True)
        after = daemon.status()["counters"]
        massif = daemon.massif
        daemon.stop()
        snapshots = heap_at(massif)
    finally:
        daemon.close()
        places.remove(sockets)
    print({name: after[name] - before.get(name, 0) for name in after
           if after[name] != before.get(name, 0)})
    ends = [mark for mark, _ in marks]
    first = largest_between(snapshots, 0, ends[0])
    last = largest_between(snapshots, ends[-2], ends[-1])
    growth = last / first - 1
    print(f"heap: at most {first:,} bytes in the first tenth, {last:,} in the last ({growth:+.1%});"
          f" descriptors {marks[0][1]} and {marks[-1][1]}")
    if growth > ALLOWED_GROWTH or marks[-1][1] > marks[0][1]:
        sys.exit("it grows")


main()
