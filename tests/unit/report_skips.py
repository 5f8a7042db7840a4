#!/usr/bin/env python3
"""Lists the unit tests that a run skipped, out of ctest's JUnit file, with their reasons.

Where CI is set, a test that this machine could have run must not have been skipped.
"""

import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

ROOT = re.compile(r"\broot\b")
MOUNTS = re.compile(r"\bmount")
USER_NAMESPACES = re.compile(r"\buser namespaces of other users\b")


def reason_of(case):
    """What stands behind GTEST_SKIP() in the test's output."""
    output = (case.findtext("system-out") or "") + (case.findtext("skipped") or "")
    said = re.search(r": Skipped\n(.*?)\n(?:\n|\[|$)", output, re.S)
    return " ".join(said.group(1).split()) if said else "without a reason"


def skipped_in(path):
    """(how many tests there were, [(name, reason)] of the skipped ones)"""
    cases = list(ElementTree.parse(path).getroot().iter("testcase"))
    return len(cases), [(case.get("name"), reason_of(case)) for case in cases
                        if case.find("skipped") is not None]


def may_mount():
    if os.geteuid() != 0 or not shutil.which("unshare"):
        return False
    probe = ["unshare", "--mount", "mount", "-t", "tmpfs", "none", "/mnt"]
    return subprocess.run(probe, capture_output=True).returncode == 0


def may_make_user_namespaces():
    """As another user, whom root becomes for such a test."""
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        return False
    probe = ["setpriv", "--reuid=4321", "--regid=4321", "--clear-groups", "unshare", "--user",
             "true"]
    return subprocess.run(probe, capture_output=True, cwd="/").returncode == 0


def could_have_run(reason):
    """Kernels that lack something are told by other words, and are nobody's fault."""
    if MOUNTS.search(reason):
        return may_mount()
    if USER_NAMESPACES.search(reason):
        return may_make_user_namespaces()
    return bool(ROOT.search(reason)) and os.geteuid() == 0


def main(path):
    total, skipped = skipped_in(path)
    print(f"{len(skipped)} of {total} unit tests were skipped")
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
