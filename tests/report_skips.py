#!/usr/bin/env python3
"""Lists the tests that a run skipped, out of the JUnit file of ctest or pytest, with their reasons.

Where CI is set, a test that this machine could have run must not have been skipped.
"""

import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree


def reason_of(case):
    """What stands behind GTEST_SKIP() in the test's output, or what pytest was told."""
    skipped = case.find("skipped")
    if skipped.get("type", "").startswith("pytest."):
        return " ".join(skipped.get("message", "").split()) or "without a reason"
    output = (case.findtext("system-out") or "") + (skipped.text or "")
    said = re.search(r": Skipped\n(.*?)\n(?:\n|\[|$)", output, re.S)
    return " ".join(said.group(1).split()) if said else "without a reason"


def skipped_in(path):
    """(how many tests there were, [(name, reason)] of the skipped ones)"""
    cases = list(ElementTree.parse(path).getroot().iter("testcase"))
    return len(cases), [(case.get("name"), reason_of(case)) for case in cases
                        if case.find("skipped") is not None]


# --- what this machine has: tried, not taken from what a test says ---

def is_root():
    return os.geteuid() == 0


def may_mount():
    if not is_root() or not shutil.which("unshare"):
        return False
    probe = ["unshare", "--mount", "mount", "-t", "tmpfs", "none", "/mnt"]
    return subprocess.run(probe, capture_output=True).returncode == 0


def may_open_fuse():
    """There may be the name without the right to it: a container's devices are listed."""
    try:
        os.close(os.open("/dev/fuse", os.O_RDWR))
    except OSError:
        return False
    return may_mount()


def may_make_group_in(directories):
    """Whether a control group can be made in the first of them that there is."""
    for directory in directories:
        name = os.path.join(directory, f"dynolog-probe-{os.getpid()}")
        try:
            os.mkdir(name)
            os.rmdir(name)
        except OSError:
            return False
        return True
    return False


def may_limit_memory():
    if os.path.isdir("/sys/fs/cgroup/memory"):
        return may_make_group_in(["/sys/fs/cgroup/memory"])
    try:
        with open("/sys/fs/cgroup/cgroup.subtree_control") as file:
            return "memory" in file.read().split() and may_make_group_in(["/sys/fs/cgroup"])
    except OSError:
        return False


def may_make_groups():
    return may_make_group_in(os.path.dirname(path) for pattern in ("", "unified/") for path in
                             glob.glob(f"/sys/fs/cgroup/{pattern}cgroup.controllers"))


def may_run_in_real_time():
    code = "import os; os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))"
    return subprocess.run([sys.executable, "-c", code], capture_output=True).returncode == 0


IN_A_USER_NAMESPACE = """
import ctypes, os, sys
tell, told = os.pipe(), os.pipe()
child = os.fork()
if child == 0:
    os.setresgid(4321, 4321, 4321)
    os.setresuid(4321, 4321, 4321)
    made = ctypes.CDLL(None).unshare(0x10000000) == 0  # CLONE_NEWUSER
    os.write(tell[1], b"y" if made else b"n")
    os.read(told[0], 1)
    os.setresgid(0, 0, 0)
    os.setresuid(0, 0, 0)
    os._exit(0)
if os.read(tell[0], 1) == b"y":
    for name in "uid_map", "gid_map":
        with open(f"/proc/{child}/{name}", "w") as file:
            file.write("0 100000 1")
os.write(told[1], b"g")
sys.exit(os.waitpid(child, 0)[1] != 0)
"""


def may_make_user_namespaces():
    """As src/testing/user_namespace.h does: a user's, in which root gives it subordinate uids."""
    return is_root() and subprocess.run([sys.executable, "-c", IN_A_USER_NAMESPACE],
                                        capture_output=True, cwd="/").returncode == 0


def may_use_loop_devices():
    with tempfile.NamedTemporaryFile() as file:
        file.truncate(1 << 20)
        found = subprocess.run(["losetup", "--find", "--show", file.name], capture_output=True,
                               text=True)
        if found.returncode == 0:
            subprocess.run(["losetup", "--detach", found.stdout.strip()], check=True)
        return found.returncode == 0 and may_mount()


def may_make_immutable():
    with tempfile.NamedTemporaryFile() as file:
        made = subprocess.run(["chattr", "+i", file.name], capture_output=True).returncode == 0
        if made:
            subprocess.run(["chattr", "-i", file.name], check=True)
        return made


def has_program(name):
    return lambda: shutil.which(name) is not None


# What a reason speaks of, and whether it is here; the first row that fits. A reason that none fits
# is of a kernel that lacks something, which is nobody's fault.
NEEDS = [
    (r"/dev/fuse", may_open_fuse),
    (r"\bloop devices\b", may_use_loop_devices),
    (r"\bimmutable\b", may_make_immutable),
    (r"\bmount", may_mount),
    (r"\bmemory controller\b", may_limit_memory),
    (r"\b(control groups|cgroups)\b", may_make_groups),
    (r"\breal-time priority\b", may_run_in_real_time),
    (r"\buser namespaces of other users\b", may_make_user_namespaces),
    (r"\bneeds valgrind\b", has_program("valgrind")),
    (r"\bneeds systemd-tmpfiles\b", has_program("systemd-tmpfiles")),
    (r"\bno tmpfs here\b", lambda: os.path.ismount("/dev/shm")),
    (r"\broot\b", is_root),
]


def could_have_run(reason, needs=None):
    for pattern, is_here in NEEDS if needs is None else needs:
        if re.search(pattern, reason):
            return is_here()
    return False


def main(path):
    total, skipped = skipped_in(path)
    print(f"{len(skipped)} of {total} tests were skipped")
    for name, reason in skipped:
        print(f"  {name}: {reason}")
    if total == 0:
        sys.exit(f"{path} has no tests")
    if os.environ.get("CI", "").lower() not in ("1", "true", "yes"):
        return
    wrongly = [name for name, reason in skipped if could_have_run(reason)]
    if wrongly:
        sys.exit("skipped, though this machine has what they need: " + ", ".join(wrongly))


if __name__ == "__main__":
    main(*sys.argv[1:])
