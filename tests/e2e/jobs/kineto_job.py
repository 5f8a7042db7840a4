"""A process that does what Kineto's client does when it is asked for a trace, well or badly.

What a version or a mishap makes of a request is recorded behaviour (see the branches of `Trace`);
real PyTorch shows the same where it can be brought to it, but not at a test's command. Standard
input takes `exit`; its end ends the process.
"""

import argparse
import json
import os
import pickle
import select
import socket
import struct
import sys
import time

IDLE, BUSY = 3, 1

parser = argparse.ArgumentParser()
parser.add_argument("directory", help="KINETO_IPC_SOCKET_DIR")
parser.add_argument("--as", dest="behaviour", default="good", choices=[
    "good", "redirect", "ignore", "deaf", "no-file", "cancelled", "dies", "truncated", "other-id",
    "no-steps", "slow", "exits", "sparse"])
parser.add_argument("--megabytes", type=float, default=0, help="of events, besides a few")
parser.add_argument("--period", type=float, default=0.4, help="seconds between two polls")
options, _ = parser.parse_known_args()  # a job has arguments of its own besides


def parse(text):
    pairs = [line.split("=", 1) for line in text.splitlines() if "=" in line.split("#")[0]]
    return {key.strip(): value.strip() for key, value in pairs}


def with_pid(path):
    head, dot, tail = path.partition(".json")
    return f"{head}_{os.getpid()}{dot}{tail}" if dot else path


def event(number, **fields):
    return {"ph": "X", "cat": "cpu_op", "name": f"aten::op{number % 7}", "pid": os.getpid(),
            "tid": os.getpid(), "ts": number * 10.0, "dur": 8.0, **fields}


def write_trace(file, trace_id, megabytes):
    """As Kineto lays it out: the head, the events, the name at the end."""
    file.write('{"schemaVersion": 1, "deviceProperties": [],\n"trace_id": "%s",\n'
               '"host_name": "here",\n"baseTimeNanoseconds": 1700000000000000000,\n'
               '"traceEvents": [\n' % trace_id)
    number = 0
    while number < 50 or file.tell() < megabytes * 1e6:
        file.write(json.dumps(event(number)) + ",\n")
        number += 1
    end = number * 10.0
    file.write(json.dumps({"ph": "i", "s": "g", "name": "Record Window End", "pid": "", "tid": "",
                           "ts": end}) + "\n")
    file.write('], "traceName": "%s"}\n' % file.name)


class Trace:
    """One request, from its text to its file."""

    def __init__(self, config):
        self.config = config
        now = time.time()
        start = int(config.get("PROFILE_START_TIME", 0)) / 1000
        self.start = start if start > now else now + 0.5
        self.warm = self.start - float(config.get("ACTIVITIES_WARMUP_PERIOD_SECS", 5)) - 0.2
        self.end = self.start + int(config.get("ACTIVITIES_DURATION_MSECS", 500)) / 1000
        if options.behaviour == "slow":
            self.end += 3
        self.path = with_pid(config["ACTIVITIES_LOG_FILE"])
        self.snapshot = config.get("PROFILE_MEMORY") == "true"
        if self.snapshot:  # its key takes the place of a name that stands before it
            names = list(config)
            named = names.index("ACTIVITIES_LOG_FILE") > names.index("PROFILE_MEMORY")
            self.path = (config["ACTIVITIES_LOG_FILE"] if named
                         else f"/tmp/memory_snapshot_{os.getpid()}.pickle")
            self.end = self.start + int(config.get("PROFILE_MEMORY_DURATION_MSECS", 500)) / 1000
        if options.behaviour == "redirect":  # 2.14 and a path that it does not obey
            self.path = f"/tmp/libkineto_activities_{os.getpid()}.json"
        self.warming = False
        self.done = options.behaviour in ("ignore", "no-steps")

    def busy(self):
        return self.warming and not self.done and not self.snapshot  # another thread makes it

    def step(self):
        now = time.time()
        if not self.done and not self.warming and now >= self.warm:
            self.begin()
        if self.busy() and options.behaviour == "cancelled" and now >= self.start:
            self.done = True
        if self.busy() and options.behaviour == "dies" and now >= self.start + 0.2:
            os._exit(7)
        if self.warming and not self.done and now >= self.end:
            self.finish()

    def begin(self):
        self.warming = True
        if options.behaviour != "no-file":
            open(self.path + ".tmp", "w").close()

    def finish(self):
        self.done = True
        if options.behaviour == "no-file":
            return
        if self.snapshot:  # its empty temporary stays
            with open(self.path, "wb") as file:
                pickle.dump({"segments": [], "device_traces": [[]]}, file, protocol=4)
            return
        trace_id = self.config.get("REQUEST_TRACE_ID", "")
        if options.behaviour == "other-id":
            trace_id = "4711"
        with open(self.path + ".tmp", "w") as file:
            write_trace(file, trace_id, options.megabytes)
        if options.behaviour == "truncated":
            os.truncate(self.path + ".tmp", os.path.getsize(self.path + ".tmp") // 2)
        if options.behaviour == "sparse":  # no block of it is on the disk
            os.truncate(self.path + ".tmp", os.path.getsize(self.path + ".tmp") // 2)
            os.truncate(self.path + ".tmp", 100 << 30)
        os.rename(self.path + ".tmp", self.path)
        if options.behaviour == "exits":
            os._exit(0)


def poll(endpoint, busy):
    """The text of the reply, or None."""
    body = struct.pack("<iiqi", BUSY if busy else IDLE, 1, 0, os.getpid())
    head = struct.pack("<Q", len(body)) + b"req".ljust(32, b"\0")
    try:
        endpoint.sendto(head + body, os.path.join(options.directory, "dynolog"))
    except OSError:
        return None
    readable, _, _ = select.select([endpoint], [], [], 0.09)
    if readable and options.behaviour == "deaf" and len(endpoint.recv(64, socket.MSG_PEEK)) > 40:
        return None
    return endpoint.recv(1 << 20)[40:].decode() if readable else None


def main():
    endpoint = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    path = os.path.join(options.directory, f"dynoconfigclient{os.urandom(6).hex()}")
    endpoint.bind(path)
    os.chmod(path, 0o666)
    trace = None
    next_poll = 0.0
    print("training", flush=True)
    while True:
        now = time.monotonic()
        if now >= next_poll:
            next_poll = now + options.period
            text = poll(endpoint, trace is not None and trace.busy())
            if text:
                print("asked", flush=True)
                trace = Trace(parse(text))
        if trace:
            trace.step()
            if trace.done:
                trace = None
        readable, _, _ = select.select([sys.stdin], [], [], 0.05)
        if readable and sys.stdin.readline().strip() in ("exit", ""):
            os.unlink(path)
            return


main()
