"""What `dyno doctor` says of real processes, daemons and hosts."""

import os
import signal
import subprocess
import sys
import types

import pytest

from harness import places
from harness.daemon import Daemon, identity
from harness.job import Job
from harness.namespaces import NetworkNamespace, child_of
from harness.posing import PosingJob
from harness.waiting import until

ALICE = 20001
BOB = 20002

BASE_CONFIGURATION = (
    "echo ON_DEMAND_CONFIG_UPDATE_INTERVAL_SECS=1 | sudo tee /etc/libkineto.conf, then start the "
    "job again; for a container, after that: docker run -v "
    "/etc/libkineto.conf:/etc/libkineto.conf:ro ..., or KINETO_CONFIG naming such a file in its "
    "image")


def findings(answer, pid=0, check=None, level=None):
    return [f for f in answer.json["findings"] if f["pid"] == pid
            and check in (None, f["check"]) and level in (None, f["level"])]


def text(found):
    return " ".join(found.get(name, "") for name in ("what", "why", "fix"))


def has_base_configuration():
    return os.path.exists("/etc/libkineto.conf") and os.path.getsize("/etc/libkineto.conf") > 0


def state_of(pid):
    with open(f"/proc/{pid}/stat") as file:
        return file.read().rsplit(")", 1)[1].split()[0]


def mounting(what):
    """As in a container: the command has a mount of its own."""
    return lambda command: ["unshare", "--mount", "sh", "-c", f'mount {what} && exec "$@"', "sh",
                            *command]


@pytest.fixture(scope="module")
def ward():
    """One daemon, and a job for each thing that may be wrong with one."""
    shared, other = places.short_directory(0o1777), places.short_directory(0o1777)
    closed = places.short_directory(0o755)
    daemon = Daemon("--noenable_ipc_monitor", "--no_tcp", f"--kineto_socket_dir={shared}",
                    f"--kineto_socket_dir={closed}")
    network = NetworkNamespace()
    jobs = {}

    def start(name, *arguments, **options):
        jobs[name] = Job("--pace", "0.3", *arguments, **options)  # many at once, so slowly

    try:
        daemon.start()
        start("good", socket_dir=shared)
        start("slow", socket_dir=shared, every=None)
        start("unset", extra={"KINETO_USE_DAEMON": None})
        start("empty", socket_dir=shared, extra={"KINETO_USE_DAEMON": ""})
        start("long", socket_dir=os.path.join(shared, "d" * 60))
        start("not_served", socket_dir=other)
        start("not_writable", socket_dir=closed, uid=ALICE)
        start("other_network", namespace=network)
        start("mounted_elsewhere", socket_dir=other,
              wrap=mounting(f"--bind {shared} {other}"))
        start("another_directory", socket_dir=shared, wrap=mounting(f"-t tmpfs none {shared}"))
        start("injected", socket_dir=shared, extra={"NVTX_INJECTION64_PATH": "/none.so"})
        start("forking", "--fork", socket_dir=shared)
        for each in jobs.values():
            each.wait_ready()
        for name in ("good", "slow", "empty", "injected", "forking"):
            daemon.wait_for(jobs[name].pid, state="idle")
        yield types.SimpleNamespace(daemon=daemon, shared=shared, closed=closed, **jobs)
    finally:
        for each in jobs.values():
            each.close()
        daemon.close()
        network.close()
        for path in (shared, other, closed):
            places.remove(path)


def ask(ward, pid, uid=None):
    answer = ward.daemon.dyno("doctor", "--pid", pid, "--json", "--timeout", 20, uid=uid)
    assert_each_says_what_to_do(answer)
    return answer


def assert_each_says_what_to_do(answer):
    for found in answer.json["findings"] if answer.out else []:
        well = found["level"] == "ok"
        assert well != bool(found.get("why")) and well != bool(found.get("fix")), found


def test_a_registered_process_is_well(ward):
    answer = ask(ward, ward.good.pid)
    assert answer.code == 0, answer
    (found,) = findings(answer, ward.good.pid, "registered")
    assert found["level"] == "ok" and "registered: idle" in found["what"], found
    assert "torch 2." in found["what"] and "train.py" in found["command"]
    assert not findings(answer, ward.good.pid, level="warning")


@pytest.mark.parametrize("name, check, said", [
    ("unset", "environment", "dyno env"),
    ("long", "socket_dir", "54"),
    ("not_served", "socket_dir", "not served by this daemon"),
    ("not_writable", "socket_dir", "not writable"),
    ("mounted_elsewhere", "socket_dir", "under another path"),
    ("another_directory", "socket_dir", "not the directory of the host"),
    ("other_network", "network", "docker run -v {served}:{served} "
     "-v /etc/libkineto.conf:/etc/libkineto.conf:ro -e KINETO_USE_DAEMON=1 "
     "-e KINETO_IPC_SOCKET_DIR={served} ..."),
    ("other_network", "network", "in a pod: volumes: [{{name: dynolog, hostPath: {{path: {served}, "
     "type: Directory}}}}, "),
])
def test_why_a_process_has_not_called(ward, name, check, said):
    job = getattr(ward, name)
    assert ward.daemon.process_of(job.pid) is None
    answer = ask(ward, job.pid)
    assert answer.code == 1, answer
    broken = findings(answer, job.pid, level="broken")
    assert {f["check"] for f in broken} == {check}, answer
    said = said.format(served=min(ward.shared, ward.closed))
    assert any(said in text(f) for f in broken), broken
    assert not findings(answer, job.pid, "registered"), "it is explained"
    if name == "other_network":
        first = broken[0]["fix"].startswith("echo ON_DEMAND_CONFIG_UPDATE_INTERVAL_SECS=1 | sudo ")
        assert first != has_base_configuration(), broken


def test_a_forked_worker(ward):
    child = child_of(ward.forking.pid)
    answer = ask(ward, child)
    assert answer.code == 1, answer
    (found,) = findings(answer, child, level="broken")
    assert found["check"] == "forked" and f"process {ward.forking.pid}" in found["what"], found
    answer = ask(ward, ward.forking.pid)
    assert answer.code == 0 and findings(answer, ward.forking.pid, "registered", "ok"), answer


def test_what_works_with_a_risk(ward):
    answer = ask(ward, ward.empty.pid)
    assert answer.code == 0, answer
    assert "optimizer steps" in text(findings(answer, ward.empty.pid, "iterations", "warning")[0])
    answer = ask(ward, ward.injected.pid)
    (found,) = findings(answer, ward.injected.pid, "profiler", "warning")
    assert "NVTX_INJECTION64_PATH" in found["what"]


def test_slow_calls_are_offered_the_base_configuration(ward):
    until("a rhythm", lambda: ward.daemon.process_of(ward.slow.pid).get("poll_period_s"))
    answer = ask(ward, ward.slow.pid)
    (found,) = findings(answer, ward.slow.pid, "poll_interval")
    assert found["level"] == "note"
    assert found["fix"] == BASE_CONFIGURATION


def test_everything_at_once_with_the_problems_first(ward):
    answer = ward.daemon.dyno("doctor", "--timeout", 20)
    assert answer.code == 1, answer
    levels = [line.split()[0] for line in answer.out.splitlines()
              if line and not line.startswith((" ", "Nothing")) and not line[0].isdigit()]
    order = ["broken", "warning", "note", "ok"]
    assert levels == sorted(levels, key=order.index), answer
    for name in ("unset", "long", "not_served", "not_writable", "other_network", "good", "slow"):
        assert str(getattr(ward, name).pid) in answer.out, name
    assert "things are broken" in answer.out.splitlines()[-1]


def trace(ward, scratch, *options, uid=None):
    answer = ward.daemon.dyno("gputrace", "--duration-ms", 200, "--log-file",
                              os.path.join(scratch, "t.json"), "--json", "--timeout", 20, *options,
                              uid=uid)
    assert_each_says_what_to_do(answer)
    return answer


def test_a_trace_says_why_another_pid_is_not_among_them(ward, scratch):
    pids = f"{ward.good.pid},{ward.unset.pid}"
    answer = trace(ward, scratch, "--pids", pids)
    assert answer.code == 4, answer
    assert [row["state"] for row in answer.json["processes"]] == ["delivered"], answer
    (found,) = findings(answer, ward.unset.pid)
    assert found["check"] == "environment" and found["level"] == "broken", found
    assert f"{found['what']} -> {found['fix']}" in answer.err and str(ward.unset.pid) in answer.err
    answer = trace(ward, scratch, "--pids", pids, "--no-wait")
    assert answer.code == 4 and findings(answer, ward.unset.pid, "environment", "broken"), answer
    ward.daemon.wait_for(ward.good.pid, state="idle")


def test_a_success_has_nothing_to_explain(ward, scratch):
    answer = trace(ward, scratch, "--pids", ward.good.pid)
    assert answer.code == 0 and answer.json["findings"] == [], answer


def test_a_job_that_is_not_here(ward, scratch):
    answer = trace(ward, scratch, "--job-id", "no-such-job")
    assert answer.code == 3, answer
    (found,) = findings(answer, 0, "processes", "broken")
    assert "no process of job no-such-job" in found["what"] and "dyno ps" in found["fix"], found
    assert f"{found['what']} -> {found['fix']}" in answer.err, answer


def test_where_nothing_matched_only_what_can_be_why_is_told(ward, scratch):
    """Not what this host lacks besides: a clock, real-time priority, /etc/libkineto.conf."""
    def pids_told(*options):
        answer = trace(ward, scratch, *options)
        assert answer.code == 3 and "no process matched" in answer.err, answer
        of_host = {f["check"] for f in findings(answer)}
        assert of_host <= {"endpoint", "capability", "processes"}, answer
        return {f["pid"] for f in answer.json["findings"]} - {0}

    assert pids_told("--gpu", 0) == set()
    assert pids_told("--user", BOB) == set()
    # One that does not call in may be the one that was meant.
    assert pids_told("--user", ALICE) == {ward.not_writable.pid}


def test_a_trace_says_nothing_of_others_processes(ward, scratch):
    own = trace(ward, scratch, "--pids", ward.not_writable.pid, uid=ALICE)
    assert own.code == 3 and findings(own, ward.not_writable.pid, "socket_dir", "broken"), own
    answer = trace(ward, scratch, "--pids", ward.not_writable.pid, uid=BOB)
    assert answer.code == 3, answer
    (found,) = answer.json["findings"]
    assert found["what"] == "there is no such process, or it is not yours", answer
    none = subprocess.Popen(["true"])
    none.wait()
    (other,) = trace(ward, scratch, "--pids", none.pid, uid=BOB).json["findings"]
    assert {**other, "pid": found["pid"]} == found, "whether it is there is not told"


def test_a_stopped_process(ward):
    ward.good.signal(signal.SIGSTOP)
    try:
        until("it to stand still",
              lambda: ward.daemon.process_of(ward.good.pid)["state"] == "stalled")
        answer = ask(ward, ward.good.pid)
        assert answer.code == 1, answer
        (found,) = findings(answer, ward.good.pid, level="broken")
        assert found["fix"] == f"kill -CONT {ward.good.pid}", found
    finally:
        ward.good.signal(signal.SIGCONT)
    ward.daemon.wait_for(ward.good.pid, state="idle")


def test_a_profiler_of_its_own(ward):
    ward.good.tell("profile", reply="profiling")
    try:
        ward.daemon.wait_for(ward.good.pid, state="busy")
        answer = ask(ward, ward.good.pid)
        assert answer.code == 0, answer
        assert "torch.profiler" in text(findings(answer, ward.good.pid, "busy", "warning")[0])
    finally:
        ward.good.tell("unprofile", reply="profiled")
    ward.daemon.wait_for(ward.good.pid, state="idle")


def test_a_user_is_told_of_own_processes_only(ward):
    answer = ask(ward, ward.not_writable.pid, uid=ALICE)
    assert answer.code == 1, answer
    assert findings(answer, ward.not_writable.pid, "socket_dir", "broken")
    assert ask(ward, ward.not_writable.pid, uid=BOB).code == 3
    assert ask(ward, ward.unset.pid, uid=ALICE).code == 3
    answer = ward.daemon.dyno("doctor", "--json", "--timeout", 20, uid=ALICE)
    assert {f["pid"] for f in answer.json["findings"]} == {0, ward.not_writable.pid}, answer


def test_what_is_not_there_and_what_is_no_pytorch(ward):
    ended = subprocess.Popen(["true"])
    ended.wait()
    answer = ask(ward, ended.pid)
    assert answer.code == 3 and str(ended.pid) in answer.err, answer
    answer = ask(ward, ward.daemon.pid)  # too old to be importing it
    assert answer.code == 1, answer
    assert "libtorch_cpu.so" in findings(answer, ward.daemon.pid, level="broken")[0]["what"]
    assert ward.daemon.dyno("doctor", "--job", "no-such-job", "--timeout", 20).code == 3
    ended = subprocess.Popen(["true"])
    until("a process that nobody waits for", lambda: state_of(ended.pid) == "Z")
    (found,) = findings(ask(ward, ended.pid), ended.pid)
    ended.wait()
    assert found["check"] == "state" and "it has ended" in found["what"], found


def test_the_daemon_and_its_host(ward):
    answer = ward.daemon.dyno("doctor", "--json", "--timeout", 20)
    assert_each_says_what_to_do(answer)
    host = {f["check"]: f for f in findings(answer)}
    for check in ("daemon", "rpc", "endpoint", "disk", "clock", "base_configuration"):
        assert check in host, (check, answer)
    assert "dynolog" in host["daemon"]["what"] and str(ward.daemon.pid) in host["daemon"]["what"]
    assert host["rpc"]["level"] == "ok" and host["endpoint"]["level"] == "ok"
    assert host["base_configuration"]["level"] == ("ok" if has_base_configuration() else "warning")


@pytest.fixture
def posing(ward):
    """Factory: a process that looks like PyTorch of this version to the ward's daemon."""
    made = []

    def make(version, **options):
        made.append(PosingJob(ward.shared, version, **options))
        made[-1].wait_ready()
        if options.get("behaviour"):
            ward.daemon.wait_for(made[-1].pid, torch_version=version)
        return made[-1]
    yield make
    for each in made:
        each.close()


@pytest.mark.parametrize("version, kind, said, to_do", [
    ("1.13.1", {"cuda": True}, "too old", "use PyTorch 2.0"),
    ("2.2.2+cpu", {}, "built without CUDA", "use PyTorch 2.7"),
    ("2.5.1+cu121", {"cuda": True}, "holds no GPU yet", "wait until it uses the GPU"),
    ("2.3.1+cu121", {"cuda": True, "gpu": True}, "kineto/issues/1032", "use PyTorch 2.7"),
    ("2.6.0+cu124", {"cuda": True, "gpu": True}, "kineto/issues/1032", "use PyTorch 2.7"),
])
def test_versions_that_do_not_call(ward, posing, version, kind, said, to_do):
    job = posing(version, **kind)
    answer = ask(ward, job.pid)
    assert answer.code == 1, answer
    (found,) = findings(answer, job.pid, level="broken")
    assert found["check"] == "version" and f"torch {version} " in found["what"], found
    assert said in text(found) and to_do in found["fix"], found
    crashes = findings(answer, job.pid, "version", "warning")
    assert bool(crashes) == version.startswith("2.3"), answer


@pytest.mark.parametrize("version", ["2.7.1+cu126", "2.9.1+cpu"])
@pytest.mark.parametrize("behaviour", ["good", None])
def test_versions_that_crash_beside_a_daemon(ward, posing, version, behaviour):
    job = posing(version, behaviour=behaviour)
    (found,) = findings(ask(ward, job.pid), job.pid, "base_configuration", "warning")
    assert f"torch {version} " in found["what"] and "issues/163545" in found["why"], found
    assert found["fix"] == BASE_CONFIGURATION
    config = os.path.join(job.directory, "kineto.conf")
    with open(config, "w") as file:
        file.write("ON_DEMAND_CONFIG_UPDATE_INTERVAL_SECS=1\n")
    safe = posing(version, behaviour=behaviour, env={"KINETO_CONFIG": config})
    assert not findings(ask(ward, safe.pid), safe.pid, "base_configuration"), "it is there"


@pytest.mark.parametrize("version, said", [
    ("2.1.2+cu121", "pytorch/issues/131020"),
    ("2.6.0a0+ecf3bae40a.nv25.01", "container 25.01"),
    ("2.7.0a0+ecf3bae40a.nv25.02", "dynolog/issues/353"),
])
def test_builds_that_are_known_to_crash(ward, posing, version, said):
    job = posing(version, cuda=True, behaviour="good")
    (found,) = findings(ask(ward, job.pid), job.pid, "version", "warning")
    assert said in text(found), found


def test_where_a_version_may_write(ward, posing):
    rule = ["KINETO_ONDEMAND_TRACE_DIR"]
    job = posing("2.14.1", behaviour="good", names=rule)
    (found,) = findings(ask(ward, job.pid), job.pid, "output_dir")
    assert found["level"] == "note" and "below /tmp only" in found["what"], found
    assert "KINETO_ONDEMAND_TRACE_DIR=DIR" in found["fix"], found
    closed = places.short_directory(0o755)
    try:
        named = {"KINETO_ONDEMAND_TRACE_DIR": closed}
        refused = posing("2.14.1", behaviour="good", names=rule, env=named, uid=ALICE)
        answer = ask(ward, refused.pid)
        assert answer.code == 1, answer
        (found,) = findings(answer, refused.pid, "output_dir", "broken")
        assert found["what"] == (f"it cannot write to KINETO_ONDEMAND_TRACE_DIR={closed}: {closed} "
                                 f"is not writable for uid {ALICE}"), found
        older = posing("2.13.0", behaviour="good", env=named, uid=ALICE)
        assert not findings(ask(ward, older.pid), older.pid, "output_dir"), "it knows no such rule"
    finally:
        places.remove(closed)


class WithoutCapabilities:
    """Runs a command with the rights of root, but for these."""

    def __init__(self, *names):
        self.dropped = ",".join(f"-{name}" for name in names)

    def inside(self, command):
        return ["setpriv", f"--bounding-set={self.dropped}", f"--inh-caps={self.dropped}", "--",
                *command]


def test_what_the_daemon_may_not_look_into_is_not_judged(daemon):
    # With CAP_PERFMON the kernel shows what is mapped, and CAP_SYS_ADMIN includes that.
    served = daemon("--noenable_ipc_monitor", "--no_tcp",
                    namespace=WithoutCapabilities("sys_ptrace", "perfmon", "sys_admin"))
    with subprocess.Popen(["sleep", "600"], cwd="/", **identity(ALICE)) as other:
        try:
            answer = served.dyno("doctor", "--pid", other.pid, "--json", "--timeout", 20)
            assert_each_says_what_to_do(answer)
            (found,) = findings(answer, other.pid)
            assert found["level"] == "warning" and "may not look into it" in found["what"], found
            assert "CAP_SYS_PTRACE" in found["fix"] and "own user" in found["fix"], found
            answer = served.dyno("doctor", "--json", "--timeout", 20)
            assert any("may not look into" in f["what"]
                       for f in findings(answer, 0, "processes", "warning")), answer
            own = daemon("--noenable_ipc_monitor", "--no_tcp", uid=ALICE)
            answer = own.dyno("doctor", "--pid", other.pid, "--json", "--timeout", 20, uid=ALICE)
            assert "no libtorch_cpu.so" in findings(answer, other.pid)[0]["what"], answer
            # Root with more rights than the daemon has: it cannot tell whose root that is.
            served.namespace = None
            answer = served.dyno("doctor", "--pid", other.pid, "--timeout", 20)
            assert answer.code == 3 and "could not be looked at" in answer.err, answer
            assert "CAP_SYS_PTRACE" in answer.err, answer
        finally:
            other.kill()


def test_each_right_that_the_daemon_lacks_and_what_for(daemon):
    served = daemon("--noenable_ipc_monitor", "--no_tcp",
                    namespace=WithoutCapabilities("sys_ptrace", "setuid"))
    served.namespace = None  # the command has all of them
    answer = served.dyno("doctor", "--json", "--timeout", 20)
    assert_each_says_what_to_do(answer)
    told = {f["what"]: f for f in findings(answer, 0, "capability")}
    assert set(told) == {"the daemon lacks CAP_SYS_PTRACE", "the daemon lacks CAP_SETUID"}, answer
    assert "other users' processes" in told["the daemon lacks CAP_SYS_PTRACE"]["why"]
    assert "as their owners" in told["the daemon lacks CAP_SETUID"]["why"]
    assert all("CapabilityBoundingSet=" in f["fix"] for f in told.values()), told


def test_a_users_own_daemon_knows_its_own(daemon):
    served = daemon("--noenable_ipc_monitor", "--no_tcp", uid=ALICE)
    answer = served.dyno("doctor", "--json", "--timeout", 20, uid=ALICE)
    assert_each_says_what_to_do(answer)
    (found,) = findings(answer, 0, "daemon", "note")
    assert "a user's own" in found["what"] and "systemctl start dynolog" in found["fix"], found
    assert not findings(answer, 0, "capability"), "it needs none"


HOLD = """
import socket, sys
held = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
held.bind(b"\\0dynolog\\0")
print("held", flush=True)
sys.stdin.read()
"""


def test_who_holds_the_abstract_name_is_told_to_root_only(network, daemon, job):
    holder = subprocess.Popen(network.inside([sys.executable, "-c", HOLD]), stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE)
    try:
        assert holder.stdout.readline() == b"held\n"
        served = daemon("--no_tcp", namespace=network)
        answer = served.dyno("doctor", "--json", "--timeout", 20)
        assert answer.code == 1, answer
        (found,) = findings(answer, 0, "endpoint", "broken")
        assert f"process {holder.pid} (python" in found["what"], found
        assert found["fix"].startswith("end the other daemon; this one takes the name"), found
        calling = job(namespace=network).wait_ready()
        answer = served.dyno("doctor", "--json", "--timeout", 20, "--pid", calling.pid)
        assert answer.code == 1, answer
        (found,) = findings(answer, calling.pid, "network", "broken")
        assert f"process {holder.pid} (python" in found["what"], found
        assert found["fix"].startswith("end the other daemon; this one takes the name"), found
        assert "enable_ipc_monitor" not in text(found), "it was started with that"
        served.namespace = None  # the unix socket is reached from everywhere, by users too
        answer = served.dyno("doctor", "--json", "--timeout", 20, uid=ALICE)
        (found,) = findings(answer, 0, "endpoint", "broken")
        assert str(holder.pid) not in text(found) and "another process" in found["what"], found
        assert "ss -xap | grep @dynolog" in found["fix"], found
    finally:
        holder.stdin.close()
        holder.wait()
        holder.stdout.close()


def test_without_a_daemon_the_installation_is_looked_at(unstarted_daemon):
    answer = unstarted_daemon().dyno("doctor", "--json")
    assert answer.code == 1, answer
    assert_each_says_what_to_do(answer)
    (found,) = findings(answer, 0, "daemon", "broken")
    assert "no dynolog daemon answers" in found["what"] and "dynolog --run_dir" in found["fix"]
    (found,) = findings(answer, 0, "installation")
    assert found["level"] == "ok" and found["what"].endswith("/dynolog"), found
    assert "needs a daemon" in answer.err


def test_the_packaged_base_configuration_is_understood(daemon, job, shared_directory):
    """Comments and all: PyTorch then calls every second."""
    packaged = places.published(places.REPOSITORY / "packaging/libkineto.conf")
    served = daemon("--noenable_ipc_monitor", "--no_tcp", f"--kineto_socket_dir={shared_directory}")
    trained = job(socket_dir=shared_directory, every=None, extra={"KINETO_CONFIG": packaged})
    trained.wait_ready()
    served.wait_for(trained.pid, state="idle")
    row = until("polls each second", lambda: (
        lambda r: r if 0.5 < r.get("poll_period_s", 0) < 2 else None)(
            served.process_of(trained.pid)))
    assert row["state"] in ("idle", "stalled")
