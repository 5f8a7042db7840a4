"""What the benchmarks in Python share: the harness of the end-to-end tests, and what the kernel says
a process costs."""

import os
import pathlib
import statistics
import sys

REPOSITORY = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(REPOSITORY / "tests/e2e"))

BENCH_BIN = pathlib.Path(os.environ.get("DYNOLOG_BENCH_BIN", REPOSITORY / "build/bench/bin"))


def tree(pid):
    """The process and those that it started."""
    from harness.job import descendants
    return [pid, *descendants(pid)]


def cpu_ns(pid):
    """CPU that the process and its descendants have used, all threads, as the scheduler counts."""
    return sum(int(_read(task, "schedstat").split()[0]) for task in _tasks(pid))


def wakeups(pid):
    """How often their threads went to sleep, and so were woken."""
    return sum(int(line.split()[1]) for task in _tasks(pid)
               for line in _read(task, "status").splitlines()
               if line.startswith("voluntary_ctxt_switches"))


def memory_kib(pid, field):
    """Of the process and its descendants: "Pss", "Private_Dirty", "Rss" in KiB."""
    return sum(int(line.split()[1]) for each in tree(pid)
               for line in _read(f"/proc/{each}", "smaps_rollup").splitlines()
               if line.startswith(field + ":"))


def _tasks(pid):
    return [f"/proc/{each}/task/{task}" for each in tree(pid)
            for task in os.listdir(f"/proc/{each}/task")]


def _read(directory, name):
    with open(f"{directory}/{name}") as file:
        return file.read()


def spread(values, unit="", digits=2):
    """Median, and in brackets the smallest and the largest."""
    return (f"{statistics.median(values):.{digits}f}{unit} "
            f"({min(values):.{digits}f}-{max(values):.{digits}f})")
