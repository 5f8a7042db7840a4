#!/usr/bin/env python3
"""What the daemon costs when nobody asks it anything: CPU, wake-ups and memory with its default set
at 1 s, history on, beside a floor that only reads the same files and asks for the same list of TCP
sockets as often (bench/floor_files.cpp), and beside node_exporter scraped once a second; all at the
same time on the same host. Then what a scrape of each costs, which takes twice as long again.

Usage: at_rest.py [SECONDS, default 120]. Needs root (strace names the files that are read).
"""

import collections
import gzip
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request

import measure

from harness import page
from harness.daemon import Daemon
from harness.waiting import until

WATCHED = 62  # seconds: each tier is seen at least once


def files_read(pid):
    """{path: period in seconds}, from the system calls of the daemon and its workers."""
    with tempfile.NamedTemporaryFile("r") as trace:
        strace = subprocess.Popen(
            ["strace", "-f", "-qq", "-y", "-e", "trace=read,pread64,sendto", "-e", "signal=none",
             "-o", trace.name, *[word for each in measure.tree(pid) for word in ("-p", str(each))]])
        time.sleep(WATCHED)
        strace.send_signal(signal.SIGINT)
        strace.wait()
        # One reading may take several calls of pread: those that start at 0 count. What is read with
        # read was opened for it.
        counts = collections.Counter()
        for line in trace:
            if "TCPDIAG_GETSOCK" in line:
                counts["tcp_diag"] += 1
            match = re.search(r" (p?)read(?:64)?\(\d+<(/(?:proc|sys)/[^>]*)>.*, (\d+)\) += [1-9]", line)
            if match and (not match[1] or match[3] == "0"):
                counts[match[2]] += 1
    return with_processes_joined(counts)


def with_processes_joined(counts):
    """The files that the daemon reads of every process become one name with a star, as often as is
    true of their mean: processes come and go, and it need not read each one's at each look."""
    processes = sum(name.isdigit() for name in os.listdir("/proc"))
    of_all, periods = collections.Counter(), {}
    for path, count in counts.items():
        match = re.fullmatch(r"/proc/\d+/(stat|io)", path)
        if match:
            of_all[match[1]] += count
        else:
            periods[path] = max(1, round(WATCHED / count))
    return periods | {f"/proc/*/{name}": max(1, round(WATCHED * processes / count))
                      for name, count in of_all.items()}


def floor_started(files, seconds):
    floor = subprocess.Popen([measure.BENCH_BIN / "floor_files", str(seconds)],
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    floor.stdin.write("".join(f"{period} {path}\n" for path, period in files.items()))
    floor.stdin.close()
    return floor


def per_second(pid, seconds):
    """A function that says what the process used since this call."""
    cpu, woken, start = measure.cpu_ns(pid), measure.wakeups(pid), time.monotonic()

    def end():
        took = time.monotonic() - start
        return {"cpu_ms_per_s": (measure.cpu_ns(pid) - cpu) / took / 1e6,
                "wakeups_per_s": (measure.wakeups(pid) - woken) / took,
                "pss_mib": measure.memory_kib(pid, "Pss") / 1024,
                "private_dirty_mib": measure.memory_kib(pid, "Private_Dirty") / 1024}
    return end


def scraped(daemon, exporter, seconds, resting):
    """What a scrape costs each of the two, the page gzipped as a real server asks for it: what they
    use while both are scraped once a second, less what they use without. `resting`: of the daemon;
    node_exporter's is measured here, since nobody has left it alone yet."""
    pids = {"dynolog": daemon.pid, "node_exporter": exporter.process.pid}
    urls = {"dynolog": page.page_url(daemon), "node_exporter": exporter.url + "/metrics"}
    without = per_second(pids["node_exporter"], seconds)
    time.sleep(seconds)
    resting = {"dynolog": resting, "node_exporter": without()["cpu_ms_per_s"]}
    used = {name: measure.cpu_ns(pid) for name, pid in pids.items()}
    start, scrapes, sizes = time.monotonic(), 0, {}
    while time.monotonic() < start + seconds:
        for name, url in urls.items():
            sizes[name] = fetched(url)
        scrapes += 1
        time.sleep(max(0, start + scrapes - time.monotonic()))
    took = time.monotonic() - start
    return {name: {"cpu_ms_per_scrape":
                   ((measure.cpu_ns(pid) - used[name]) / 1e6 - resting[name] * took) / scrapes,
                   **sizes[name]} for name, pid in pids.items()}


def fetched(url):
    """How large a page is, and over the wire."""
    request = urllib.request.Request(url, headers={"Accept-Encoding": "gzip"})
    with urllib.request.urlopen(request, timeout=30) as answer:
        body = answer.read()
        zipped = answer.headers["Content-Encoding"] == "gzip"
    text = gzip.decompress(body) if zipped else body
    lines = sum(1 for line in text.splitlines() if not line.startswith(b"#"))
    return {"lines": lines, "bytes": len(text), "bytes_sent": len(body)}


def main():
    seconds = int(sys.argv[1]) if len(sys.argv) > 1 else 120
    with tempfile.TemporaryDirectory() as directory:
        exporter = page.node_exporter(directory)
        daemon = Daemon("--noenable_ipc_monitor", "--port=0", "--prometheus_port=0",
                        "--use_history").start()
        try:
            until("the history to be kept", lambda: [
                each["state"] for each in daemon.feature("history")] == ["ok"])
            time.sleep(5)
            files = files_read(daemon.pid)
            floor = floor_started(files, seconds)
            ours, theirs = per_second(daemon.pid, seconds), per_second(exporter.process.pid, seconds)
            scrapes = 0
            while floor.poll() is None:
                page.get(exporter.url + "/metrics")
                scrapes += 1
                time.sleep(1)
            figures = {"files": len(files), "dynolog": ours(), "node_exporter": theirs(),
                       "floor": json.loads(floor.stdout.read())}
            figures["scrape"] = scraped(daemon, exporter, seconds,
                                        figures["dynolog"]["cpu_ms_per_s"])
        finally:
            daemon.close()
            exporter.close()
    figures["of_the_floor"] = (figures["dynolog"]["cpu_ms_per_s"] * 1e6 /
                               figures["floor"]["cpu_ns_per_s"])
    print(json.dumps(figures, indent=2))


main()
