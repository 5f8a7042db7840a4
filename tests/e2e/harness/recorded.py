"""The recorded hosts of tests/fixtures, made whole, and programs that run on one of them."""

import os
import subprocess
import sys

from harness import page, places

FIXTURES = places.REPOSITORY / "tests" / "fixtures"
AT_HOST = os.path.join(os.path.dirname(os.path.dirname(__file__)), "jobs", "at_host.py")


def make_hosts(directory):
    subprocess.run([sys.executable, "-B", FIXTURES / "make_hosts.py", directory], check=True)
    return directory


def exporter_of(host, logs):
    """node_exporter, reading a recorded host's files; with all of our collectors that it has."""
    (host / "sys").mkdir(exist_ok=True)  # it does not start without one
    wanted = ["--collector.stat.softirq"]
    if (host / "proc/cpuinfo").exists():
        wanted += ["--collector.cpu.info"]
    if (host / "proc/self/mountstats").exists():
        wanted += ["--collector.mountstats", "--collector.meminfo_numa"]
    return page.node_exporter(logs, *wanted, f"--path.procfs={host}/proc",
                              f"--path.sysfs={host}/sys",
                              f"--path.udev.data={host}/run/udev/data",
                              "--no-collector.netdev.netlink")


class RecordedHost:
    """In the place of a namespace: see jobs/at_host.py."""

    def __init__(self, directory):
        self.directory = directory

    def inside(self, command):
        return [sys.executable, "-B", AT_HOST, str(self.directory), *command]
