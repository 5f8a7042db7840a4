"""Reading a finished trace the way any other program would."""

import json


def read(path):
    with open(path) as file:
        return json.load(file)


def assert_good(path, update):
    """The file is what the command said of it."""
    trace = read(path)
    assert trace["trace_id"] == update["trace_id"], (trace["trace_id"], update)
    assert len(trace["traceEvents"]) == update["events"], (len(trace["traceEvents"]), update)
    return trace


def window_ms(trace):
    """Length of the recorded window by its events, in milliseconds."""
    events = [e for e in trace["traceEvents"] if e.get("ph") == "X"]
    return (max(e["ts"] + e["dur"] for e in events) - min(e["ts"] for e in events)) / 1000
