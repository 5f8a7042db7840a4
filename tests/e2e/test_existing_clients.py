"""Clients of the existing dynolog, byte for byte, and what speaks something else to the port."""

import json
import os
import struct
import subprocess

import pytest

from harness import frames, traces
from harness.waiting import until


def test_get_status_and_version(main_port):
    assert frames.call(main_port, b'{"fn":"getStatus"}') == b'{"status":1}'
    version = json.loads(frames.call(main_port, b'{"fn":"getVersion"}'))
    assert list(version) == ["version"] and version["version"].count(".") == 2
    assert json.loads(frames.call(main_port, b'{"fn":"dcgmProfPause","duration_s":300}')) == {
        "status": False}
    assert json.loads(frames.call(main_port, b'{"fn":"dcgmProfResume"}')) == {"status": False}


def test_over_both_loopbacks(main_port):
    assert frames.call(main_port, b'{"fn":"getStatus"}', host="127.0.0.1") == b'{"status":1}'
    assert frames.call(main_port, b'{"fn":"getStatus"}', host="::1") == b'{"status":1}'


def test_gputrace_of_the_existing_client(main, main_port, scratch):
    daemon, job = main
    log_file = os.path.join(scratch, "t.json")
    reply = frames.call(main_port, frames.existing_trace_request(log_file, 300, job.pid))
    assert reply == (
        '{"activityProfilersBusy":0,"activityProfilersTriggered":[%d],"eventProfilersBusy":0,'
        '"eventProfilersTriggered":[],"processesMatched":[%d]}' % (job.pid, job.pid)).encode()
    path = os.path.join(scratch, f"t_{job.pid}.json")
    until("the trace", lambda: os.path.exists(path))
    trace = traces.read(path)
    assert trace["traceEvents"] and int(trace["trace_id"]) > 0
    daemon.wait_for(job.pid, state="idle")


def test_second_request_at_once_is_busy(main, main_port, scratch):
    daemon, job = main
    request = frames.existing_trace_request(os.path.join(scratch, "t.json"), 300, job.pid).replace(
        b"\\nPROFILE_WITH_STACK", b"\\nACTIVITIES_WARMUP_PERIOD_SECS=0\\nPROFILE_WITH_STACK")
    assert json.loads(frames.call(main_port, request))["activityProfilersTriggered"] == [job.pid]
    reply = json.loads(frames.call(main_port, request))
    assert reply["activityProfilersBusy"] == 1 and reply["activityProfilersTriggered"] == []
    assert reply["processesMatched"] == [job.pid]
    until("the trace", lambda: os.path.exists(os.path.join(scratch, f"t_{job.pid}.json")))
    daemon.wait_for(job.pid, state="idle")


def test_iteration_request_of_the_existing_client(main, main_port, scratch):
    daemon, job = main
    body = frames.existing_trace_request(os.path.join(scratch, "t.json"), 500, job.pid).replace(
        b"PROFILE_START_TIME=0\\nACTIVITIES_DURATION_MSECS=500",
        b"PROFILE_START_ITERATION=0\\nPROFILE_START_ITERATION_ROUNDUP=10\\nACTIVITIES_ITERATIONS=5")
    reply = json.loads(frames.call(main_port, body))
    assert reply["activityProfilersTriggered"] == [job.pid], reply
    until("the trace", lambda: os.path.exists(os.path.join(scratch, f"t_{job.pid}.json")))
    daemon.wait_for(job.pid, state="idle")


def test_no_process_matches(main_port, scratch):
    request = frames.existing_trace_request(os.path.join(scratch, "t.json"), 300, 2**22 + 1)
    assert json.loads(frames.call(main_port, request)) == {
        "activityProfilersBusy": 0, "activityProfilersTriggered": [], "eventProfilersBusy": 0,
        "eventProfilersTriggered": [], "processesMatched": []}


@pytest.mark.parametrize("line", ["UNKNOWN_KEY=1", "ACTIVITIES_DURATION_MSECS=x",
                                  "ACTIVITIES_DURATION_MSECS=-5",
                                   "ACTIVITIES_LOG_FILE=/tmp/a=b.json",
                                  "ACTIVITIES_LOG_FILE=/tmp/a#b.json",
                                   "ACTIVITY_TYPES=no_such_type",
                                  "no equals sign"])
def test_configuration_that_kineto_would_drop_is_refused(main, main_port, line):
    daemon, job = main
    body = {"fn": "setKinetOnDemandRequest", "job_id": 0, "pids": [job.pid], "process_limit": 3,
            "config": f"ACTIVITIES_LOG_FILE=/tmp/never.json\n{line}"}
    with daemon.counting(rpc_errors=1):
        reply = json.loads(frames.call(main_port, body))
    assert "error" in reply or reply.get("status", "").startswith("failed"), reply
    said = json.dumps(reply)
    assert line.split("=")[0].split()[0] in said, said
    assert daemon.process_of(job.pid)["state"] == "idle"
    assert not os.path.exists(f"/tmp/never_{job.pid}.json")


def test_http_is_told_what_this_is(main_daemon, main_port):
    with main_daemon.counting(rpc_http=1):
        done = subprocess.run(["curl", "-s", "-m", "5", "-w", "\n%{http_code}",
                               f"http://127.0.0.1:{main_port}/metrics"], capture_output=True,
                              text=True)
    body, code = done.stdout.rsplit("\n", 1)
    assert code == "400" and "dyno" in body, done


@pytest.mark.parametrize("method", ["POST", "HEAD", "PUT", "OPTIONS"])
def test_other_http_methods(main_daemon, main_port, method):
    with main_daemon.counting(rpc_http=1), frames.connect(main_port) as connection:
        connection.sendall(f"{method} / HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        data = b""
        while more := connection.recv(4096):
            data += more
    assert data.startswith(b"HTTP/1.1 400 "), data


def test_big_endian_length_is_refused(main_daemon, main_port):
    with main_daemon.counting(rpc_malformed=1), frames.connect(main_port) as connection:
        connection.sendall(struct.pack(">i", 18) + b'{"fn":"getStatus"}')
        assert "error" in json.loads(frames.read_frame(connection))
