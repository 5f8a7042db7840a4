#!/usr/bin/env python3
"""What the daemon costs a job that trains on all CPUs of the host: one PyTorch job that does the same
steps again and again, in turns beside the running daemon (default set, history on, the job registered
and polling once a second) and beside the stopped one (SIGSTOP: it takes nothing). Which of a pair
comes first is drawn. A half is about as long as the daemon's interval, so that what else the machine
does meets both halves of a pair alike. Prints the mean slow-down with its 95 % confidence interval
(normal, over the pairs' logarithms), and the median with a distribution-free one.

Usage: training.py [PAIRS, default 240, at least 20] [SECONDS of training a half, default 1]
"""

import math
import os
import random
import signal
import statistics
import subprocess
import sys

import measure

from harness import places
from harness.daemon import Daemon
from harness.job import job_environment
from harness.waiting import until

Z_95 = 1.96


def percent(logarithm):
    return 100 * math.expm1(logarithm)


def of_the_mean(logs):
    half = Z_95 * statistics.stdev(logs) / math.sqrt(len(logs))
    mean = statistics.mean(logs)
    return mean, mean - half, mean + half


def of_the_median(logs):
    """The order statistics between which the median lies with 95 %, whatever the distribution is."""
    ordered = sorted(logs)
    reach = math.ceil(Z_95 * math.sqrt(len(logs)) / 2)
    middle = len(logs) // 2
    return statistics.median(ordered), ordered[max(0, middle - reach)], ordered[
        min(len(logs) - 1, middle + reach)]


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


def tell(daemon, what):
    for pid in measure.tree(daemon.pid):
        os.kill(pid, what)


def pair_of(daemon, loop, steps):
    """The logarithm of how much longer the steps took beside the running daemon."""
    halves = [("on", signal.SIGCONT), ("off", signal.SIGSTOP)]
    random.shuffle(halves)
    took = {}
    for name, what in halves:
        tell(daemon, what)
        took[name] = loop.seconds_of(steps)
    return math.log(took["on"] / took["off"])


def main():
    pairs = max(20, int(sys.argv[1]) if len(sys.argv) > 1 else 240)
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 1
    directory = places.short_directory()
    loop = Loop(directory)
    daemon = Daemon("--port=0", "--prometheus_port=0", "--use_history").start()
    try:
        daemon.wait_for(loop.process.pid)
        steps = round(200 * seconds / loop.seconds_of(200))
        logs = []
        for number in range(pairs):
            logs.append(pair_of(daemon, loop, steps))
            print(f"pair {number + 1} of {pairs}: {percent(logs[-1]):+.2f} %", file=sys.stderr)
        tell(daemon, signal.SIGCONT)
    finally:
        loop.close()
        daemon.close()
        places.remove(directory)
    print(f"training, {pairs} pairs of {seconds:g} s, {steps} steps each, slow-down by the daemon:")
    for name, figures in (("mean", of_the_mean(logs)), ("median", of_the_median(logs))):
        middle, low, high = map(percent, figures)
        print(f"  {name:6} {middle:+.2f} %, 95 % interval {low:+.2f} to {high:+.2f} %")


main()
