"""What a worker that reads a user's file may take, and what its user may do to it: the worker runs
as that user."""

import json
import os
import re
import subprocess

import pytest

from harness import places
from harness.job import descendants

ALICE = 20001

# Says the errno of an attempt to trace the worker, and of looking into it (which no security module
# but the kernel's own rule for what may be dumped forbids).
PRY = """
import ctypes, json, os, sys
pid = int(sys.argv[1])
PTRACE_ATTACH = 16
libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long] * 4
tried = {"ptrace": ctypes.get_errno() if libc.ptrace(PTRACE_ATTACH, pid, 0, 0) else 0}
for name in ("environ", "mem", "maps"):
    try:
        open(f"/proc/{pid}/{name}", "rb").read(1)
        tried[name] = 0
    except OSError as error:
        tried[name] = error.errno
print(json.dumps(tried))
"""


@pytest.fixture
def slow_trace(daemon, kineto_job_here, shared_directory):
    """(the files worker of a trace of Alice's that goes on, the command that waits for it)"""
    served = daemon("--noenable_ipc_monitor", "--no_tcp", f"--kineto_socket_dir={shared_directory}")
    traced = kineto_job_here("slow", uid=ALICE)
    served.wait_for(traced.pid, state="idle")
    running = served.dyno_started("gputrace", "--pids", traced.pid, "--duration-ms", 100,
                                  "--log-file", traced.file("t.json"), "--json", uid=ALICE)
    running.wait_until_said(": fetched")
    yield files_worker_of(served), running
    answer = running.finish()
    assert answer.code == 0, answer


def read(pid, name):
    with open(f"/proc/{pid}/{name}", errors="replace") as file:
        return file.read()


def files_worker_of(daemon):
    found, = [pid for pid in descendants(daemon.pid)
              if "--worker=files" in read(pid, "cmdline").split("\0")]
    return found


def test_files_worker_has_limits_and_is_its_users_in_name_only(slow_trace):
    worker, _ = slow_trace
    assert re.search(rf"^Uid:(\t{ALICE}){{4}}$", read(worker, "status"), re.M)
    limits = dict(re.findall(r"^(Max [a-z ]+?)  +(\S+)  +\S+", read(worker, "limits"), re.M))
    assert limits["Max core file size"] == "0", limits
    if not places.sanitized():  # their shadow memory is larger than any limit
        assert limits["Max address space"] == str(512 << 20), limits
    assert int(limits["Max open files"]) <= 10 * 1024 + 64, limits
    assert os.stat(f"/proc/{worker}/environ").st_uid == 0


def test_files_workers_user_cannot_look_into_it(slow_trace):
    """What it holds of the daemon's, and where it stands, is not for its user to change."""
    worker, _ = slow_trace
    done = subprocess.run([places.plain_python(ALICE), "-c", PRY, str(worker)], user=ALICE,
                          group=ALICE, extra_groups=[], cwd="/", capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    tried = json.loads(done.stdout)
    assert all(error in (1, 13) for error in tried.values()), tried


@pytest.mark.parametrize("uid", [None, ALICE])
def test_sparse_file_of_a_hundred_gibibytes_is_judged(kineto_job, main_daemon, uid):
    """At the first byte that is no trace's: nobody reads the rest, and nothing is copied."""
    job = kineto_job("sparse", uid=uid)
    main_daemon.wait_for(job.pid)
    answer = main_daemon.dyno("gputrace", "--pids", job.pid, "--duration-ms", 100, "--log-file",
                              job.file("t.json"), "--json", uid=uid)
    assert answer.code == 4, answer
    update, = answer.json["processes"]
    assert not update["whole"] and "not JSON at byte" in update["problem"], update
    assert os.stat(update["file"]).st_blocks * 512 < 1 << 20, "a hole as before"
    main_daemon.wait_for(job.pid, state="idle")
