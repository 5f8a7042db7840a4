#!/usr/bin/env python3
"""A varied load for history_bench's recording: stretches of 3 to 20 s of computing, of writing with
fdatasync, of downloading over loopback and of memory that comes and goes, several at once, with
pauses; the same ones at each run.

Usage: history_load.py [SECONDS, default 900]
"""

import http.client
import http.server
import multiprocessing
import os
import random
import sys
import tempfile
import time

CHUNK = b"x" * 65536


def compute(random_, until):
    """A part of each tenth of a second."""
    share = random_.choice((0.15, 0.4, 0.7, 1.0))
    while time.monotonic() < until:
        begin = time.monotonic()
        while time.monotonic() < begin + 0.1 * share:
            sum(range(500))
        time.sleep(0.1 * (1 - share))


def write(random_, until):
    with tempfile.TemporaryFile(dir="/var/tmp") as file:
        while time.monotonic() < until:
            for _ in range(random_.randint(1, 60)):
                file.write(CHUNK)
            file.flush()
            os.fdatasync(file.fileno())
            if file.tell() > 200 << 20:
                file.seek(0)
            time.sleep(random_.expovariate(5))


class Pages(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        chunks = int(self.path[1:])
        self.send_response(200)
        self.send_header("Content-Length", str(chunks * len(CHUNK)))
        self.end_headers()
        for _ in range(chunks):
            self.wfile.write(CHUNK)

    def log_message(self, *_):
        pass


def download(random_, until):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Pages)
    child = multiprocessing.Process(target=server.serve_forever, daemon=True)
    child.start()
    try:
        while time.monotonic() < until:
            connection = http.client.HTTPConnection(*server.server_address)
            for _ in range(random_.randint(1, 8)):
                connection.request("GET", f"/{random_.randint(0, 120)}")
                connection.getresponse().read()
                time.sleep(random_.expovariate(20))
            connection.close()
    finally:
        child.terminate()
        child.join()


def remember(random_, until):
    while time.monotonic() < until:
        held = [bytearray(1 << 20) for _ in range(random_.randint(5, 150))]
        for block in held:
            block[::4096] = b"y" * 256
        time.sleep(random_.uniform(0.1, 2))


def stretches(kind, seed, until):
    """One kind of load, on and off."""
    random_ = random.Random(seed)
    while time.monotonic() < until:
        end = min(until, time.monotonic() + random_.uniform(3, 20))
        if random_.random() < 0.6:
            kind(random_, end)
        else:
            time.sleep(max(0, end - time.monotonic()))


def main():
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 900
    until = time.monotonic() + seconds
    kinds = (compute, compute, write, download, remember)
    loads = [multiprocessing.Process(target=stretches, args=(kind, seed, until))
             for seed, kind in enumerate(kinds)]
    for load in loads:
        load.start()
    for load in loads:
        load.join()


if __name__ == "__main__":
    main()
