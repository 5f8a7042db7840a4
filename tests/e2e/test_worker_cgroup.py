"""The daemon's workers in a control group of their own, in the real hierarchy of version 2."""

import os
import subprocess

import pytest

from conftest import QUIET
from harness.daemon import Daemon
from harness.job import descendants
from harness.waiting import until

_TOPS = ("/sys/fs/cgroup", "/sys/fs/cgroup/unified")
_INSIDE = 'echo $$ > "$0/cgroup.procs" && exec "$@"'


class Group:
    """A group as a service manager makes one for a service."""

    def __init__(self, delegated):
        top = next((top for top in _TOPS if os.path.exists(f"{top}/cgroup.controllers")), None)
        if top is None:
            pytest.skip("no control groups of version 2 here")
        self.path = f"{top}/dynolog-test-{os.getpid()}"
        try:
            os.mkdir(self.path)
        except OSError as error:
            pytest.skip(f"control groups cannot be made here: {error}")
        if delegated:
            os.setxattr(self.path, "user.delegate", b"1")
        with open(f"{self.path}/cgroup.controllers") as file:
            self.limits_memory = "memory" in file.read().split()

    def read(self, name):
        with open(os.path.join(self.path, name)) as file:
            return file.read()

    def groups(self):
        return sorted(entry.name for entry in os.scandir(self.path) if entry.is_dir())

    def inside(self, command):
        return ["/bin/sh", "-c", _INSIDE, self.path, *command]

    def remove(self):
        for name in (*self.groups(), ""):
            until("the group to be empty", lambda: _removed(os.path.join(self.path, name)))


def _removed(path):
    try:
        os.rmdir(path)
    except OSError:
        return False
    return True


class ServiceDaemon(Daemon):
    def __init__(self, group, *flags):
        super().__init__(*flags)
        self.group = group

    def command(self):
        return self.group.inside(super().command())


@pytest.fixture
def service():
    """Factory: (group, a daemon that is started in it)."""
    made = []

    def create(*flags, delegated=True, beside=None):
        group = Group(delegated)
        made.append(group.remove)
        if beside:
            other = subprocess.Popen(group.inside(beside), stdin=subprocess.PIPE)
            made.append(lambda: (other.kill(), other.wait()))
            until("the other to be in it", lambda: str(other.pid) in group.read("cgroup.procs"))
        daemon = ServiceDaemon(group, *QUIET, "--log_level=debug", *flags)
        made.append(daemon.close)
        return group, daemon.start()
    yield create
    for close in reversed(made):
        close()


def group_of(pid):
    with open(f"/proc/{pid}/cgroup") as file:
        (line,) = [line for line in file.read().splitlines() if line.startswith("0::")]
    return line.rpartition("/")[2]


def test_workers_have_a_group_of_their_own(service):
    group, daemon = service("--worker_memory_mb=64")
    assert group.groups() == ["daemon", "workers"]
    assert group_of(daemon.pid) == "daemon"
    assert group.read("cgroup.procs") == ""
    assert daemon.dyno("ps").code == 0  # who calls is looked up by a worker
    workers = until("a worker", lambda: descendants(daemon.pid))
    for worker in workers:
        until(f"{worker} to join", lambda: group_of(worker) == "workers")
    assert str(daemon.pid) not in group.read("workers/cgroup.procs").split()
    (feature,) = daemon.feature("worker-cgroup")
    if group.limits_memory:
        assert feature["state"] == "ok" and "64 MiB" in feature["reason"], feature
        assert group.read("workers/memory.max") == f"{64 << 20}\n"
        assert group.read("daemon/memory.max") == "max\n"
    else:
        assert feature["state"] == "off", feature
        assert "'memory' is not delegated" in feature["reason"], feature


def test_group_that_is_not_delegated_is_left_alone(service):
    group, daemon = service(delegated=False)
    assert daemon.dyno("ps").code == 0
    assert group.groups() == []
    for pid in (daemon.pid, *descendants(daemon.pid)):
        assert str(pid) in group.read("cgroup.procs").split()
    assert daemon.feature("worker-cgroup") == []
    assert f"{group.path} is not delegated to it" in daemon.log()


def test_group_that_others_are_in_is_left_alone(service):
    group, daemon = service(beside=["/bin/cat"])  # reads until it is ended
    assert group.groups() == []
    assert group_of(daemon.pid) == os.path.basename(group.path)
    assert "is not alone in" in daemon.log()
