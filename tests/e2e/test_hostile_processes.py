"""Processes that say strange things about themselves, or nothing at all to whoever asks.

docs/hostile-input.md says which test is for which attack.
"""

import json
import os
import pty
import re
import resource
import select
import subprocess

import pytest

from harness import places
from harness.daemon import environment
from harness.kineto_job import SCRIPT, KinetoJob
from harness.users import JOBS
from harness.waiting import until

ALICE = 20001
BOB = 20002

# Clears the screen, sets the title, makes a link; C1 as bytes and as UTF-8; text that turns around.
EVIL = "\x1b[2J\x1b]0;owned\x07\x9b31m\r\x08\x7f\x85\nFAKE LINE ok\u202e"
EVIL_BYTES = EVIL.encode() + b"\x9b1m\xff\xfe\x90q"
COMM = b"\x1b[2J\xff\x9b\n\r\x07"


@pytest.fixture
def served(daemon, shared_directory):
    made = daemon("--noenable_ipc_monitor", "--port=0", f"--kineto_socket_dir={shared_directory}")
    made.shared = shared_directory
    return made


def more_room_for_arguments():
    resource.setrlimit(resource.RLIMIT_STACK, (64 << 20, resource.RLIM_INFINITY))


def strange(command):
    """Thread name and arguments that no terminal should see."""
    python, job, *rest = command
    return [python, places.published(os.path.join(JOBS, "strange_job.py")), COMM.hex(), job, *rest,
            EVIL_BYTES]


class StrangeJob(KinetoJob):
    """kineto_job with a large environment and command line, both full of control characters."""

    def __init__(self, directory, megabytes=0.0, **names):
        self.directory = places.short_directory(0o755, ALICE)
        self.output_path = os.path.join(self.directory, "out")
        command = strange([places.plain_python(ALICE), places.published(SCRIPT), directory])
        filling = EVIL_BYTES * (100_000 // len(EVIL_BYTES))
        pieces = int(megabytes * 1e6 / len(filling))
        env = {os.fsencode(k): os.fsencode(v) for k, v in environment().items()}
        env |= {f"FILLING{number}".encode(): filling for number in range(pieces)}
        env |= {name.encode(): value for name, value in names.items()}
        with open(self.output_path, "wb") as output:
            self.process = subprocess.Popen(
                [*command, *[filling] * pieces], stdin=subprocess.PIPE, stdout=output,
                stderr=subprocess.STDOUT, env=env, cwd=self.directory, user=ALICE, group=ALICE,
                extra_groups=[], preexec_fn=more_room_for_arguments)


@pytest.fixture
def strange_job(served):
    made = []

    def create(*arguments, **names):
        made.append(StrangeJob(served.shared, *arguments, **names).wait_ready())
        return made[-1]
    yield create
    for each in made:
        each.close()


def on_a_terminal(daemon, *arguments):
    """The bytes that a terminal of 100 columns gets."""
    controller, terminal = pty.openpty()
    with subprocess.Popen(daemon.dyno_command(*arguments), stdin=subprocess.DEVNULL,
                          stdout=terminal, stderr=terminal, env=environment({"TERM": "xterm"}),
                          cwd="/") as process:
        os.close(terminal)
        seen = b""
        while True:
            readable, _, _ = select.select([controller], [], [], 60)
            assert readable, f"dyno {arguments} says nothing; so far {seen!r}"
            try:
                piece = os.read(controller, 1 << 16)
            except OSError:  # how Linux tells that the terminal's last user has gone
                break
            if not piece:
                break
            seen += piece
    os.close(controller)
    return process.returncode, seen


# What dyno itself writes while a trace goes on: cursor up, erase line, erase below.
OWN_SEQUENCES = re.compile(rb"\x1b\[\d*A|\x1b\[K|\x1b\[J")


def assert_harmless(seen, what):
    text = OWN_SEQUENCES.sub(b"", seen).decode()  # valid UTF-8, or this raises
    bad = [c for c in text if (ord(c) < 32 and c not in "\r\n") or 0x7F <= ord(c) < 0xA0]
    assert not bad, (what, bad, text)
    assert "\rFAKE" not in text and "\nFAKE" not in text, (what, text)


def test_control_characters_never_reach_a_terminal(served, strange_job, scratch):
    os.chmod(scratch, 0o1777)
    names = {"SLURM_JOB_ID": EVIL_BYTES, "RANK": b"\x1b[5m", "WORLD_SIZE": b"9" * 300,
             "KINETO_ONDEMAND_TRACE_DIR": b"/tmp/" + EVIL_BYTES, "TORCHELASTIC_RUN_ID": EVIL_BYTES,
             "KINETO_CONFIG": EVIL_BYTES, "KINETO_IPC_SOCKET_DIR": EVIL_BYTES,
             "KINETO_USE_DAEMON": b"1"}
    job = strange_job(**names)
    row = served.wait_for(job.pid)
    assert "\x1b" not in json.dumps(row, ensure_ascii=False)
    path = os.path.join(scratch, "t_{job}_{rank}.json")
    for arguments in (["ps"], ["ps", "--wide"], ["status"], ["doctor"],
                      ["doctor", "--pid", job.pid], ["doctor", "--json"], ["ps", "--json"],
                      ["gputrace", "--log-file", path, "--duration-ms", 100],
                      ["traces", "list"], ["traces", "list", "--json"]):
        code, seen = on_a_terminal(served, *arguments)
        assert code in (0, 1) and seen, (arguments, code, seen)
        assert_harmless(seen, arguments)
    session = served.dyno("traces", "list", "--json").json["sessions"][0]["session"]
    assert_harmless(on_a_terminal(served, "traces", "show", session)[1], "traces show")
    with open(served.log_path, "rb") as log:
        assert_harmless(log.read(), "the daemon's log")
    made = places.listed(scratch)
    assert len(made) == 1 and made[0].startswith("t_") and made[0].isprintable(), made


def test_job_name_does_not_lead_out_of_the_directory(served, strange_job, scratch):
    os.chmod(scratch, 0o1777)
    job = strange_job(SLURM_JOB_ID=b"../../../tmp/evil/../x")
    served.wait_for(job.pid)
    answer = served.dyno("gputrace", "--log-file", os.path.join(scratch, "{job}.json"), "--json",
                         "--duration-ms", 100)
    assert answer.code == 0, answer
    update, = answer.json["processes"]
    assert os.path.dirname(update["file"]) == scratch, update


def test_megabytes_of_environment_and_command_line(served, strange_job, kineto_job_here):
    """Read in bounds: what does not fit is left out, and the row is there in time."""
    before = served.status()["resident_bytes"]
    job = strange_job(1.2, RANK=b"3")
    row = served.wait_for(job.pid)
    assert len(row["command"]) <= 1024, len(row["command"])
    assert "\x1b" not in json.dumps(row, ensure_ascii=False)
    other = kineto_job_here()
    assert served.wait_for(other.pid, state="idle")
    assert served.dyno("doctor", "--json", "--timeout", 20).code in (0, 1)
    assert served.status()["resident_bytes"] < before + (16 << 20)


def blocked(script, directory):
    job = script("blocked_job.py", directory, ALICE,
                 wrap=lambda command: ["unshare", "--mount", "--propagation", "private", *command])
    job.mount = job.hear()["mount"]
    return job


@pytest.fixture
def blocked_jobs(script, served):
    jobs = [blocked(script, served.shared) for _ in range(3)]
    yield jobs
    for job in jobs:
        job.close()
        os.rmdir(job.mount)


def test_command_line_whose_reader_waits_for_ever(served, blocked_jobs, kineto_job_here):
    """The reader is a child, replaced when it is late; others are known meanwhile."""
    other = kineto_job_here(uid=BOB)
    row = served.wait_for(other.pid, state="idle")
    assert "kineto_job" in row["command"]
    for job in blocked_jobs:
        row = until("the blocked process to be listed with what is known",
                    lambda pid=job.pid: known(served.process_of(pid)))
        assert row["uid"] == ALICE and not row.get("command"), row
    for uid in (BOB, None):
        assert served.dyno("ps", "--json", uid=uid).code == 0
    assert served.dyno("ps", "--json", uid=BOB, tcp=port_of(served)).code == 0
    answer = served.dyno("doctor", "--json", "--timeout", 30)
    assert answer.code in (0, 1), answer
    answer = served.dyno("gputrace", "--pids", other.pid, "--log-file", other.file("t.json"),
                         "--duration-ms", 100, "--json", uid=BOB)
    assert answer.code == 0, answer


def known(row):
    return row if row and row.get("missing") else None


def port_of(daemon):
    from harness.daemon import tcp_port
    return tcp_port(daemon)


@pytest.mark.parametrize("uid", [None, ALICE])
def test_proc_that_hides_other_users_processes(unstarted_daemon, uid):
    """hidepid=2, in a mount namespace of the daemon's own; a user's daemon sees that user."""
    directory = places.short_directory(0o1777)
    # A proc of its own: remounting would hide the processes of the whole machine.
    hiding = ["unshare", "--mount", "--propagation", "private", "sh", "-c",
              'mount -t proc -o hidepid=2 proc /proc && exec "$@"', "sh"]
    as_user = [] if uid is None else ["setpriv", f"--reuid={uid}", f"--regid={uid}",
                                      "--clear-groups", "--"]

    class Hiding:
        """Around the daemon only: `dyno` is where root and its users are."""
        def inside(self, command):
            if command[0] != places.program("dynolog"):
                return command
            return [*hiding, *as_user, *command]

    daemon = unstarted_daemon("--noenable_ipc_monitor", "--no_tcp",
                              f"--kineto_socket_dir={directory}", namespace=Hiding(),
                              directory=places.short_directory(0o755, uid))
    jobs = []
    try:
        daemon.start()
        jobs = [KinetoJob(directory, uid=ALICE).wait_ready()]
        row = until("Alice's job", lambda: known_command(daemon.process_of(jobs[0].pid,
                                                                          uid=ALICE)))
        assert row["uid"] == ALICE, row
        answer = daemon.dyno("doctor", "--json", "--timeout", 20, uid=ALICE)
        assert answer.code in (0, 1), answer
        answer = daemon.dyno("gputrace", "--pids", jobs[0].pid, "--log-file",
                             jobs[0].file("t.json"), "--duration-ms", 100, "--json", uid=ALICE)
        assert answer.code == 0, answer
    finally:
        for job in jobs:
            job.close()
        daemon.stop()
        places.remove(daemon.directory)
        places.remove(directory)


def known_command(row):
    return row if row and row.get("command") else None


REUSE = """
import json, os, signal, subprocess, sys
sys.path.insert(0, sys.argv[1])
from harness import datagrams, frames
from harness.daemon import Daemon, tcp_port
from harness.waiting import until
shared, log_file = sys.argv[2:]


def child_with_pid(pid, act):
    with open("/proc/sys/kernel/ns_last_pid", "w") as file:
        file.write(str(pid - 1))
    made = os.fork()
    if made == 0:
        act()
        os._exit(0)
    return made


def poll_until_answered(directory):
    def act():
        one = datagrams.Client(directory)
        replies = []
        while (replies[-1:] or [None]) == [None] and len(replies) < 30:
            replies.append(one.poll(seconds=1))
        told, tell = os.pipe()
        os.write(out, json.dumps([os.getpid(), replies]).encode() + b"\\n")
        os.read(told, 1)
    return act


read, out = os.pipe()
lines = os.fdopen(read)
daemon = Daemon("--noenable_ipc_monitor", "--port=0", f"--kineto_socket_dir={shared}").start()
first = child_with_pid(5000, poll_until_answered(shared))
pid, replies = json.loads(lines.readline())
assert pid == 5000 and replies[-1] == "", (pid, replies)
until("the process", lambda: daemon.process_of(5000))
answer = json.loads(frames.call(tcp_port(daemon), frames.existing_trace_request(
    log_file, pids="5000")))
assert answer["activityProfilersTriggered"] == [5000], answer
daemon.pause()  # it learns of the end only after the next has begun
os.kill(first, signal.SIGKILL)
os.waitpid(first, 0)
second = child_with_pid(5000, poll_until_answered(shared))
daemon.process.send_signal(signal.SIGCONT)
pid, replies = json.loads(lines.readline())
rows = [row for row in daemon.processes() if row["pid"] == 5000]
os.kill(second, signal.SIGKILL)
os.waitpid(second, 0)
daemon.close()
print(json.dumps({"pid": pid, "replies": replies, "rows": len(rows)}))
"""


def test_next_process_of_the_same_pid_gets_nothing(shared_directory, scratch):
    """In a pid namespace, where the kernel lets the next pid be chosen."""
    here = os.path.dirname(os.path.abspath(__file__))
    done = subprocess.run(["unshare", "--net", "--pid", "--fork", "--kill-child", "--mount-proc",
                           "sh", "-c", 'ip link set lo up && exec "$@"', "sh",
                           places.plain_python(), "-c", REUSE, here, shared_directory,
                           os.path.join(scratch, "t.json")],
                          capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done
    result = json.loads(done.stdout)
    assert result["pid"] == 5000 and result["rows"] <= 1, result
    *late, answer = result["replies"]
    assert answer == "" and set(late) <= {None}, "the configuration was for another process"
