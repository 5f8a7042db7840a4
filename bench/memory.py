#!/usr/bin/env python3
"""Does the daemon's memory stay flat? It runs with all of its sinks and with callers: the page is
scraped, its history is asked, OTLP and JSON lines go out, a process polls for traces. Each minute it
prints what the daemon and its workers hold; at the end how that rose, as a straight line through all
readings has it. What counts begins once the history has joined its first quarter of an hour, for
which it makes tables that it keeps: up to 16 minutes after the start.

Usage: memory.py [MINUTES that count, default 30]. Ends with 1 when private dirty memory rose by more
than 5 % or descriptors became more; PSS also rises when others that use the same libraries end.
Needs root. In a pid namespace of its own (unshare --pid --fork --mount-proc) other work on the host
adds no processes to what the daemon watches.
"""

import http.server
import os
import sys
import tempfile
import threading
import time

import measure

from harness import datagrams, page, places
from harness.daemon import Daemon

EVERY = 5          # seconds between two readings
ALLOWED = 0.05     # rise over the time that counts
JUDGED = ("private dirty", "descriptors")
JOINS = 900        # the history joins its blocks at these seconds of wall time,
JOINED = 60        # and has done so by this many later
SCRAPE = 15        # seconds between two scrapes
ASK = 30           # seconds between two rounds of `dyno`
FEWEST = 12        # readings that a line is drawn through


class Taker(http.server.BaseHTTPRequestHandler):
    """Takes any request of OTLP and forgets it."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


def reading(pid):
    """What the daemon and its workers hold now."""
    return {"pss": measure.memory_kib(pid, "Pss"),
            "private dirty": measure.memory_kib(pid, "Private_Dirty"),
            "descriptors": sum(len(os.listdir(f"/proc/{each}/fd")) for each in measure.tree(pid)),
            "processes": len(measure.tree(pid))}


def ask(daemon):
    """What people and their scripts ask for."""
    for words in (("status", "--json"), ("ps",),
                  ("metrics", "query", "cpu.utilization", "--last", "10m"), ("top",)):
        answer = daemon.dyno(*words)
        # There is no history in the first seconds.
        assert answer.code == 0 or words[0] != "status", answer


def rise(times, values):
    """By what part of its own beginning the line through the points rises over their time."""
    mean_t, mean_v = sum(times) / len(times), sum(values) / len(values)
    slope = (sum((t - mean_t) * (v - mean_v) for t, v in zip(times, values)) /
             sum((t - mean_t) ** 2 for t in times))
    begin = mean_v + slope * (times[0] - mean_t)
    return slope * (times[-1] - times[0]) / begin, slope * 60


def watch(daemon, client, seconds):
    """[(seconds since it began to count, reading)]; prints each minute's."""
    url = page.page_url(daemon)
    start = time.monotonic()
    due = {"scrape": 0.0, "ask": 0.0, "read": 0.0, "print": 0.0}
    found = []

    def is_due(what, period):
        now = time.monotonic() - start
        if now < due[what]:
            return False
        due[what] = now + period
        return True

    warm = JOINS - time.time() % JOINS + JOINED
    while time.monotonic() - start < warm + seconds:
        client.send(datagrams.request([os.getpid()]))
        while client.receive(0) is not None:
            pass
        if is_due("scrape", SCRAPE):
            page.get(url)
        if is_due("ask", ASK):
            ask(daemon)
        if is_due("read", EVERY):
            found.append((time.monotonic() - start, reading(daemon.pid)))
            if is_due("print", 60):
                print(f"{found[-1][0] / 60:5.1f} min  " + ", ".join(
                    f"{name} {value}{' KiB' if name in ('pss', 'private dirty') else ''}"
                    for name, value in found[-1][1].items()), flush=True)
        time.sleep(1)
    return [(at - warm, values) for at, values in found if at >= warm]


def judge(found):
    """Sentences on what rose too much."""
    if len(found) < FEWEST:
        return [f"only {len(found)} readings: let it run longer"]
    times, faults = [at for at, _ in found], []
    for name in ("pss", *JUDGED):
        share, slope = rise(times, [values[name] for _, values in found])
        unit = "" if name == "descriptors" else " KiB"
        print(f"{name}: {share:+.2%} over {times[-1] / 60:.0f} minutes, "
              f"{slope:+.2f}{unit} a minute")
        if name in JUDGED and share > ALLOWED:
            faults.append(f"{name} rose by {share:.1%}, which is more than {ALLOWED:.0%}")
    return faults


def main():
    seconds = float(sys.argv[1] if len(sys.argv) > 1 else 30) * 60
    taker = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Taker)
    taker.daemon_threads = True
    threading.Thread(target=taker.serve_forever, daemon=True).start()
    sockets = places.short_directory()
    with tempfile.TemporaryDirectory() as directory:
        with open(f"{directory}/host.prom", "w") as file:
            file.write("reboot_needed 0\n")
        daemon = Daemon("--noenable_ipc_monitor", f"--kineto_socket_dir={sockets}", "--port=0",
                        "--prometheus_port=0", "--use_history", "--use_JSON",
                        f"--json_file={directory}/lines", "--json_interval_s=1",
                        f"--textfile_directory={directory}", "--use_otlp", "--otlp_interval_s=1",
                        f"--otlp_endpoint=http://127.0.0.1:{taker.server_address[1]}").start()
        try:
            page.page_of(page.page_url(daemon))  # waits for the first
            client = datagrams.Client(sockets)
            found = watch(daemon, client, seconds)
            client.close()
            faults = judge(found)
            daemon.stop()
        finally:
            daemon.close()
            taker.shutdown()
            places.remove(sockets)
    if faults:
        sys.exit("; ".join(faults))


main()
