"""The daemon with the rights that the packaged unit leaves it, and with none at all."""

import os
import pathlib
import re
import shutil
import subprocess

import pytest

from harness import places
from harness.daemon import Daemon
from harness.kineto_job import KinetoJob
from harness.page import page_url
from harness.waiting import until

ALICE = 20001
BOB = 20002
DAEMON_USER = 20900
PACKAGING = pathlib.Path(places.REPOSITORY) / "packaging"
UNIT = (PACKAGING / "systemd/dynolog.service.in").read_text()
DROP_IN = (PACKAGING / "systemd/unprivileged.conf.in").read_text().replace("\\\n", " ")


def setting(name, text=UNIT):
    return re.findall(rf"(?m)^{name}=(.*)$", text)


def may(*limits):
    return subprocess.run(["prlimit", *limits, "true"], capture_output=True).returncode == 0


class UnitDaemon(Daemon):
    """As systemd starts it: the unit's capabilities and limits, and no way to more."""

    def command(self):
        capabilities = [name.lower().removeprefix("cap_")
                        for name in " ".join(setting("CapabilityBoundingSet")).split()]
        priority = f"--rtprio={setting('LimitRTPRIO')[0]}"
        limits = [priority] if may(priority) else []
        if not limits:  # not root enough to raise limits: what else permits the priority
            capabilities.append("sys_nice")
        return ["prlimit", "--core=0", *limits, "setpriv", "--no-new-privs", "--inh-caps=-all",
                "--bounding-set=" + ",".join(["-all", *(f"+{name}" for name in capabilities)]),
                *super().command()]


class UnprivilegedDaemon(Daemon):
    """As the drop-in starts it: the user's id, no capability, its own flags."""

    def __init__(self, network, *flags, run_dir=None):
        self.network = network
        directory = places.short_directory(0o755)
        # As tmpfiles.d does for that user.
        made = () if run_dir else (("r", 0o755), ("r/kineto", 0o1777), ("r/u", 0o711))
        for name, mode in (*made, ("s", 0o755)):
            os.mkdir(os.path.join(directory, name))
            os.chown(os.path.join(directory, name), DAEMON_USER, DAEMON_USER)
            os.chmod(os.path.join(directory, name), mode)
        os.chown(directory, DAEMON_USER, DAEMON_USER)
        (line,) = [value for value in setting("ExecStart", DROP_IN) if value]
        own = [flag for flag in line.split()[1:]
               if not flag.startswith(("--run_dir", "--state_dir", "--config"))]
        super().__init__(*own, *flags, directory=directory, run_dir=run_dir)
        self.owns_directory = True
        self.flags.append(f"--kineto_socket_dir={self.shared}")

    def command(self):
        # The unit's limit: without root it takes no more for real-time answers.
        priority = f"--rtprio={setting('LimitRTPRIO')[0]}"
        limited = ["prlimit", priority] if may(priority) else []
        return self.network.inside(
            [*limited, "setpriv", f"--reuid={DAEMON_USER}", f"--regid={DAEMON_USER}",
             "--clear-groups", "--bounding-set=-all", "--no-new-privs", *super().command()])

    @property
    def shared(self):
        return os.path.join(self.run_dir, "kineto")


@pytest.fixture(scope="module")
def unit_daemon():
    daemon = UnitDaemon("--noenable_ipc_monitor", "--no_tcp").start()
    yield daemon
    daemon.close()


@pytest.fixture
def unprivileged(network):
    daemon = UnprivilegedDaemon(network, "--no_tcp").start()
    yield daemon
    daemon.close()


@pytest.fixture
def started():
    """Factory: a job, ready."""
    made = []

    def start(*arguments, **options):
        made.append(KinetoJob(*arguments, **options))
        return made[-1].wait_ready()
    yield start
    for job in made:
        job.close()


def user_directory(daemon, uid):
    answer = daemon.dyno("env", "--json", uid=uid)
    assert answer.code == 0, answer
    return answer.json["environment"].get("KINETO_IPC_SOCKET_DIR")


def trace(daemon, job, log_file, uid=None):
    return daemon.dyno("gputrace", "--pids", job.pid, "--duration-ms", 200, "--log-file", log_file,
                       "--json", uid=uid)


# --- the unit's rights are enough ---

def test_no_capability_is_missing(unit_daemon):
    answer = unit_daemon.dyno("doctor", "--json")
    assert "lacks CAP_" not in answer.out, answer
    (realtime,) = unit_daemon.feature("kineto:realtime")
    assert realtime["state"] == "ok", realtime


def test_users_trace_own_jobs_and_own_the_files(unit_daemon, started):
    for uid in (ALICE, BOB):
        job = started(user_directory(unit_daemon, uid), uid=uid, env={"RANK": "3"})
        row = unit_daemon.wait_for(job.pid, state="idle", uid=uid)
        assert row["rank"] == 3  # read from another user's environ
        answer = trace(unit_daemon, job, job.file("t.json"), uid=uid)
        assert answer.code == 0, answer
        (update,) = answer.json["processes"]
        assert update["state"] == "delivered" and update["checked"], update
        info = os.stat(update["file"])
        assert (info.st_uid, info.st_nlink) == (uid, 1)


def test_root_brings_a_users_trace(unit_daemon, started, scratch):
    job = started(user_directory(unit_daemon, ALICE), uid=ALICE)
    unit_daemon.wait_for(job.pid, state="idle")
    answer = unit_daemon.dyno("gputrace", "--pids", job.pid, "--duration-ms", 200, "--output",
                              scratch, "--json")
    assert answer.code == 0, answer
    (update,) = answer.json["processes"]
    assert os.path.dirname(update["file"]) == scratch and os.stat(update["file"]).st_uid == 0


# --- what gives jobs their variables, with the real programs ---

EVERYBODYS_PLACE = """
mount --make-rprivate / && mount -t tmpfs -o mode=755 tmpfs /run && mkdir /run/dynolog &&
mount --bind "$0" /run/dynolog && exec "$@"
"""


def as_alice_on_the_host(daemon, command, env=()):
    """Her process, which sees this daemon in the system's place."""
    path = f"{os.path.dirname(places.program('dyno'))}:/usr/bin:/bin"
    return subprocess.run(
        ["unshare", "--mount", "sh", "-c", EVERYBODYS_PLACE, daemon.run_dir,
         "setpriv", f"--reuid={ALICE}", f"--regid={ALICE}", "--clear-groups", "--",
         "env", "-i", f"PATH={path}", *env, *command],
        capture_output=True, text=True, timeout=60, cwd="/")


def test_task_prolog_gives_the_users_directory(unit_daemon):
    answer = as_alice_on_the_host(
        unit_daemon, [places.published(PACKAGING / "containers/slurm/task-prolog")])
    assert (answer.returncode, answer.stderr) == (0, ""), answer
    own = f"{unit_daemon.run_dir}/u/{ALICE}"
    assert answer.stdout == f"export KINETO_USE_DAEMON=1\nexport KINETO_IPC_SOCKET_DIR={own}\n"


def test_enroot_hook_gives_the_users_directory_from_a_user_namespace(unit_daemon, scratch):
    """enroot runs its hooks in a user namespace of the user's own, where that user is root."""
    environ = os.path.join(scratch, "environ")
    pathlib.Path(environ).write_text("A=1\n")
    os.chown(environ, ALICE, ALICE)
    hook = places.published(PACKAGING / "containers/enroot/50-dynolog.sh")
    as_root_of_her_own = ["unshare", "--user", "--mount", "--map-root-user"]
    if as_alice_on_the_host(unit_daemon, [*as_root_of_her_own, "true"]).returncode != 0:
        pytest.skip("this kernel lets users make no user namespaces")
    answer = as_alice_on_the_host(unit_daemon, [*as_root_of_her_own, hook],
                                  env=[f"ENROOT_ENVIRON={environ}"])
    assert (answer.returncode, answer.stderr) == (0, ""), answer
    assert pathlib.Path(environ).read_text() == (
        "A=1\nKINETO_USE_DAEMON=1\n"
        f"KINETO_IPC_SOCKET_DIR={unit_daemon.run_dir}/u/{ALICE}\n")


# --- without any: each row of the table in docs/install.md ---

def row_of(daemon, pid, uid):
    return until(f"process {pid}", lambda: daemon.process_of(pid, uid=uid))


def test_without_rights_metrics_and_both_endpoints(unprivileged):
    assert unprivileged.status()["mode"] == "user"
    for name in ("kineto:abstract", f"kineto:{unprivileged.shared}", "trace-store", "rpc:unix"):
        (feature,) = unprivileged.feature(name)
        assert feature["state"] == "ok", feature
    def read():
        return {each["name"]: each for each in unprivileged.status()["collectors"]
                if each["successes"] + each["failures"] > 0}
    until("every collector", lambda: len(read()) == len(unprivileged.status()["collectors"]))
    collectors = read()
    # What this machine has not, root does not see either. Rights are what these lack, no others.
    refused = {each["name"] for each in collectors.values()
               if each["failures"] and "ermission" in each["last_error"]}
    assert refused <= {"mountstats", "rapl"}
    for name in ("cpu", "diskstats", "load", "meminfo", "netdev", "self", "vmstat"):
        assert collectors[name]["successes"] > 0 and not collectors[name]["failures"], name


def test_without_rights_answers_are_real_time(unprivileged):
    if not may(f"--rtprio={setting('LimitRTPRIO')[0]}"):
        pytest.skip("limits cannot be raised here")
    (realtime,) = unprivileged.feature("kineto:realtime")
    assert realtime["state"] == "ok", realtime


def test_without_rights_sinks_and_history(network):
    daemon = UnprivilegedDaemon(network, "--no_tcp", "--use_history", "--prometheus_port=0")
    lines = os.path.join(daemon.directory, "lines")
    daemon.flags += ["--use_JSON", f"--json_file={lines}", "--json_interval_s=1"]
    try:
        daemon.start()
        def scraped():
            page = network.run("curl", "--silent", page_url(daemon), capture_output=True, text=True)
            return "node_memory_MemTotal_bytes" in page.stdout
        until("the page", scraped)
        until("a line", lambda: os.path.exists(lines) and os.path.getsize(lines) > 0)
        assert os.stat(lines).st_uid == DAEMON_USER
        def kept():
            answer = daemon.dyno("metrics", "query", "memory.limit", "--newest", "--json")
            return answer.code == 0 and answer.json["results"][0]["series"]
        until("the history", kept)
        (feature,) = daemon.feature("history")
        assert feature["state"] == "ok", feature
        assert os.stat(os.path.join(daemon.state_dir, "history/history.db")).st_uid == DAEMON_USER
    finally:
        daemon.close()


@pytest.mark.skipif(not shutil.which("systemd-tmpfiles"), reason="needs systemd-tmpfiles")
def test_from_a_daemon_of_root_to_one_without_rights_and_back(unstarted_daemon, network, started,
                                                              scratch):
    """What the drop-in's first lines have one do, with the daemons' directories in `scratch`."""
    run_dir, state_dir = (os.path.join(scratch, name) for name in ("d", "s"))
    shared = os.path.join(run_dir, "kineto")
    os.mkdir(state_dir)

    def take_over(rules, uid):
        text = (PACKAGING / "systemd" / rules).read_text().replace("/run/dynolog", run_dir)
        path = os.path.join(scratch, "dynolog.conf")
        pathlib.Path(path).write_text(re.sub(r"\bdynolog +dynolog\b", f"{uid} {uid}", text))
        done = subprocess.run(["systemd-tmpfiles", "--create", path], capture_output=True,
                              text=True)
        assert (done.returncode, done.stderr) == (0, ""), done
        # As systemd does with StateDirectory= when User= is another.
        subprocess.run(["chown", "-R", f"{uid}:{uid}", state_dir], check=True)

    def serves(daemon):
        daemon.state_dir = state_dir
        daemon.start()
        try:
            row_of(daemon, job.pid, ALICE)
            answer = trace(daemon, job, job.file("t.json"), uid=ALICE)
            assert answer.code == 0, answer
        finally:
            daemon.stop()

    def of_root():
        return unstarted_daemon("--noenable_ipc_monitor", "--no_tcp",
                                f"--kineto_socket_dir={shared}", run_dir=run_dir)

    take_over("tmpfiles.conf", 0)
    job = started(shared, uid=ALICE)
    serves(of_root())
    take_over("unprivileged-tmpfiles.conf", DAEMON_USER)
    without = UnprivilegedDaemon(network, "--no_tcp", run_dir=run_dir)
    try:
        serves(without)
    finally:
        without.close()
    take_over("tmpfiles.conf", 0)
    serves(of_root())


def test_without_rights_users_see_own_processes_without_rank(unprivileged, started):
    job = started(unprivileged.shared, uid=ALICE, env={"RANK": "3"})
    row = row_of(unprivileged, job.pid, ALICE)
    assert row["uid"] == ALICE and "kineto_job.py" in row["command"]
    assert "rank" not in row
    assert any("environ" in reason for reason in row["missing"]), row
    assert unprivileged.processes(uid=BOB) == []
    # Nor does root see others': this daemon is a user's own.
    assert unprivileged.processes() == []


def test_without_rights_traces_are_left_where_kineto_writes_and_dyno_checks_them(
        unprivileged, started):
    job = started(unprivileged.shared, uid=ALICE)
    row_of(unprivileged, job.pid, ALICE)
    answer = trace(unprivileged, job, job.file("t.json"), uid=ALICE)
    assert answer.code == 0, answer
    (update,) = answer.json["processes"]
    assert update["file"] == job.file(f"t_{job.pid}.json") and update["whole"], update
    assert any("checked by dyno" in note for note in update["notes"]), update


def test_without_rights_nothing_is_brought(unprivileged, started, shared_directory):
    job = started(unprivileged.shared, uid=ALICE)
    row_of(unprivileged, job.pid, ALICE)
    answer = unprivileged.dyno("gputrace", "--pids", job.pid, "--output", shared_directory,
                               uid=ALICE)
    assert answer.code == 4, answer
    assert "name a path with --log-file" in answer.out + answer.err, answer
    assert os.listdir(shared_directory) == []


def test_without_rights_no_directory_for_each_user(unprivileged):
    answer = unprivileged.dyno("env", uid=ALICE)
    assert "KINETO_IPC_SOCKET_DIR" not in answer.out, answer
    assert not os.path.exists(os.path.join(unprivileged.run_dir, "u", str(ALICE), "dynolog"))


# --- directories that containers have mounted ---

@pytest.mark.skipif(not shutil.which("systemd-tmpfiles"), reason="needs systemd-tmpfiles")
def test_a_mounted_socket_directory_outlives_restarts(unstarted_daemon, started, scratch):
    """A mount in another namespace is of the directory, not of its name: it must stay the same."""
    lines = (PACKAGING / "systemd/tmpfiles.conf").read_text()
    rules = os.path.join(scratch, "dynolog.conf")
    pathlib.Path(rules).write_text(lines.replace("/run/dynolog", f"{scratch}/d"))

    def boot():
        subprocess.run(["systemd-tmpfiles", "--create", "--clean", rules], check=True)

    boot()
    shared = os.path.join(scratch, "d/kineto")
    daemon = unstarted_daemon("--noenable_ipc_monitor", "--no_tcp", f"--kineto_socket_dir={shared}",
                              run_dir=os.path.join(scratch, "d")).start()
    # The container sees that directory alone of all that is there.
    mounts = ('mount --bind "$0" /mnt && mount -t tmpfs tmpfs "$1" && mkdir -p "$0" && '
              'mount --move /mnt "$0" && shift && exec "$@"')
    job = started(shared, wrap=lambda command: [
        "unshare", "--mount", "--propagation", "private", "sh", "-c", mounts, shared, scratch,
        *command])
    inode = os.stat(shared).st_ino
    for _ in range(2):
        daemon.wait_for(job.pid, state="idle")
        daemon.stop()
        boot()  # as an upgrade of the package does
        daemon.start()
    assert os.stat(shared).st_ino == inode
    daemon.wait_for(job.pid, state="idle")
    answer = trace(daemon, job, job.file("t.json"))
    assert answer.code == 0, answer
