#!/usr/bin/env python3
"""From the command to the checked file: `dyno gputrace` of a 500 ms window of a real PyTorch job that
polls once a second, again and again, and what the time goes to (from the record beside each trace).

Usage: command_to_file.py [RUNS, default 12]
"""

import sys
import time

import measure

from harness import places, traces
from harness.daemon import Daemon
from harness.job import Job

WINDOW_MS = 500
# Each part ends with its stamp in the record; the last with the command.
PARTS = [("wait for the poll", "handed_over"), ("warm-up, until the first event", "window_start"),
         ("window", "window_end"), ("Kineto writes the file", "written"),
         ("check and delivery, until dyno has ended", None)]


def one(daemon, job, directory, number):
    """Seconds of each part, then of all."""
    start = time.time()
    answer = daemon.dyno("gputrace", "--pids", job.pid, "--duration-ms", WINDOW_MS, "--log-file",
                         f"{directory}/{number}.json")
    end = time.time()
    assert answer.code == 0, answer
    times = traces.side_car(f"{directory}/{number}_{job.pid}.json")["times"]
    stamps = [start, *(times[name]["ns"] / 1e9 if name else end for _, name in PARTS)]
    return [after - before for before, after in zip(stamps, stamps[1:])] + [end - start]


def main():
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 12
    directory = places.short_directory()
    daemon = Daemon("--port=0", "--prometheus_port=0", "--use_history").start()
    job = Job().wait_ready()
    try:
        daemon.wait_for(job.pid)
        rows = [one(daemon, job, directory, number) for number in range(runs)]
    finally:
        job.close()
        daemon.close()
        places.remove(directory)
    print(f"command to checked file, {WINDOW_MS} ms window, {runs} runs, seconds:")
    for (name, _), values in zip([*PARTS, ("in all", None)], zip(*rows)):
        print(f"  {name:42} {measure.spread(values, ' s')}")


main()
