#!/usr/bin/env python3
"""From the start of the program to its first reply, to its first page of metrics and to the first
value that its history gives: the daemon with its default set, and for the first the floor server, in
turns. Usage: startup.py [RUNS, default 30]."""

import json
import os
import socket
import struct
import subprocess
import sys
import tempfile
import time
import urllib.request

import measure

from harness import page, places

STATUS = {"fn": "getStatus"}
VALUE = {"fn": "queryMetrics", "newest_only": True, "absent_ok": True, "step_ms": 0,
         "expressions": [{"selector": "cpu.utilization", "value": "", "fold": "", "join": "",
                          "by": []}]}


def call(connection, request):
    """The reply to one request; None when the connection ends before."""
    text = json.dumps(request).encode()
    connection.sendall(struct.pack("<i", len(text)) + text)
    head = connection.recv(4, socket.MSG_WAITALL)
    if len(head) < 4:
        return None
    return json.loads(connection.recv(struct.unpack("<i", head)[0], socket.MSG_WAITALL))


def first(look):
    """When `look` first gives something."""
    while True:
        try:
            if look():
                return time.monotonic()
        except (OSError, AssertionError):
            pass
        time.sleep(0.0002)


def first_reply(connect):
    def look():
        with connect() as connection:
            return call(connection, STATUS)
    return first(look)


def has_value(reply):
    return reply and any(value is not None for result in reply.get("results", [])
                         for series in result["series"] for value in series["values"])


def daemon_ms():
    """Milliseconds to the first reply, page, and value."""
    with tempfile.TemporaryDirectory(dir="/tmp") as directory:
        path = os.path.join(directory, "r", "dynolog.sock")
        port = page.free_port()

        def connect():
            connection = socket.socket(socket.AF_UNIX)
            connection.connect(path)
            return connection

        def ask_value():
            with connect() as connection:
                return has_value(call(connection, VALUE))

        def ask_page():
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=5) as answer:
                return answer.status == 200

        start = time.monotonic()
        daemon = subprocess.Popen(
            [places.program("dynolog"), f"--run_dir={directory}/r", f"--state_dir={directory}/s",
             "--port=0", f"--prometheus_port={port}", "--noenable_ipc_monitor"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        took = [(at - start) * 1e3 for at in (first_reply(connect), first(ask_page), first(ask_value))]
        daemon.terminate()
        daemon.wait()
        return took


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
    reply, ready, value = zip(*[ours for ours, _ in pairs])
    print(f"start to first reply, {runs} runs: dynolog {measure.spread(reply, ' ms')}"
          f", floor {measure.spread([theirs for _, theirs in pairs], ' ms')}")
    print(f"to the first page: {measure.spread(ready, ' ms')}")
    print(f"to the first value of the CPUs' utilization, which two readings make: "
          f"{measure.spread(value, ' ms')}")


main()
