"""Several users on one host: who sees and reaches what, over both transports."""

import json
import os
import signal
import subprocess
import sys
import types

import pytest

from harness import frames, places, traces
from harness.daemon import Daemon, tcp_port
from harness.job import Job
from harness.waiting import until

ALICE = 20001
BOB = 20002


def through_dyno_env(daemon):
    """A job's command line after `eval "$(dyno env)"`, as a user types it."""
    dyno = " ".join(daemon.dyno_command("env"))
    return lambda command: ["bash", "-c", f'eval "$({dyno})" && exec "$@"', "bash", *command]


@pytest.fixture(scope="module")
def site():
    """A system daemon, and one job each of two users that found it by `dyno env`."""
    daemon = Daemon("--noenable_ipc_monitor", "--port=0").start()
    jobs = {}
    try:
        for uid in (ALICE, BOB):
            jobs[uid] = Job(uid=uid, wrap=through_dyno_env(daemon),
                            extra={"KINETO_USE_DAEMON": None})
        for job in jobs.values():
            job.wait_ready()
            daemon.wait_for(job.pid, state="idle")
        yield types.SimpleNamespace(daemon=daemon, alice=jobs[ALICE], bob=jobs[BOB],
                                    port=tcp_port(daemon))
    finally:
        for job in jobs.values():
            job.close()
        daemon.close()


@pytest.fixture(params=["unix", "tcp"])
def over(request, site):
    """Options that choose the transport."""
    return {"tcp": site.port} if request.param == "tcp" else {}


@pytest.fixture
def open_directory():
    path = places.short_directory(0o1777)
    yield path
    places.remove(path)


def test_each_job_polls_in_its_users_directory(site):
    for uid, job in ((ALICE, site.alice), (BOB, site.bob)):
        directory = os.path.join(site.daemon.run_dir, "u", str(uid))
        info = os.stat(directory)
        assert info.st_uid == uid and info.st_mode & 0o777 == 0o700
        row = site.daemon.process_of(job.pid)
        assert row["endpoint"] == directory and row["uid"] == uid


def test_user_sees_own_processes_only(site, over):
    assert [r["pid"] for r in site.daemon.processes(uid=ALICE, **over)] == [site.alice.pid]
    assert [r["pid"] for r in site.daemon.processes(uid=BOB, **over)] == [site.bob.pid]
    assert {r["pid"] for r in site.daemon.processes(**over)} == {site.alice.pid, site.bob.pid}
    assert site.daemon.processes(uid=20003, **over) == []


def test_user_traces_own_process(site, over):
    log_file = site.alice.file("own.json")
    answer = site.daemon.dyno("gputrace", "--log-file", log_file, "--json", uid=ALICE, **over)
    assert answer.code == 0, answer
    (update,) = answer.json["processes"]
    assert update["pid"] == site.alice.pid
    traces.assert_good(update["file"], update)
    assert os.stat(update["file"]).st_uid == ALICE
    os.unlink(update["file"])


def test_user_cannot_reach_a_foreign_process(site, over, open_directory):
    answer = site.daemon.dyno("gputrace", "--pids", site.alice.pid, "--log-file",
                              os.path.join(open_directory, "t.json"), uid=BOB, **over)
    assert answer.code == 3, answer
    answer = site.daemon.dyno("gputrace", "--user", ALICE, "--log-file",
                              os.path.join(open_directory, "t.json"), uid=BOB, **over)
    assert answer.code == 3, answer
    answer = site.daemon.dyno("gputrace", "--all", "--log-file",
                              os.path.join(open_directory, "all.json"), "--json", uid=BOB, **over)
    assert answer.code == 0, answer
    assert [u["pid"] for u in answer.json["processes"]] == [site.bob.pid]


def test_root_must_choose_between_users(site, open_directory):
    log_file = os.path.join(open_directory, "t.json")
    answer = site.daemon.dyno("gputrace", "--log-file", log_file)
    assert answer.code == 2, answer
    said = answer.out + answer.err
    assert "--all" in said and "--user" in said
    assert str(site.alice.pid) in said and str(site.bob.pid) in said, "the list to choose from"
    assert os.listdir(open_directory) == []


def test_root_traces_all_or_one_user(site, open_directory):
    log_file = os.path.join(open_directory, "t.json")
    answer = site.daemon.dyno("gputrace", "--all", "--log-file", log_file, "--json")
    assert answer.code == 0, answer
    assert {u["pid"] for u in answer.json["processes"]} == {site.alice.pid, site.bob.pid}
    for update in answer.json["processes"]:
        traces.assert_good(update["file"], update)
    owners = {os.stat(os.path.join(open_directory, f)).st_uid for f in os.listdir(open_directory)}
    assert owners == {ALICE, BOB}
    answer = site.daemon.dyno("gputrace", "--user", BOB, "--log-file",
                              os.path.join(open_directory, "bob.json"), "--json")
    assert answer.code == 0, answer
    assert [u["pid"] for u in answer.json["processes"]] == [site.bob.pid]


def test_directory_that_its_process_cannot_write(site, scratch):
    answer = site.daemon.dyno("gputrace", "--pids", site.alice.pid, "--log-file",
                              os.path.join(scratch, "t.json"))
    assert answer.code == 4, answer
    assert "writ" in answer.out + answer.err, answer
    assert site.daemon.process_of(site.alice.pid)["state"] == "idle"


def test_without_log_file_the_traces_lie_in_a_directory_here(site):
    answer = site.daemon.dyno("gputrace", "--json", uid=ALICE, cwd=site.alice.directory)
    assert answer.code == 0, answer
    (update,) = answer.json["processes"]
    parent = os.path.dirname(update["file"])
    assert os.path.dirname(parent) == site.alice.directory
    assert os.path.basename(parent).startswith("dynolog-")
    traces.assert_good(update["file"], update)


def test_another_users_trace_comes_to_root(site, scratch):
    os.chmod(scratch, 0o700)
    answer = site.daemon.dyno("gputrace", "--user", ALICE, "--json", cwd=scratch)
    assert answer.code == 0, answer
    (update,) = answer.json["processes"]
    assert update["file"].startswith(scratch + "/dynolog-")
    traces.assert_good(update["file"], update)


# --- attacks of a local user on who the daemon takes a caller for ---

VANISH = """
import socket, struct, sys
port, body, how = int(sys.argv[1]), sys.argv[2].encode(), sys.argv[3]
s = socket.create_connection(("127.0.0.1", port))
if how == "reset":
    s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
if how == "linger2":
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_LINGER2, struct.pack("i", -1))
s.sendall(struct.pack("<i", len(body)) + body)
if how != "exit":
    s.close()
"""


def vanish(site, how, open_directory):
    """Bob asks for Alice's trace, five times, and is gone."""
    python, env = places.torch_python(BOB)
    body = frames.existing_trace_request(os.path.join(open_directory, "stolen.json"),
                                         pids=str(site.alice.pid)).decode()
    for _ in range(5):
        subprocess.run([*python, "-c", VANISH, str(site.port), body, how], user=BOB, group=BOB,
                       extra_groups=[], check=True, env={**os.environ, **env}, cwd="/")


@pytest.mark.parametrize("how", ["close", "exit", "reset", "linger2"])
def test_caller_that_sends_and_vanishes_is_not_root(site, how, open_directory):
    started = site.daemon.log().count("started by")
    vanish(site, how, open_directory)  # as it comes, and then so that it is too late for certain
    site.daemon.processes(tcp=site.port)  # callers are looked up one by one: those five first
    with site.daemon.counting(rpc_not_identified=5):
        site.daemon.pause()
        vanish(site, how, open_directory)
        site.daemon.process.send_signal(signal.SIGCONT)
    # The next honest request comes after them, and is the only one that started anything.
    answer = site.daemon.dyno("gputrace", "--pids", site.alice.pid, "--duration-ms", 100,
                              "--log-file", site.alice.file("after.json"), tcp=site.port)
    assert answer.code == 0, answer
    assert site.daemon.log().count("started by") == started + 1
    assert os.listdir(open_directory) == []


CHOWNED = """
import json, os, socket, struct, sys
port = int(sys.argv[1])
s = socket.create_connection(("127.0.0.1", port))
os.fchown(s.fileno(), 20001, 20001)
os.setgroups([]); os.setgid(20002); os.setuid(20002)
body = json.dumps({"fn": "listProcesses"}).encode()
s.sendall(struct.pack("<i", len(body)) + body)
size, = struct.unpack("<i", s.recv(4, socket.MSG_WAITALL))
print(s.recv(size, socket.MSG_WAITALL).decode())
"""


def test_owner_of_the_socket_is_not_the_caller(site):
    """fchown() makes a socket anybody's; the process that holds it is what counts."""
    with site.daemon.counting(rpc_not_identified=1):
        done = subprocess.run([sys.executable, "-c", CHOWNED, str(site.port)], check=True,
                              capture_output=True, text=True)
    reply = json.loads(done.stdout)
    assert reply["error"]["code"] == "not_identified", reply


SHARED = """
import json, os, socket, struct, sys
port = int(sys.argv[1])
s = socket.create_connection(("127.0.0.1", port))
if os.fork() == 0:
    os.setgroups([]); os.setgid(20002); os.setuid(20002)
    body = json.dumps({"fn": "listProcesses"}).encode()
    s.sendall(struct.pack("<i", len(body)) + body)
    size, = struct.unpack("<i", s.recv(4, socket.MSG_WAITALL))
    print(s.recv(size, socket.MSG_WAITALL).decode(), flush=True)
    os._exit(0)
os.wait()
"""


def test_socket_held_by_two_users_is_refused(site):
    with site.daemon.counting(rpc_not_identified=1):
        done = subprocess.run([sys.executable, "-c", SHARED, str(site.port)], check=True,
                              capture_output=True, text=True)
    reply = json.loads(done.stdout)
    assert reply["error"]["code"] in ("not_identified", "denied"), reply


SENT_TO_ROOT = """
import array, encodings.idna, json, os, socket, struct, sys  # all now, not as the user
port = int(sys.argv[1])
service, client = socket.socketpair()
if os.fork() == 0:
    os.setgroups([]); os.setgid(20002); os.setuid(20002)
    s = socket.create_connection(("127.0.0.1", port))
    socket.send_fds(client, [b"x"], [s.fileno()])
    os._exit(0)
client.close()
fds = socket.recv_fds(service, 1, 1)[1]
os.wait()
s = socket.socket(fileno=fds[0])
body = json.dumps({"fn": "listProcesses"}).encode()
s.sendall(struct.pack("<i", len(body)) + body)
size, = struct.unpack("<i", s.recv(4, socket.MSG_WAITALL))
print(s.recv(size, socket.MSG_WAITALL).decode())
"""


def test_socket_that_a_user_sent_to_a_root_service_is_not_roots(site):
    """The service is the only holder then, and any user can bring that about."""
    with site.daemon.counting(rpc_not_identified=1):
        done = subprocess.run([sys.executable, "-c", SENT_TO_ROOT, str(site.port)], check=True,
                              capture_output=True, text=True)
    reply = json.loads(done.stdout)
    assert reply["error"]["code"] == "not_identified", reply


def test_session_of_another_user_cannot_be_followed_or_cancelled(site, open_directory):
    running = site.daemon.dyno_started("gputrace", "--duration-ms", 1500, "--log-file",
                                       site.alice.file("s.json"), "--json", uid=ALICE)
    running.wait_until_said(": fetched")
    session = next(line.split("trace ")[1].split()[0]
                   for line in reversed(site.daemon.log().splitlines()) if "started by" in line)
    python, env = places.torch_python(BOB)
    code = ("import json, socket, struct, sys\n"
            "for fn in ('followTrace', 'cancelTrace', 'commitTrace'):\n"
            "  s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1])\n"
            "  b = json.dumps({'fn': fn, 'session': sys.argv[2], 'deadline_s': 0,\n"
            "                  'attended': True}).encode()\n"
            "  s.sendall(struct.pack('<i', len(b)) + b)\n"
            "  n, = struct.unpack('<i', s.recv(4, socket.MSG_WAITALL))\n"
            "  print(s.recv(n, socket.MSG_WAITALL).decode())\n")
    with site.daemon.counting(rpc_errors=3):
        done = subprocess.run([*python, "-c", code, os.path.join(site.daemon.run_dir,
                                                                 "dynolog.sock"), session],
                              user=BOB, group=BOB, extra_groups=[], check=True, cwd="/",
                              env={**os.environ, **env}, capture_output=True, text=True)
    for line in done.stdout.splitlines():
        assert json.loads(line)["error"]["code"] == "not_found", line
    assert len(done.stdout.splitlines()) == 3
    answer = running.finish()
    assert answer.code == 0, answer


# --- a daemon of a user's own ---

def test_user_mode_daemon(unstarted_daemon, job):
    """Started by a user without flags; `dyno` and jobs of that user find it."""
    runtime = places.short_directory(0o700, ALICE)
    env = {"XDG_RUNTIME_DIR": runtime}
    try:
        daemon = unstarted_daemon("--noenable_ipc_monitor", "--no_tcp", uid=ALICE, env=env,
                                  default_run_dir=True, run_dir=os.path.join(runtime, "dynolog"))
        daemon.launch()

        def ask(*arguments):
            return daemon.dyno(*arguments, uid=ALICE, env=env, where=[])
        until("the user's daemon", lambda: ask("status", "--json").code == 0)
        status = ask("status", "--json").json
        assert status["mode"] == "user" and status["run_dir"] == daemon.run_dir

        dyno = places.program("dyno")
        trained = job(uid=ALICE, extra={"KINETO_USE_DAEMON": None, **env},
                      wrap=lambda command: ["bash", "-c", f'eval "$({dyno} env)" && exec "$@"',
                                            "bash", *command]).wait_ready()
        until("the job", lambda: [r["pid"] for r in ask("ps", "--json").json["processes"]
                                  if r["command"]] == [trained.pid])
        answer = ask("gputrace", "--log-file", trained.file("t.json"), "--json")
        assert answer.code == 0, answer
        traces.assert_good(answer.json["processes"][0]["file"], answer.json["processes"][0])
        daemon.stop()
    finally:
        places.remove(runtime)


def test_root_is_told_whom_a_users_daemon_serves(daemon, job, shared_directory):
    served = daemon("--noenable_ipc_monitor", "--no_tcp", f"--kineto_socket_dir={shared_directory}",
                    uid=ALICE)
    trained = job(uid=ALICE, socket_dir=shared_directory).wait_ready()
    until("the job", lambda: [r["pid"] for r in served.processes(uid=ALICE)] == [trained.pid])
    note = f"the own one of uid {ALICE} and serves that user alone, not root"
    for arguments, code in ((("ps",), 0), (("gputrace", "--all"), 3), (("traces", "list"), 0),
                            (("doctor", "--pid", trained.pid), 3)):
        answer = served.dyno(*arguments, cwd=trained.directory)
        assert answer.code == code and note in answer.err, answer
        assert str(trained.pid) not in answer.out, answer
    assert note not in served.dyno("status").err
    assert note not in served.dyno("ps", uid=ALICE).err
