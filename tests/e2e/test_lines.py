"""JSON lines: intervals, rotation, and the relay over TCP and unix sockets."""

import json
import os
import socket

from harness.waiting import until

QUIET = ("--noenable_ipc_monitor", "--no_tcp")


def lines_of(path):
    if not os.path.exists(path):
        return []
    with open(path) as file:
        return [json.loads(line) for line in file if line.endswith("\n")]


def test_a_line_speaks_of_all_readings_since_the_one_before(daemon, scratch):
    path = os.path.join(scratch, "m.jsonl")
    served = daemon(*QUIET, "--use_JSON", f"--json_file={path}", "--json_interval_s=3")
    lines = until("two whole intervals", lambda: len(lines_of(path)) >= 4 and lines_of(path))
    assert "interval_s" not in lines[0], "the first is a sign of life"
    for line in lines[2:4]:
        assert abs(line["interval_s"] - 3) < 0.5, line["interval_s"]
        assert int(line["time"][17:19]) % 3 == 0, line["time"]
        # Of all CPUs, over three seconds: half a second's worth would be a single tick's.
        spent = sum(line[f"cpu_{mode}_ms"] for mode in "uswnxyz") / line["cpu_util"] * 100
        assert 2500 * os.cpu_count() < spent < 3500 * os.cpu_count(), spent
    before = len(lines_of(path))
    served.stop()
    last = lines_of(path)[-1]
    assert len(lines_of(path)) >= before and last["interval_s"] < 3.5, "what was left at the end"


def test_rotation_and_somebody_elses(daemon, scratch):
    path = os.path.join(scratch, "m.jsonl")
    daemon(*QUIET, "--use_JSON", f"--json_file={path}", "--json_interval_s=1",
           "--json_file_max_bytes=30000", "--json_file_keep=2")
    until("two full files", lambda: os.path.exists(path + ".2"))
    assert not os.path.exists(path + ".3")
    for name in (path, path + ".1", path + ".2"):
        assert os.path.getsize(name) <= 30_000
        assert lines_of(name), name
        assert os.stat(name).st_mode & 0o777 == 0o640
    times = [line["time"] for name in (path + ".2", path + ".1", path) for line in lines_of(name)]
    assert times == sorted(times)
    os.rename(path, path + "-old")
    until("a new file", lambda: lines_of(path))


class Lines:
    """What comes over a connection, line by line."""

    def __init__(self, listener):
        listener.settimeout(30)
        self.peer, _ = listener.accept()
        self.peer.settimeout(30)
        self.file = self.peer.makefile()

    def next(self):
        return json.loads(self.file.readline())

    def close(self):
        self.file.close()
        self.peer.close()


def relay(daemon, *flags):
    return daemon(*QUIET, "--use_fbrelay", "--fbrelay_interval_s=1", *flags)


def sink(daemon):
    found = next(c for c in daemon.status()["collectors"] if c["name"] == "relay")
    return {"last_error": "", **found}  # absent while there was none


def test_the_relay_over_tcp_comes_back(daemon):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        served = relay(daemon, "--fbrelay_address=localhost", f"--fbrelay_port={port}")
        lines = Lines(listener)
        first, second = lines.next(), lines.next()
        assert first["time"] < second["time"] and "cpu_u" in second and "interval_s" in second
        lines.close()
        again = Lines(listener)
        third = again.next()
        assert third["time"] > second["time"]
        again.close()
    until("absence to be noticed", lambda: "Connection refused" in sink(served)["last_error"])
    assert served.log().count("sink relay failed") <= 2, served.log()
    served.stop()


def test_the_relay_over_ipv6_and_unix_sockets(daemon, scratch):
    with socket.create_server(("::1", 0), family=socket.AF_INET6) as listener:
        relay(daemon, "--fbrelay_address=::1", f"--fbrelay_port={listener.getsockname()[1]}")
        assert "time" in Lines(listener).next()
    path = os.path.join(scratch, "relay.sock")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()
        relay(daemon, f"--fbrelay_address={path}")
        assert "time" in Lines(listener).next()


def test_a_relay_that_is_there_later_gets_what_waited(daemon):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    served = relay(daemon, f"--fbrelay_port={port}")
    until("lines to wait", lambda: sink(served)["queue_length"] >= 2)
    with socket.create_server(("127.0.0.1", port)) as listener:
        lines = Lines(listener)
        times = [lines.next()["time"] for _ in range(3)]
        assert times == sorted(times)
        lines.close()


def test_a_relay_that_does_not_read_hurts_nobody(daemon):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        served = relay(daemon, f"--fbrelay_port={listener.getsockname()[1]}")
        stalled = Lines(listener)
        until("some lines", lambda: sink(served)["successes"] >= 3)
        served.stop()  # although nobody will ever read what is left
        stalled.close()
