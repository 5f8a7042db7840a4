"""Reading a finished trace the way any other program would."""

import gzip
import json
import os


def read(path):
    opened = gzip.open(path, "rt") if str(path).endswith(".gz") else open(path)
    with opened as file:
        return json.load(file)


def assert_good(path, update):
    """The file is what the command said of it."""
    trace = read(path)
    assert trace["trace_id"] == update["trace_id"], (trace["trace_id"], update)
    events = update["summary"]["events"]
    assert len(trace["traceEvents"]) == events, (len(trace["traceEvents"]), update)
    return trace


def side_car(path):
    """The record beside a delivered trace."""
    directory, name = os.path.split(path)
    return read(os.path.join(directory, ".dynolog", name + ".json"))


def window_ms(trace):
    """Length of the recorded window by its events, in milliseconds."""
    events = [e for e in trace["traceEvents"] if e.get("ph") == "X"]
    return (max(e["ts"] + e["dur"] for e in events) - min(e["ts"] for e in events)) / 1000
