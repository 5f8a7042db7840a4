"""A small training job. Its input takes: `profile`, `unprofile`, `exit`; its end ends the job."""

import argparse
import os
import select
import signal
import sys

import torch

parser = argparse.ArgumentParser()
parser.add_argument("--no-optimizer", action="store_true", help="never call an optimizer's step()")
parser.add_argument("--distributed", action="store_true", help="all-reduce over gloo each step")
parser.add_argument("--fork", action="store_true", help="have a forked child that only waits")
parser.add_argument("--pace", type=float, default=0.01, help="seconds between two steps")
options = parser.parse_args()

torch.set_num_threads(1)
if options.fork and os.fork() == 0:
    while True:
        signal.pause()
group = None
if options.distributed:
    import torch.distributed as group

    group.init_process_group("gloo")

model = torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.ReLU(), torch.nn.Linear(64, 8))
optimizer = None if options.no_optimizer else torch.optim.SGD(model.parameters(), lr=0.01)
data = torch.randn(16, 32)
profiler = None


def step():
    loss = model(data).square().mean()
    loss.backward()
    if group:
        for parameter in model.parameters():
            group.all_reduce(parameter.grad)
    if optimizer:
        optimizer.step()
    model.zero_grad()


def obey(line):
    global profiler
    if line == "profile":
        profiler = torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU])
        profiler.start()
        print("profiling", flush=True)
    elif line == "unprofile":
        profiler.stop()
        profiler = None
        print("profiled", flush=True)
    elif line == "exit":
        sys.exit(0)


step()
print("training", flush=True)
listening = [] if options.distributed else [sys.stdin]
while True:
    # The pace of a data loader; standard input is looked at meanwhile.
    readable, _, _ = select.select(listening, [], [], options.pace)
    if readable:
        line = sys.stdin.readline()
        if not line:
            sys.exit(0)
        obey(line.strip())
    step()
