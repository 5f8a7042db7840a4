"""A host that has run out: of disk, of descriptors, of memory. What is left works, and is said.

docs/hostile-input.md says which test is for which attack.
"""

import errno
import json
import os
import resource
import signal
import subprocess
import time

import pytest

from harness import datagrams, frames, places
from harness.daemon import tcp_port
from harness.readings import seconds_of
from harness.waiting import PATIENCE, until

ALICE = 20001


@pytest.fixture
def small_disk(scratch):
    """Factory: a tmpfs of its own, with room for few files."""
    made = []

    def mount(name, size="1m"):
        path = os.path.join(scratch, name)
        os.mkdir(path)
        subprocess.run(["mount", "-t", "tmpfs", "-o",
                        f"size={size},nr_inodes=64,mode=1777", "tmpfs", path], check=True)
        made.append(path)
        return path
    yield mount
    for path in made:
        subprocess.run(["umount", "-l", path], check=True)


@pytest.fixture
def small_ext4(scratch):
    """A disk of 8 MiB with a file system of disks."""
    image, path = os.path.join(scratch, "image"), os.path.join(scratch, "disk")
    with open(image, "wb") as file:
        file.truncate(8 << 20)
    subprocess.run(["mkfs.ext4", "-q", "-F", "-m", "0", image], check=True)
    os.mkdir(path)
    if subprocess.run(["mount", "-o", "loop", image, path], capture_output=True).returncode != 0:
        pytest.skip("no loop devices here")
    yield path
    subprocess.run(["umount", "-l", path], check=True)


def fill_bytes(directory):
    """The last byte; gives what has to be removed to have room again."""
    filling = os.path.join(directory, "filling")
    os.makedirs(filling)
    with open(os.path.join(filling, "bytes"), "wb", buffering=0) as file:
        for size in (4096, 1):
            try:
                while True:
                    file.write(b"x" * size)
            except OSError as error:
                assert error.errno == errno.ENOSPC
    return filling


def fill(directory):
    """The last byte and the last inode; gives what has to be removed to have room again."""
    filling = fill_bytes(directory)
    for number in range(100):
        try:
            open(os.path.join(filling, str(number)), "x").close()
        except OSError as error:
            assert error.errno == errno.ENOSPC
            return filling
    raise AssertionError("the disk takes files without an end")


@pytest.fixture
def job(kineto_job_here):
    return kineto_job_here


def trace(daemon, job, *options):
    return daemon.dyno("gputrace", "--pids", job.pid, "--duration-ms", 100, "--log-file",
                       job.file("t.json"), "--json", *options)


QUIET = ("--noenable_ipc_monitor", "--port=0")


def test_full_disk_under_the_run_directory(unstarted_daemon, small_disk, job, shared_directory):
    """At the start: one sentence. Later: traces go on; what a restart would need is not kept."""
    place = small_disk("run")
    filling = fill(place)
    daemon = unstarted_daemon(*QUIET, f"--kineto_socket_dir={shared_directory}",
                              run_dir=os.path.join(place, "r"))
    code = daemon.launch().process.wait(PATIENCE)
    daemon.process = None
    assert code == 1 and "No space left" in daemon.log(), daemon.log()
    places.remove(filling)
    os.unlink(daemon.log_path)
    daemon.start()
    traced = job()
    daemon.wait_for(traced.pid, state="idle")
    filling = fill(place)
    answer = trace(daemon, traced)
    assert answer.code in (0, 4), answer
    assert answer.code == 0 or "No space left" in answer.out + answer.err, answer
    assert daemon.dyno("ps", "--json").code == 0 and datagrams.is_served(shared_directory)
    places.remove(filling)
    daemon.wait_for(traced.pid, state="idle")
    answer = trace(daemon, traced)
    assert answer.code == 0, answer


def own_mnt(command):
    """The job's /mnt is nobody else's, so that the daemon has to bring what is written there."""
    return ["unshare", "--mount", "--propagation", "private", "sh", "-c",
            'mount -t tmpfs -o mode=1777 tmpfs /mnt && exec "$@"', "sh", *command]


def test_full_disk_under_the_state_directory(unstarted_daemon, small_disk, job, shared_directory):
    """The daemon keeps nothing then, says so, and the trace stays where it was written."""
    place = small_disk("state")
    daemon = unstarted_daemon(*QUIET, f"--kineto_socket_dir={shared_directory}",
                              "--trace_fetch_timeout_s=1")
    daemon.state_dir = os.path.join(place, "s")
    daemon.start()
    fill(place)
    traced = job("good", "--megabytes", 2, wrap=own_mnt)
    daemon.wait_for(traced.pid, state="idle")
    answer = daemon.dyno("gputrace", "--pids", traced.pid, "--duration-ms", 100, "--no-wait",
                         "--log-file", "/mnt/t.json", "--json")
    assert answer.code == 0, answer

    def ended():
        listed = daemon.dyno("traces", "list", "--json")
        assert listed.code == 0, listed
        (row,), = [session["traces"] for session in listed.json["sessions"]]
        return row if row["ended"] else None
    row = until("the session to end", ended)
    assert row["state"] == "undelivered" and "No space left" in row["sentence"], row
    assert row["whole"] and row["file"] in row["sentence"] and os.path.exists(row["file"]), row
    os.unlink(row["file"])
    assert os.listdir(os.path.join(daemon.state_dir, "traces")) == ["lock"], "no torn pieces"
    assert daemon.dyno("ps", "--json").code == 0 and datagrams.is_served(shared_directory)
    daemon.stop(expect_clean=False)


def history(daemon):
    (feature,) = daemon.feature("history")
    return feature


def test_full_disk_under_the_history(daemon, small_ext4):
    """Nothing is written, and that is said; what is kept stays, and all else goes on."""
    served = daemon(*QUIET, f"--history_dir={small_ext4}/h", "--history_mb=3")
    until("the first block", lambda: served.dyno("metrics", "list", "load.1m",
                                                 "--json").json["bytes"])
    assert history(served)["state"] == "ok", history(served)
    half_minute = int(time.time()) // 30 * 30  # what is older has been written
    kept = seconds_of(served, half_minute - 30, half_minute - 1)
    assert kept
    filling = fill_bytes(small_ext4)
    until("it to be said", lambda: history(served)["state"] == "degraded")
    reason = history(served)["reason"]
    assert "nothing is written at present" in reason and "disk is full" in reason, reason
    assert seconds_of(served, half_minute - 30, half_minute - 1) == kept
    cpu = next(c for c in served.status()["collectors"] if c["name"] == "cpu")["successes"]
    until("the host to be read on", lambda: [c for c in served.status()["collectors"]
                                             if c["name"] == "cpu" and c["successes"] > cpu + 2])
    places.remove(filling)
    until("it to be written again", lambda: history(served)["state"] == "ok")
    again = int(time.time()) // 30 * 30
    assert seconds_of(served, half_minute - 30, half_minute - 1) == kept
    assert len(seconds_of(served, again - 10, again - 1)) >= 5, "what was read since there is room"
    served.stop(expect_clean=False)


def sink(daemon):
    return next(c for c in daemon.status()["collectors"] if c["kind"] == "sink")


def test_full_disk_under_the_json_file(daemon, small_disk):
    """Lines are dropped and counted; with room again they come again, whole."""
    place = small_disk("json")
    path = os.path.join(place, "m.jsonl")
    served = daemon(*QUIET, "--use_JSON", "--json_interval_s=1", f"--json_file={path}")
    until("the first line", lambda: os.path.getsize(path) > 0)
    filling = fill(place)
    until("the failure to be counted", lambda: sink(served)["failures"] > 0)
    assert "No space left" in sink(served)["last_error"], sink(served)
    assert served.dyno("ps", "--json").code == 0
    size = os.path.getsize(path)
    places.remove(filling)
    until("lines again", lambda: os.path.getsize(path) > size + 100)
    last = until("a whole line", lambda: whole_lines(path))[-1]
    json.loads(last)
    served.stop(expect_clean=False)


def whole_lines(path):
    with open(path) as file:
        return [line for line in file.read().splitlines(keepends=True) if line.endswith("}\n")]


@pytest.mark.parametrize("limit, serves", [(8, False), (24, False), (64, False), (255, False),
                                           (256, True)])
def test_few_descriptors_at_the_start(unstarted_daemon, limit, serves):
    """It ends with one sentence, or serves."""
    daemon = unstarted_daemon("--noenable_ipc_monitor", "--no_tcp")
    command = daemon.command()
    daemon.command = lambda: ["prlimit", f"--nofile={limit}:{limit}", "--", *command]
    daemon.launch()

    def decided():
        return daemon.process.poll() is not None or daemon.dyno("status", "--json").code == 0
    until("the daemon to serve or to end", decided)
    assert (daemon.process.poll() is None) == serves, daemon.log()
    if not serves:
        code, daemon.process = daemon.process.returncode, None
        lines = [line for line in daemon.log().splitlines() if " error " in line]
        assert code == 1 and len(lines) == 1 and "cannot start: " in lines[0], daemon.log()
        assert "open files" in lines[0], daemon.log()
        return
    assert daemon.dyno("status", "--json").code == 0
    daemon.stop(expect_clean=False)


def used_descriptors(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def test_no_descriptors_left(daemon, job, shared_directory):
    """Known processes are served on, new ones and connections are refused and counted."""
    served = daemon(*QUIET, f"--kineto_socket_dir={shared_directory}")
    port = tcp_port(served)
    traced = job()
    served.wait_for(traced.pid, state="idle")
    before = {name: served.counter(name) for name in ("kineto_no_descriptors", "rpc_over_limit")}
    pid = served.pid
    _, hard = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    with frames.connect(port) as held:  # what is asked while there is none left
        held.sendall(frames.frame(b'{"fn":"daemonStatus"}'))
        frames.read_frame(held)
        # The lowest free number is below the limit as little as any other.
        highest = max(int(name) for name in os.listdir(f"/proc/{pid}/fd"))
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (min_free(pid, highest), hard))
        try:
            assert datagrams.is_served(shared_directory) is False
            with frames.connect(port) as turned_away:
                assert json.loads(frames.read_frame(turned_away))["error"]["code"] == "exhausted"
            held.sendall(frames.frame(b'{"fn":"daemonStatus"}'))
            counters = dict(json.loads(frames.read_frame(held))["counters"])
            assert counters["kineto_no_descriptors"] > before["kineto_no_descriptors"]
            assert counters["rpc_over_limit"] > before["rpc_over_limit"]
            polls = counters["kineto_answered"]
            until("the known process to be served on", lambda: answered(held) > polls)
        finally:
            resource.prlimit(pid, resource.RLIMIT_NOFILE, (hard, hard))
    assert datagrams.is_served(shared_directory)
    answer = trace(served, traced)
    assert answer.code == 0, answer


def answered(connection):
    connection.sendall(frames.frame(b'{"fn":"daemonStatus"}'))
    return dict(json.loads(frames.read_frame(connection))["counters"])["kineto_answered"]


def min_free(pid, highest):
    """The first number that is not taken: a limit of it leaves none to take."""
    taken = {int(name) for name in os.listdir(f"/proc/{pid}/fd")}
    return next(number for number in range(highest + 2) if number not in taken)


# --- memory ---

class MemoryGroup:
    """A memory cgroup of v1 or v2 for one test."""

    def __init__(self):
        self.v2 = not os.path.isdir("/sys/fs/cgroup/memory")
        root = "/sys/fs/cgroup" if self.v2 else "/sys/fs/cgroup/memory"
        if self.v2 and "memory" not in _read(root + "/cgroup.subtree_control"):
            pytest.skip("no memory controller for cgroups here")
        self.parent, self.path = root, os.path.join(root, f"dyn-test-{os.getpid()}")
        try:
            os.mkdir(self.path)
        except OSError as error:
            pytest.skip(f"no group of the memory controller can be made here: {error}")

    def limit(self, size):
        name = "memory.max" if self.v2 else "memory.limit_in_bytes"
        with open(os.path.join(self.path, name), "w") as file:
            file.write(str(size))

    def add(self, pid):
        with open(os.path.join(self.path, "cgroup.procs"), "w") as file:
            file.write(str(pid))

    def kills(self):
        name = "memory.events" if self.v2 else "memory.oom_control"
        found = [line.split()[1] for line in _read(os.path.join(self.path, name)).splitlines()
                 if line.startswith("oom_kill ")]
        return int(found[0])

    def remove(self):
        for pid in _read(os.path.join(self.path, "cgroup.procs")).split():
            try:
                with open(os.path.join(self.parent, "cgroup.procs"), "w") as file:
                    file.write(pid)
            except OSError:
                pass  # it has ended
        until("the cgroup to go", lambda: _removed(self.path))


def _read(path):
    with open(path) as file:
        return file.read()


def _removed(path):
    try:
        os.rmdir(path)
    except OSError:
        return False
    return True


@pytest.fixture
def memory_group():
    group = MemoryGroup()
    yield group
    group.remove()


def workers(daemon, kind):
    found = []
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat") as file:
                parent = int(file.read().rsplit(")", 1)[1].split()[1])
            arguments = _read(f"/proc/{name}/cmdline").split("\0")
        except (OSError, IndexError):
            continue
        if parent == daemon.pid and f"--worker={kind}" in arguments:
            found.append(int(name))
    return found


def test_worker_that_runs_out_of_memory_with_its_target(daemon, job, shared_directory,
                                                        memory_group, small_disk):
    """The target is a tmpfs, charged to whoever writes: the worker is killed, the trace is not."""
    target = small_disk("memory", "64m")
    place = os.path.join(target, "lr=1")  # not a name for Kineto: the file is copied here
    os.mkdir(place)
    os.chmod(place, 0o1777)
    served = daemon(*QUIET, f"--kineto_socket_dir={shared_directory}")
    traced = job("slow", "--megabytes", 8)
    served.wait_for(traced.pid, state="idle")
    running = served.dyno_started("gputrace", "--pids", traced.pid, "--duration-ms", 100,
                                  "--log-file", os.path.join(place, "t.json"), "--json")
    running.wait_until_said(": fetched")
    worker, = workers(served, "files")
    memory_group.limit(4 << 20)
    memory_group.add(worker)
    answer = running.finish()
    assert memory_group.kills() >= 1, answer
    update, = answer.json["processes"]
    if answer.code == 0:  # killed before it began to copy: another one took over
        assert os.path.getsize(update["file"]) > 7e6, update
    else:
        assert answer.code == 4 and "worker" in json.dumps(update) + answer.err, answer
    assert served.process.poll() is None
    assert served.dyno("ps", "--json").code == 0 and datagrams.is_served(shared_directory)
    answer = trace(served, traced)
    assert answer.code == 0, answer
    served.stop(expect_clean=False)


def mapped(pid):
    """Bytes of its address space."""
    return int(_read(f"/proc/{pid}/statm").split()[0]) * resource.getpagesize()


def test_worker_that_gets_no_more_memory(daemon, job, shared_directory):
    """Where no control group limits it: it dies of it, and another finds what was written."""
    served = daemon(*QUIET, f"--kineto_socket_dir={shared_directory}")
    traced = job("slow", "--megabytes", 8)
    served.wait_for(traced.pid, state="idle")
    running = served.dyno_started("gputrace", "--pids", traced.pid, "--duration-ms", 100,
                                  "--log-file", traced.file("t.json"), "--json", "--gzip")
    running.wait_until_said(": fetched")
    worker, = workers(served, "files")
    size = mapped(worker)
    resource.prlimit(worker, resource.RLIMIT_AS, (size, size))
    answer = running.finish()
    # A sanitizer that gets no memory for itself says so, and exits.
    end = "ended with status 1" if places.sanitized() else "was ended by signal"
    assert f"is replaced: the worker {end}" in served.log(), served.log()
    assert answer.code == 0, answer
    (update,) = answer.json["processes"]
    assert os.path.getsize(update["file"]) > 0 and update["whole"], update
    assert served.dyno("ps", "--json").code == 0 and datagrams.is_served(shared_directory)
    served.stop(expect_clean=False)

def test_worker_that_is_killed_is_replaced(daemon, job, shared_directory):
    """By the kernel for want of memory, or by whom it serves: the next request finds a new one."""
    served = daemon(*QUIET, f"--kineto_socket_dir={shared_directory}")
    first = job()
    served.wait_for(first.pid, state="idle")
    for worker in workers(served, "procs"):
        os.kill(worker, signal.SIGKILL)
    second = job(uid=ALICE)
    assert served.wait_for(second.pid, state="idle")["uid"] == ALICE
    assert served.dyno("ps", "--json", uid=ALICE).code == 0
    served.stop(expect_clean=False)
