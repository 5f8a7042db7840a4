"""The RPC as raw bytes: what any client may put on the wire, our own or not."""

import json
import socket
import struct

from harness.waiting import PATIENCE

EXISTING_CLIENT_DURATION = (
    '\n{\n    "fn": "setKinetOnDemandRequest",\n    "config": "ACTIVITIES_LOG_FILE=%s\\n'
    'PROFILE_START_TIME=0\\nACTIVITIES_DURATION_MSECS=%d\\nPROFILE_REPORT_INPUT_SHAPES=false\\n'
    'PROFILE_WITH_STACK=false\\nPROFILE_WITH_FLOPS=false\\nPROFILE_WITH_MODULES=false",\n'
    '    "job_id": 0,\n    "pids": [%s],\n    "process_limit": 3\n}')


def existing_trace_request(log_file, duration_ms=500, pids="0"):
    """Byte for byte what the existing client sends for `gputrace`."""
    return (EXISTING_CLIENT_DURATION % (log_file, duration_ms, pids)).encode()


def frame(body):
    return struct.pack("<i", len(body)) + body


def connect(port, host="127.0.0.1", seconds=PATIENCE):
    return socket.create_connection((host, port), timeout=seconds)


def connect_unix(path):
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.settimeout(PATIENCE)
    connection.connect(path)
    return connection


def read_exactly(connection, size):
    data = b""
    while len(data) < size:
        more = connection.recv(size - len(data))
        if not more:
            raise EOFError(f"closed after {len(data)} of {size} bytes")
        data += more
    return data


def read_frame(connection):
    (size,) = struct.unpack("<i", read_exactly(connection, 4))
    assert 0 <= size <= 64 << 20, size
    return read_exactly(connection, size)


def call(port, body, host="127.0.0.1", seconds=PATIENCE):
    """One request on a connection of its own, as existing clients do; gives the reply's bytes."""
    if not isinstance(body, bytes):
        body = json.dumps(body).encode()
    with connect(port, host, seconds) as connection:
        connection.sendall(frame(body))
        return read_frame(connection)


def served_in_time(port):
    """Somebody else's call, while an attack goes on: within the 5 s that `dyno` waits."""
    return call(port, b'{"fn":"getStatus"}', seconds=5) == b'{"status":1}'


def closed(connection):
    """True when the other side has closed (or reset) the connection; waits for it."""
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:
        return True
