#!/usr/bin/env python3
"""What the daemon costs a job that trains on all CPUs of the host: one PyTorch job that does the same
steps again and again, in turns with the daemon (default set, the job registered and polling once a
second) and without. Which of a pair comes first is drawn. Prints the mean slow-down and its 95 %
confidence interval (Student's t over the pairs).

Usage: training.py [PAIRS, default 24] [SECONDS of training a half, default 10]
"""

import math
import os
import random
import statistics
import subprocess
import sys

import measure

from harness import places
from harness.daemon import Daemon
from harness.job import job_environment
from harness.waiting import until

# Student's t, two-sided 95 %, by degrees of freedom; beyond the last the value for it.
T_95 = {19: 2.093, 20: 2.086, 21: 2.080, 22: 2.074, 23: 2.069, 24: 2.064, 29: 2.045, 39: 2.023}


def t_95(freedom):
    return T_95[max(known for known in T_95 if known <= max(freedom, min(T_95)))]


class Loop:
    def __init__(self, directory):
        python, extra = places.torch_python(0)
        env = job_environment(directory, extra=extra)
        env["OMP_NUM_THREADS"] = str(os.cpu_count())
        self.process = subprocess.Popen(
            [*python, measure.REPOSITORY / "bench/training_loop.py", str(os.cpu_count())],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=env,
            text=True)
        until("the loop to be ready", lambda: "ready" in self.process.stdout.readline())

    def seconds_of(self, steps):
        self.process.stdin.write(f"{steps}\n")
        self.process.stdin.flush()
        return float(self.process.stdout.readline())

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def with_daemon(loop, steps):
    daemon = Daemon("--port=0", "--prometheus_port=0").start()
    try:
        daemon.wait_for(loop.process.pid)
        return loop.seconds_of(steps)
    finally:
        daemon.close()


def main():
    pairs = int(sys.argv[1]) if len(sys.argv) > 1 else 24
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 10
    directory = places.short_directory()
    loop = Loop(directory)
    try:
        steps = round(200 * seconds / loop.seconds_of(200))
        slowdowns = []
        for number in range(pairs):
            halves = [("on", with_daemon), ("off", Loop.seconds_of)]
            random.shuffle(halves)
            took = {name: half(loop, steps) for name, half in halves}
            slowdowns.append(100 * (took["on"] / took["off"] - 1))
            print(f"pair {number + 1} of {pairs}: {slowdowns[-1]:+.2f} %", file=sys.stderr)
    finally:
        loop.close()
        places.remove(directory)
    mean = statistics.mean(slowdowns)
    half = t_95(pairs - 1) * statistics.stdev(slowdowns) / math.sqrt(pairs)
    print(f"training, {pairs} pairs of {seconds:.0f} s, {steps} steps each: slow-down {mean:+.2f} %,"
          f" 95 % interval {mean - half:+.2f} to {mean + half:+.2f} %")


main()
