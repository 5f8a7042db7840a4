#!/usr/bin/env python3
"""From the start of the program to its first reply: the daemon with its default set, beside the floor
server, in turns. Usage: startup.py [RUNS, default 30]."""

import json
import os
import socket
import struct
import subprocess
import sys
import tempfile
import time

import measure

from harness import places

REQUEST = json.dumps({"fn": "getStatus"}).encode()
FRAME = struct.pack("<i", len(REQUEST)) + REQUEST


def first_reply(connect):
    while True:
        try:
            with connect() as connection:
                connection.sendall(FRAME)
                if connection.recv(4):
                    return time.monotonic()
        except OSError:
            time.sleep(0.0002)


def daemon_ms():
    with tempfile.TemporaryDirectory(dir="/tmp") as directory:
        path = os.path.join(directory, "r", "dynolog.sock")

        def connect():
            connection = socket.socket(socket.AF_UNIX)
            connection.connect(path)
            return connection

        start = time.monotonic()
        daemon = subprocess.Popen(
            [places.program("dynolog"), f"--run_dir={directory}/r", f"--state_dir={directory}/s",
             "--port=0", "--prometheus_port=0", "--noenable_ipc_monitor"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        took = first_reply(connect) - start
        daemon.terminate()
        daemon.wait()
        return took * 1e3


def floor_ms():
    start = time.monotonic()
    floor = subprocess.Popen([measure.BENCH_BIN / "floor_rpc"], stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, text=True)
    port = int(floor.stdout.readline())
    took = first_reply(lambda: socket.create_connection(("127.0.0.1", port))) - start
    floor.stdin.close()
    floor.wait()
    floor.stdout.close()
    return took * 1e3


def main():
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 30
    daemon_ms()  # the files are in the page cache from here on
    pairs = [(daemon_ms(), floor_ms()) for _ in range(runs)]
    print(f"start to first reply, {runs} runs: dynolog {measure.spread([a for a, _ in pairs], ' ms')}"
          f", floor {measure.spread([b for _, b in pairs], ' ms')}")


main()
