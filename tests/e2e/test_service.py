"""The daemon as a service: what systemd hears and keeps, reloads, its log, its own cost."""

import os
import select
import signal
import socket
import stat
import subprocess

import pytest

from conftest import QUIET
from harness import datagrams, places
from harness.daemon import tcp_port
from harness.job import descendants
from harness.otlp import OtlpReceiver
from harness.service_manager import ManagedDaemon, ServiceManager
from harness.waiting import until

ALICE = 20001


@pytest.fixture
def manager():
    made = ServiceManager()
    yield made
    made.close()


@pytest.fixture
def managed(manager):
    """Factory: a daemon that the manager starts, not yet started."""
    made = []

    def create(*flags, **options):
        made.append(ManagedDaemon(manager, *flags, **options))
        return made[-1]
    yield create
    for daemon in reversed(made):
        daemon.close()


def config_of(directory, text):
    path = os.path.join(directory, "dynolog.toml")
    with open(path, "w") as file:
        file.write(text)
    return path


def reload(daemon):
    """SIGHUP, and what `dyno status` says of it: (state, sentence)."""
    before = daemon.log().count("SIGHUP: ")
    daemon.process.send_signal(signal.SIGHUP)
    until("the reload's line", lambda: daemon.log().count("SIGHUP: ") > before)
    (feature,) = daemon.feature("configuration")
    return feature["state"], feature["reason"]


# --- what the service manager hears ---

def test_ready_status_line_and_end(manager, managed, shared_directory, kineto_client):
    daemon = managed(*QUIET, f"--kineto_socket_dir={shared_directory}").start()
    # Ready means that all listens: nothing is tried again here.
    assert daemon.dyno("status").code == 0
    assert os.path.exists(os.path.join(shared_directory, "dynolog"))
    assert manager.words("STATUS")[-1].startswith("0 processes, 0 trace sessions")
    kineto_client(shared_directory).poll()
    manager.wait_for("STATUS", "1 process, 0 trace sessions")
    daemon.stop()
    assert manager.words("STOPPING") == ["1"]


def test_what_is_degraded_is_in_the_line(manager, managed, scratch):
    nowhere = os.path.join(scratch, "none")
    managed(*QUIET, f"--kineto_socket_dir={nowhere}").start()
    manager.wait_for("STATUS", f"degraded: kineto:{nowhere}")


def test_watchdog_hears_of_life_only_while_there_is_any(manager, managed):
    daemon = managed(*QUIET, watchdog_usec=100_000).start()
    until("signs of life", lambda: len(manager.words("WATCHDOG")) >= 4)
    daemon.process.send_signal(signal.SIGSTOP)
    until("it to stop", lambda: state_of(daemon.pid) == "T")
    manager.forget_words()
    # What is stopped cannot send: this waits for a message that would be wrong.
    assert select.select([manager.socket], [], [], 0.5)[0] == []
    daemon.process.send_signal(signal.SIGCONT)
    manager.wait_for("WATCHDOG")
    # A thread may have been late for such a short patience, and that is an error in the log.
    daemon.stop(expect_clean=False)


def state_of(pid):
    with open(f"/proc/{pid}/stat") as file:
        return file.read().rpartition(")")[2].split()[0]


def words_of(pid, name):
    with open(f"/proc/{pid}/{name}") as file:
        return file.read().rstrip("\0").split("\0")


def test_no_worker_has_the_managers_variables(manager, managed, shared_directory, kineto_client):
    daemon = managed(*QUIET, f"--kineto_socket_dir={shared_directory}",
                     watchdog_usec=60_000_000).start()
    kineto_client(shared_directory).poll()
    # Before its exec a child still is the daemon.
    workers = until("a worker", lambda: [
        pid for pid in descendants(daemon.pid) if "--worker=" in words_of(pid, "cmdline")[-1]])
    for worker in workers:
        assert not [word for word in words_of(worker, "environ")
                    if word.startswith(("NOTIFY_", "WATCHDOG_", "LISTEN_"))]


# --- sockets that outlive the daemon ---

@pytest.fixture
def kineto_client():
    """Factory: a client of the test's own in a socket directory."""
    made = []

    def create(directory=None):
        made.append(datagrams.Client(directory))
        return made[-1]
    yield create
    for client in made:
        client.close()


def kept(manager, endpoint):
    (found,) = [fd for name, fd in manager.listen().store if name == f"kineto-{endpoint}"]
    return found


@pytest.mark.parametrize("end", ["SIGTERM", "SIGKILL"])
def test_a_real_job_polls_across_a_restart(manager, managed, job, scratch, shared_directory, end):
    daemon = managed(*QUIET, f"--kineto_socket_dir={shared_directory}").start()
    training = job(socket_dir=shared_directory, extra={"KINETO_LOG_LEVEL": "4"}).wait_ready()
    daemon.wait_for(training.pid, state="idle")
    assert manager.names() == [f"kineto-{shared_directory}"]
    said = training.output()
    daemon.stop() if end == "SIGTERM" else daemon.kill()
    # It polls every second: its next poll waits in the socket that is kept.
    socket_kept = kept(manager, shared_directory)
    assert select.select([socket_kept], [], [], 30)[0]
    daemon.start()
    daemon.wait_for(training.pid, state="idle")
    assert "let go" not in daemon.log() and "is not used" not in daemon.log()
    answer = daemon.dyno("gputrace", "--pids", training.pid, "--duration-ms", 200, "--log-file",
                         os.path.join(scratch, "t.json"), "--json")
    assert answer.code == 0, answer
    # Never "connection refused", which Kineto says at this level.
    assert "ERROR" not in training.output()[len(said):]


def test_the_abstract_name_is_never_free(manager, managed, network, kineto_client):
    daemon = managed("--no_tcp", "--enable_ipc_monitor", namespace=network).start()
    assert "kineto-abstract" in manager.names()
    thief = ("import socket\ns = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)\n"
             "try:\n    s.bind(b'\\0dynolog\\0')\n    print('got it')\n"
             "except OSError as error:\n    print(error.strerror)")
    poll = ("import os, sys\nsys.path.insert(0, sys.argv[1])\nfrom harness import datagrams\n"
            "print(repr(datagrams.Client().poll()))")

    def run(code):
        return network.run(places.plain_python(0), "-c", code, os.path.dirname(__file__),
                           capture_output=True, text=True).stdout.strip()

    assert run(poll) == "''"
    daemon.stop()
    assert run(thief) == "Address already in use"
    daemon.start()
    (feature,) = daemon.feature("kineto:abstract")
    assert feature["state"] == "ok", feature
    assert run(poll) == "''"
    assert run(thief) == "Address already in use"


def test_a_users_own_directory_is_kept_too(manager, managed, kineto_job):
    daemon = managed(*QUIET).start()
    answer = daemon.dyno("env", "--json", uid=ALICE)
    assert answer.code == 0, answer
    directory = answer.json["environment"]["KINETO_IPC_SOCKET_DIR"]
    assert manager.names() == [f"kineto-{directory}"]
    inode = os.lstat(os.path.join(directory, "dynolog")).st_ino
    daemon.stop()
    assert os.lstat(os.path.join(directory, "dynolog")).st_ino == inode
    daemon.start()
    (feature,) = daemon.feature("kineto:user directories")
    assert feature["state"] == "ok", feature
    assert os.lstat(os.path.join(directory, "dynolog")).st_ino == inode
    assert datagrams.is_served(directory)


def test_an_endpoint_that_is_no_longer_served_is_let_go(manager, managed, shared_directory):
    daemon = managed(*QUIET, f"--kineto_socket_dir={shared_directory}").start()
    daemon.stop()
    flag = daemon.flags.pop()
    daemon.start()
    assert manager.names() == []
    assert f"kept as 'kineto-{shared_directory}': no such endpoint is served" in daemon.log()
    daemon.stop()
    # Its file is still there, and nobody listens: the next one makes it anew.
    daemon.flags.append(flag)
    daemon.start()
    assert datagrams.is_served(shared_directory)
    until("it to be kept", lambda: manager.names() == [f"kineto-{shared_directory}"])


def test_a_reload_that_drops_a_directory_lets_its_socket_go(manager, managed, scratch,
                                                           shared_directory):
    config = config_of(scratch, f'kineto_socket_dir = ["{shared_directory}"]\n')
    daemon = managed(*QUIET, f"--config={config}").start()
    assert manager.names() == [f"kineto-{shared_directory}"]
    config_of(scratch, "")
    assert reload(daemon) == ("ok", "changed at once: kineto_socket_dir")
    until("it to be let go", lambda: manager.names() == [])
    assert daemon.feature(f"kineto:{shared_directory}") == []
    assert not os.path.exists(os.path.join(shared_directory, "dynolog"))


def bound(path, kind=socket.SOCK_DGRAM):
    made = socket.socket(socket.AF_UNIX, kind)
    made.bind(path)
    return made


@pytest.mark.parametrize("what, says", [
    ("stream", "it is not a unix datagram socket"),
    ("file", "it is not a socket"),
    ("elsewhere", "and not to"),
    ("stale", "its file has gone: the directory was made anew"),
    ("replaced", "the file of that name is another one by now"),
])
def test_a_descriptor_that_is_not_what_its_name_says(manager, managed, scratch, shared_directory,
                                                     what, says):
    path = os.path.join(shared_directory, "dynolog")
    made = {
        "stream": lambda: bound(os.path.join(scratch, "s"), socket.SOCK_STREAM),
        "file": lambda: open("/dev/null"),
        "elsewhere": lambda: bound(os.path.join(scratch, "e")),
        "stale": lambda: bound(path),
        "replaced": lambda: bound(path),
    }[what]()
    other = None
    if what == "stale":
        os.unlink(path)
    if what == "replaced":
        os.rename(path, path + ".old")
        other = bound(path)
        other.close()  # nobody listens there: it may be replaced
    daemon = managed(*QUIET, f"--kineto_socket_dir={shared_directory}")
    daemon.handed = [(f"kineto-{shared_directory}", made.fileno())]
    daemon.start()
    assert says in daemon.log(), daemon.log()
    assert f"kineto-{shared_directory}" in manager.listen().removed
    until("a new one to be kept", lambda: manager.names() == [f"kineto-{shared_directory}"])
    assert datagrams.is_served(shared_directory)
    made.close()


def test_foreign_and_double_names(manager, managed, scratch, shared_directory):
    other = bound(os.path.join(scratch, "x"))
    daemon = managed(*QUIET, f"--kineto_socket_dir={shared_directory}").start()
    mine = kept(manager, shared_directory)
    daemon.stop()
    daemon.handed = [("nginx", other.fileno()), (f"kineto-{shared_directory}", mine),
                     (f"kineto-{shared_directory}", other.fileno())]
    daemon.start()
    assert "kept as 'nginx': no such endpoint is served" in daemon.log()
    assert "there are two of that name" in daemon.log()
    assert datagrams.is_served(shared_directory)
    other.close()


def test_a_descriptor_that_is_closed(manager, managed, shared_directory):
    daemon = managed(*QUIET, f"--kineto_socket_dir={shared_directory}")
    daemon.handed, daemon.count = [], 2
    daemon.env["LISTEN_FDNAMES"] = "a:b"
    daemon.start()
    assert "the sockets that the service manager kept are made anew" in daemon.log()
    assert datagrams.is_served(shared_directory)


# --- reload ---

def test_reload_is_told_to_the_manager_and_says_what_changed(manager, managed, scratch):
    config = config_of(scratch, 'log_level = "info"\n')
    daemon = managed("--noenable_ipc_monitor", f"--config={config}", "--port=-1").start()
    assert daemon.feature("configuration") == []
    manager.forget_words()
    config_of(scratch, 'log_level = "debug"\nkernel_monitor_reporting_interval_s = 7\n'
                       'kineto_realtime = false\n')
    said = "changed at once: kernel_monitor_reporting_interval_s, log_level; " \
           "count from the next start: kineto_realtime"
    assert reload(daemon) == ("ok", said)
    assert f"SIGHUP: configuration read anew; {said}" in daemon.log()
    words = [word for word in manager.listen().said if {"RELOADING", "READY"} & set(word)]
    assert [set(word) & {"RELOADING", "READY"} for word in words] == [{"RELOADING"}, {"READY"}]
    assert int(words[0]["MONOTONIC_USEC"]) > 0
    # What waits for the next start is said each time.
    assert reload(daemon) == ("ok", "count from the next start: kineto_realtime")


def test_a_bad_file_changes_nothing_and_says_why(manager, managed, scratch, shared_directory):
    config = config_of(scratch, "")
    daemon = managed(*QUIET, f"--config={config}").start()
    # Good as a file, and no such collector: found before anything was touched.
    for text, says in (("nonsense = [\n", config),
                       (f'disabled_collectors = ["nope"]\nlog_level = "debug"\n'
                        f'kineto_socket_dir = ["{shared_directory}"]\n',
                        f"{config}:1: disabled_collectors = nope: there is no collector"),
                       # Of these the parser would make levels on the stack without end.
                       ('log_level = "debug"\n' + "[" * 100_000, f"{config}:2: brackets"),
                       ('log_level = "debug"\n' + "a." * 100_000 + "a = 1\n",
                        "more than 64 deep"),
                       ("[" + "a." * 100_000 + "a]\n", "more than 64 deep"),
                       ("#" * 300_000, "more than 262144 bytes"),
                       # It would count from the next start, which it would keep from coming up.
                       ('cpu_list = "1023"\n', f"{config}:1: cpu_list = 1023: there is no CPU")):
        config_of(scratch, text)
        state, sentence = reload(daemon)
        assert state == "degraded" and says in sentence, sentence
        assert not os.path.exists(os.path.join(shared_directory, "dynolog"))
        manager.wait_for("STATUS", "degraded: configuration")
    config_of(scratch, "")
    assert reload(daemon) == ("ok", "nothing changed")
    daemon.stop(expect_clean=False)


def test_reload_moves_the_page_and_takes_up_sinks_and_collectors(managed, scratch):
    config = config_of(scratch, "prometheus_port = 0\n")
    daemon = managed(*QUIET, f"--config={config}")
    daemon.flags += ["--prometheus_families=own"]  # or the harness switches the page off
    daemon.start()
    (page,) = daemon.feature("prometheus:")
    port = int(page["name"].rsplit(":", 1)[1])
    until("the first reading", lambda: all(
        each["successes"] + each["failures"] for each in daemon.status()["collectors"]
        if each["kind"] == "collector"))
    lines = os.path.join(scratch, "lines")
    # The same port anew: the old page has to let go of it first.
    config_of(scratch, f'prometheus_port = {port}\nuse_JSON = true\njson_file = "{lines}"\n'
                       'disabled_collectors = ["load"]\n')
    assert reload(daemon)[0] == "ok"
    (again,) = daemon.feature("prometheus:")
    assert again == {**page, "state": "ok"}
    names = {each["name"] for each in daemon.status()["collectors"]}
    assert "json" in names and "load" not in names and "cpu" in names
    until("a line", lambda: os.path.exists(lines) and os.path.getsize(lines))
    missing = [line.split(" info ", 1)[1] for line in daemon.log().splitlines()
               if "is not available here" in line]
    assert missing and sorted(missing) == sorted(set(missing)), "said once, not at each reload"
    config_of(scratch, "use_prometheus = false\n")
    assert reload(daemon)[0] == "ok"
    assert daemon.feature("prometheus:") == []
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", port)) != 0


def test_history_and_otlp_go_on_across_a_reload_of_collectors(managed, scratch):
    """The sinks are made anew: nothing that was kept is lost, no counter steps back."""
    receiver = OtlpReceiver()
    config = config_of(scratch, "")
    daemon = managed(*QUIET, f"--config={config}", "--use_history", "--use_otlp",
                     "--otlp_interval_s=1", f"--otlp_endpoint={receiver.url()}")

    def kept():
        answer = daemon.dyno("metrics", "query", "host.context_switches", "--raw", "--last", "10m",
                             "--step", "1s", "--json")
        values = answer.json["results"][0]["series"][0]["values"] if answer.code == 0 else []
        return [value for value in values if value is not None]
    daemon.start()
    before = until("values", lambda: len(kept()) >= 4 and kept())
    config_of(scratch, 'disabled_collectors = ["load"]\n')
    assert reload(daemon)[0] == "ok"
    received = len(receiver.received)
    after = until("later values", lambda: len(kept()) >= len(before) + 4 and kept())
    # But for the second of the reload, which both the old and the new collectors read.
    assert after[:len(before) - 1] == before[:-1]
    assert after == sorted(after)
    until("posts after the reload", lambda: len(receiver.received) >= received + 2)
    newest = receiver.received[-1].metrics()
    assert "system.cpu.time" in newest and not any("load" in name for name in newest)
    assert [feature["state"] for feature in daemon.feature("history")] == ["ok"]
    daemon.stop()
    receiver.close()


def test_a_trace_under_way_goes_on_over_reloads(daemon, kineto_job_here, scratch, shared_directory):
    """Also over one that is refused, and over many at once."""
    config = config_of(scratch, "")
    started = daemon(*QUIET, f"--kineto_socket_dir={shared_directory}", f"--config={config}")
    traced = kineto_job_here("slow")
    started.wait_for(traced.pid, state="idle")
    running = started.dyno_started("gputrace", "--pids", traced.pid, "--duration-ms", 100,
                                   "--log-file", traced.file("t.json"), "--json")
    running.wait_until_said(": fetched")
    config_of(scratch, 'disabled_collectors = ["load"]\ntrace_staged_timeout_s = 5\n')
    assert reload(started) == ("ok", "changed at once: trace_staged_timeout_s, disabled_collectors")
    config_of(scratch, "nonsense = [\n")
    assert reload(started)[0] == "degraded"
    config_of(scratch, "")
    for _ in range(50):
        started.process.send_signal(signal.SIGHUP)
    until("the last of them to be taken",
          lambda: [f["state"] for f in started.feature("configuration")] == ["ok"])
    answer = running.finish()
    assert answer.code == 0, answer
    started.stop(expect_clean=False)


def test_reload_takes_up_the_limits_of_the_rpc(daemon, scratch):
    config = config_of(scratch, "")
    started = daemon("--noenable_ipc_monitor", "--port=0", f"--config={config}")
    port = tcp_port(started)
    idle = socket.socket(socket.AF_UNIX)
    idle.settimeout(30)
    idle.connect(os.path.join(started.run_dir, "dynolog.sock"))
    config_of(scratch, "rpc_idle_timeout_s = 1\nrpc_loopback_identity = false\n"
                       "rpc_max_connections_per_uid = 1\n")
    assert started.dyno("ps", tcp=port).code == 0
    said = "changed at once: rpc_loopback_identity, rpc_max_connections_per_uid, rpc_idle_timeout_s"
    assert reload(started) == ("ok", said)
    assert started.dyno("ps", tcp=port).code == 7
    assert idle.recv(1) == b"", "it had 300 s"
    # Another user's second connection is turned away, root's is not.
    two = ("import socket, sys\nheld = [socket.socket(socket.AF_UNIX) for _ in range(2)]\n"
           "for each in held:\n    each.connect(sys.argv[1])\n"
           "held[1].settimeout(30)\nprint(held[1].recv(1000))")
    path = os.path.join(started.run_dir, "dynolog.sock")
    said = subprocess.run([places.plain_python(ALICE), "-c", two, path], capture_output=True,
                          text=True, user=ALICE, group=ALICE, extra_groups=[]).stdout
    assert "uid 20001 holds 1 connections" in said, said
    assert started.dyno("ps").code == 0
    idle.close()


def test_user_directories_can_be_switched_off(managed, scratch):
    config = config_of(scratch, "kineto_user_directories = false\n")
    daemon = managed(*QUIET, f"--config={config}").start()
    answer = daemon.dyno("env", uid=ALICE)
    assert answer.code == 0 and "KINETO_IPC_SOCKET_DIR" not in answer.out, answer
    assert "--nokineto_user_directories" in answer.out
    assert not os.path.exists(os.path.join(daemon.run_dir, "u", str(ALICE)))
    config_of(scratch, "")
    assert reload(daemon) == ("ok", "changed at once: kineto_user_directories")
    answer = daemon.dyno("env", uid=ALICE)
    assert answer.code == 0 and "KINETO_IPC_SOCKET_DIR" in answer.out, answer


# --- the log ---

def test_log_file_and_its_rotation(managed, scratch):
    log = os.path.join(scratch, "dynolog.log")
    daemon = managed(*QUIET, f"--log_file={log}").start()
    assert stat.S_IMODE(os.stat(log).st_mode) == 0o640
    os.rename(log, log + ".1")
    daemon.process.send_signal(signal.SIGHUP)
    until("the new file", lambda: os.path.exists(log) and "SIGHUP" in open(log).read())
    assert "SIGHUP" not in open(log + ".1").read()


def test_log_file_that_cannot_be_had_is_degraded(daemon, scratch):
    started = daemon(*QUIET, f"--log_file={scratch}/none/log")
    (feature,) = started.feature("log")
    why = f"{scratch}/none: No such file or directory"
    assert feature["state"] == "degraded" and why in feature["reason"]
    assert why in started.log()


# --- its own cost ---

def test_own_cost(daemon, shared_directory, kineto_client):
    started = daemon(*QUIET, f"--kineto_socket_dir={shared_directory}")
    kineto_client(shared_directory).poll()
    until("a worker", lambda: started.status()["cost"]["workers"] > 0)
    # Rates are of a second at least.
    cost = until("a rate", lambda: (c := started.status()["cost"]).get("window_s", 0) >= 1 and c)
    assert cost["memory_kind"] == "pss", "a process may always see its own"
    assert 1e6 < cost["memory_bytes"] <= started.status()["resident_bytes"] * 1.5
    assert 0 < cost["cpu_share"] < 2 and cost["wakeups_per_s"] > 0
    # Read every few seconds; the first question may come before the files of the first reading.
    until("the descriptors", lambda: abs(started.status()["cost"]["open_descriptors"] -
                                         len(os.listdir(f"/proc/{started.pid}/fd"))) < 10)
    assert cost["descriptor_limit"] >= cost["open_descriptors"]
    said = started.dyno("status").out
    for word in ("(PSS)", "of a core over", "\nwake-ups ", "\ndescriptors ", "\nworkers "):
        assert word in said, said


def test_own_cost_counts_workers_that_were_started_anew(daemon):
    started = daemon(*QUIET)
    started.dyno("ps")  # who calls is looked up by a worker
    workers = descendants(started.pid)
    assert started.status()["cost"]["worker_restarts"] == 0
    assert started.status()["cost"]["workers"] == len(workers) > 0
    for worker in workers:
        os.kill(worker, signal.SIGKILL)
    until("a new one", lambda: started.dyno("ps").code == 0
          and started.status()["cost"]["worker_restarts"] > 0)
    started.stop(expect_clean=False)


# --- the log's level ---

def wait_for_debug_line(started):
    """A worker that is ended closes its channel, which is worth a line at that level only."""
    before = started.log().count(" debug ")

    def look():
        started.dyno("ps")
        for worker in descendants(started.pid):
            os.kill(worker, signal.SIGKILL)
        return started.log().count(" debug ") > before
    until("a line at debug", look)


def test_log_level_at_run_time_and_a_reload_wins(daemon, scratch):
    config = config_of(scratch, "")
    started = daemon(*QUIET, f"--config={config}")
    assert started.dyno("log-level").out == "info\n"
    assert started.dyno("log-level", uid=ALICE).out == "info\n", "everybody may ask"
    assert " debug " not in started.log()
    answer = started.dyno("log-level", "debug", "--json")
    assert answer.code == 0 and answer.json["level"] == "debug", answer
    assert answer.json["configured"] == "info"
    (feature,) = started.feature("log-level")
    assert feature["state"] == "ok" and "a reload sets it to info" in feature["reason"], feature
    wait_for_debug_line(started)
    # A reload sets what is configured, also where nothing has changed in the files.
    assert reload(started) == ("ok", "nothing changed")
    assert started.dyno("log-level").out == "info\n"
    assert started.feature("log-level") == []
    # One that is refused leaves all as it is.
    assert started.dyno("log-level", "warning").code == 0
    config_of(scratch, "nonsense = [\n")
    assert reload(started)[0] == "degraded"
    assert started.dyno("log-level").out == "warning\n"
    started.stop(expect_clean=False)


def test_only_root_and_the_daemons_user_set_the_log_level(daemon):
    of_root = daemon(*QUIET)
    answer = of_root.dyno("log-level", "debug", uid=ALICE)
    assert answer.code == 7 and "only root" in answer.err, answer
    assert of_root.dyno("log-level").out == "info\n"
    of_alice = daemon("--noenable_ipc_monitor", "--port=0", uid=ALICE)
    other = of_alice.dyno("log-level", "debug", uid=ALICE + 1, tcp=tcp_port(of_alice))
    assert other.code == 7, other
    assert of_alice.dyno("log-level", uid=ALICE).out == "info\n"
    assert of_alice.dyno("log-level", "debug", uid=ALICE).code == 0
    assert of_alice.dyno("log-level", uid=ALICE).out == "debug\n"


# --- what it leaves behind ---

@pytest.mark.parametrize("flags, dumps", [((), False), (("--core_dumps",), True)])
def test_core_dumps_are_off_unless_asked_for(daemon, shared_directory, kineto_client, flags, dumps):
    # Of a process that may not be dumped, /proc belongs to root.
    started = daemon(*QUIET, f"--kineto_socket_dir={shared_directory}", *flags, uid=ALICE)
    kineto_client(shared_directory).poll()
    owner = ALICE if dumps else 0
    for pid in (started.pid, *until("a worker", lambda: descendants(started.pid))):
        # A worker that has just begun says it a moment later.
        until(f"{pid} to be {owner}'s", lambda: os.stat(f"/proc/{pid}/environ").st_uid == owner)
    # It gets on without: what it needs of /proc/self is its own.
    assert started.status()["resident_bytes"] > 0
