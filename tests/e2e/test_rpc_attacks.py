"""Hostile and broken RPC clients: a bounded answer or a closed connection, others served."""

import json
import os
import signal
import socket
import struct

import pytest

from harness import frames
from harness.daemon import tcp_port
from harness.waiting import until


@pytest.fixture(scope="module")
def served():
    from harness.daemon import Daemon
    daemon = Daemon("--noenable_ipc_monitor", "--port=0").start()
    daemon.port = tcp_port(daemon)
    yield daemon
    daemon.close()


@pytest.fixture(autouse=True)
def served_afterwards(served):
    yield
    everybody_else_is_served(served)


def everybody_else_is_served(served):
    """While the attack's connections are open; over the unix socket `dyno` has its own deadline."""
    assert frames.served_in_time(served.port)
    assert served.dyno("status", "--json").code == 0


def test_silent_connections_delay_nobody(served):
    silent = [frames.connect(served.port) for _ in range(300)]
    everybody_else_is_served(served)
    for connection in silent:
        connection.close()


def test_silent_connection_and_half_a_header_are_closed_in_time(daemon):
    """The idle limit and the time for one request; 10 s is the default of the second."""
    own = daemon("--noenable_ipc_monitor", "--port=0", "--rpc_idle_timeout_s=1")
    port = tcp_port(own)
    with own.counting(rpc_timed_out=2):
        idle = frames.connect(port)
        half = frames.connect(port)
        half.sendall(b"\1\0")
        assert frames.closed(idle)
        assert frames.served_in_time(port)
        assert json.loads(frames.read_frame(half))["error"]["code"] == "timed_out"
        assert frames.closed(half)
        half.close()
    assert frames.served_in_time(port)


def ask_and_go(port, reset):
    with frames.connect(port) as connection:
        if reset:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.sendall(frames.frame(b'{"fn":"getStatus"}'))


def test_reply_that_nobody_reads(served):
    """Existing daemons died of SIGPIPE here."""
    before = served.counters()
    for reset in (False, True):
        for _ in range(100):
            ask_and_go(served.port, reset)
    everybody_else_is_served(served)
    # All of them are gone before it answers: of a reset it knows then.
    served.pause()
    for _ in range(20):
        ask_and_go(served.port, reset=True)
        with frames.connect_unix(os.path.join(served.run_dir, "dynolog.sock")) as connection:
            connection.sendall(frames.frame(b'{"fn":"daemonStatus"}'))
    served.process.send_signal(signal.SIGCONT)
    everybody_else_is_served(served)
    until("the replies to nobody to be counted", lambda: served.counter(
        "rpc_reply_unread") >= before["rpc_reply_unread"] + 40)
    assert served.process.poll() is None


@pytest.mark.parametrize("length", [-1, 0, 2**31 - 1, -(2**31), (1 << 20) + 1])
def test_bad_lengths(served, length):
    before = served.status()["resident_bytes"]
    with served.counting(rpc_malformed=1, rpc_errors=1), frames.connect(served.port) as connection:
        connection.sendall(struct.pack("<i", length) + b"{}")
        reply = json.loads(frames.read_frame(connection))
        assert reply["error"]["code"] == "bad_request" and reply["error"]["message"], reply
        everybody_else_is_served(served)
        assert frames.closed(connection)
    assert served.status()["resident_bytes"] < before + (8 << 20)


def test_longest_request_is_read(served):
    body = json.dumps({"fn": "getStatus", "x": ""}).encode()
    body = body.replace(b'""', b'"' + b"y" * ((1 << 20) - len(body)) + b'"')
    assert len(body) == 1 << 20
    assert json.loads(frames.call(served.port, body)) == {"status": 1}


NOT_REQUESTS = {
    "garbage": b"\xff\xfe garbage",
    "truncated": b'{"fn":"getSta',
    "array": b"[1,2,3]",
    "empty object": b"{}",
    "no fn": b'{"a":1}',
    "fn a number": b'{"fn":7}',
    "fn too large a number": b'{"fn":1e999}',
    "fn null": b'{"fn":null}',
    "bad UTF-8": b'{"fn":"get\xff\xfeStatus"}',
    "depth 100000": b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "depth in a known call": b'{"fn":"getStatus","a":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "twice fn": b'{"fn":"getStatus","fn":"getVersion"}',
    "two values": b'{"fn":"getStatus"}{"fn":"getStatus"}',
}


@pytest.mark.parametrize("what", NOT_REQUESTS)
def test_what_is_no_request_gets_an_error(served, what):
    with served.counting(rpc_malformed=1, rpc_errors=1):
        reply = json.loads(frames.call(served.port, NOT_REQUESTS[what]))
    assert reply["error"]["code"] == "bad_request", reply
    assert reply["error"]["message"], reply


def test_unknown_method(served):
    with served.counting(rpc_malformed=0, rpc_errors=1):
        reply = json.loads(frames.call(served.port, {"fn": "getStatuses"}))
    assert reply["error"]["code"] == "unknown_method", reply
    assert "getStatuses" in reply["error"]["message"]


@pytest.mark.parametrize("fields", [
    {"config": 1, "pids": [0]},
    {"config": "", "pids": 0},
    {"config": "", "pids": ["a"]},
    {"config": "", "pids": [0], "job_id": "x"},
    {"config": "", "pids": [0], "job_id": 2**70},
    {"config": "", "pids": [0], "process_limit": 1.5},
    {"config": "", "pids": [2**65]},
])
def test_wrong_types_of_the_existing_call(served, fields):
    with served.counting(rpc_errors=1):
        reply = json.loads(frames.call(served.port, {"fn": "setKinetOnDemandRequest", **fields}))
    assert reply["status"].startswith("failed with exception"), reply


def test_missing_fields_of_the_existing_call(served):
    for fields in ({"pids": [0]}, {"config": "x"}, {}):
        with served.counting(rpc_errors=1):
            reply = json.loads(frames.call(served.port,
                                           {"fn": "setKinetOnDemandRequest", **fields}))
        assert reply == {"status": "failed"}, reply


@pytest.mark.parametrize("request_body", [
    {"fn": "dcgmProfPause", "duration_s": "x"},
    {"fn": "dcgmProfPause"},
    {"fn": "commitTrace", "session": 7},
    {"fn": "commitTrace"},
    {"fn": "commitTrace", "session": "\x1b[2J" * 100},
    {"fn": "followTrace", "session": ["x"]},
    {"fn": "prepareTrace", "selection": 1, "trace": []},
    {"fn": "prepareTrace", "selection": {"pids": [1e300]}, "trace": {"log_file": "/tmp/x.json"}},
    {"fn": "prepareTrace", "selection": {}, "trace": {"log_file": 7}},
])
def test_wrong_types_everywhere(served, request_body):
    with served.counting(rpc_errors=1), \
            frames.connect_unix(os.path.join(served.run_dir, "dynolog.sock")) as connection:
        connection.sendall(frames.frame(json.dumps(request_body).encode()))
        reply = json.loads(frames.read_frame(connection))
    assert "error" in reply or str(reply.get("status", "")).startswith("failed"), reply
    assert "\x1b" not in json.dumps(reply, ensure_ascii=False)


def test_own_methods_keep_the_connection_and_existing_ones_close_it(served):
    with frames.connect(served.port) as connection:
        for _ in range(3):
            connection.sendall(frames.frame(b'{"fn":"daemonStatus"}'))
            assert json.loads(frames.read_frame(connection))["schema"] == 1
        connection.sendall(frames.frame(b'{"fn":"getStatus"}'))
        assert json.loads(frames.read_frame(connection)) == {"status": 1}
        assert frames.closed(connection)


def test_request_in_pieces(served):
    data = frames.frame(b'{"fn":"getStatus"}')
    with frames.connect(served.port) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for i in range(len(data)):
            connection.sendall(data[i:i + 1])
        assert json.loads(frames.read_frame(connection)) == {"status": 1}


def test_half_closed_client_gets_its_answer(served):
    with frames.connect(served.port) as connection:
        connection.sendall(frames.frame(b'{"fn":"getStatus"}'))
        connection.shutdown(socket.SHUT_WR)
        assert json.loads(frames.read_frame(connection)) == {"status": 1}


def test_connections_beyond_the_limit_are_closed(daemon):
    own = daemon("--noenable_ipc_monitor", "--port=0", "--rpc_max_connections=20")
    port = tcp_port(own)
    held = [frames.connect(port) for _ in range(40)]
    last = held[-1]
    assert json.loads(frames.read_frame(last))["error"]["code"] == "exhausted"
    assert frames.closed(last)
    for connection in held:
        connection.close()
    assert own.dyno("status", "--json").code == 0
    assert own.counter("rpc_over_limit") >= 15


def test_descriptors_over_the_rpc_socket(served):
    """The unix socket takes no descriptors: they would have to be closed, which can block."""
    refused = False
    before = served.counter("rpc_malformed")
    with frames.connect_unix(os.path.join(served.run_dir, "dynolog.sock")) as connection:
        held = len(os.listdir(f"/proc/{served.pid}/fd"))
        try:
            socket.send_fds(connection, [frames.frame(b'{"fn":"daemonStatus"}')], [0, 1, 2] * 20)
            assert frames.closed(connection)
        except PermissionError:
            refused = True  # by newer kernels: nothing has arrived that could be counted
        everybody_else_is_served(served)
    assert served.counter("rpc_malformed") == before + (0 if refused else 1)
    # Whatever arrived was closed: only our own connection may be counted still.
    assert len(os.listdir(f"/proc/{served.pid}/fd")) <= held + 1
