"""Our page beside node_exporter's, of the same host at the same time: for every collector that we
have, every family is here, with the same type, the same labels and the same values."""

import functools
import re

import pytest

from harness import page, places
from harness.daemon import Daemon
from harness.waiting import until

# What node_exporter has and this daemon has not, by node_exporter's collector. A family that is
# here after all has to leave this table, so that it only shrinks. "*": all of them.
EXPECTED_MISSING = {
    "bcache": "*", "btrfs": "*", "fibrechannel": "*", "ipvs": "*", "systemd": "*",
    "tapestats": "*", "xfs": "*", "zfs": "*",
    # Which speeds a link could have: settings of the device, which `ethtool` shows.
    "ethtool": (re.compile(r"node_network_.*(supported|advertised|autonegotiate)"),),
    # A file of each thread: tens of thousands on a large host.
    "processes": (re.compile("node_processes_threads_state"),),
}
# Off there unless asked for, and on here.
ASKED_FOR = ("ethtool", "interrupts", "meminfo_numa", "processes", "tcpstat", "cpu.info",
             "stat.softirq")

COUNTERPARTS = {"node_exporter_build_info": "dynolog_build_info"}
# Of the host's Go programs, not of the host; or unlimited, which we do not say as a number.
NO_COUNTERPART = {"process_virtual_memory_max_bytes"}

# What a gauge may differ by when it did not stand still: parts of itself, and this many besides.
GAUGE_SHARE = 0.3
GAUGE_SLACK = {"node_load1": 5, "node_load5": 5, "node_load15": 5, "node_procs_running": 50,
               "node_procs_blocked": 50, "node_entropy_available_bits": 300,
               # A scrape is a connection itself, with sockets and files at both of its ends.
               "node_netstat_Tcp_CurrEstab": 20, "node_filefd_allocated": 100,
               "node_sockstat_sockets_used": 20, "node_sockstat_TCP_alloc": 20,
               "node_sockstat_TCP_inuse": 20, "node_sockstat_TCP_tw": 100,
               "node_sockstat_TCP_orphan": 20, "node_sockstat_TCP_mem": 50,
               "node_sockstat_TCP_mem_bytes": 50 * 4096, "node_sockstat_TCP6_inuse": 20,
               "node_tcp_connection_states": 100, "node_processes_state": 100,
               "node_processes_pids": 100, "node_processes_threads": 500,
               # Stacks of threads that come and go.
               "node_memory_VmallocUsed_bytes": 1 << 20}
# Of these a series is here from the start, and there as long as it is not 0.
ABSENT_AT_ZERO = {"node_processes_state", "node_tcp_connection_states"}
# Where a counter of ours is read at another instant than node_exporter reads its own.
COUNTER_SLACK = 1e-9


def collectors_of(exporter):
    families = page.page_of(exporter.url + "/metrics")
    success = families["node_scrape_collector_success"].series
    return sorted(dict(key)["collector"] for _, key in success)


def families_of(exporter, collector):
    families = page.page_of(f"{exporter.url}/metrics?collect[]={collector}")
    return {name for name in families if not page.ABOUT_AN_EXPORTER.match(name)}


def series_of(families, name):
    series = families[name].series if name in families else {}
    if name in ABSENT_AT_ZERO:
        return {key: value for key, value in series.items() if value > 0}
    if name == "node_network_speed_bytes":  # less than nothing: the kernel does not know the speed
        return {key: value for key, value in series.items() if value >= 0}
    return series


class Pages:
    """Theirs, ours after at least one reading of every tier but the slow one, theirs again."""

    def __init__(self, exporter, daemon):
        self.before = page.page_of(exporter.url + "/metrics")
        url = page.page_url(daemon)

        def runs():
            series = series_of(page.page_of(url), "dynolog_collector_runs_total")
            return {key: value for (_, key), value in series.items()
                    if ("result", "success") in key and value > 0}

        # The framework's own figures are read last, and every 10 s.
        start = runs()
        until("each collector to have read again", lambda: start and all(
            value > start.get(key, 0) for key, value in runs().items()
            if dict(key)["collector"] in self.quick(daemon)), pause=0.5)
        self.ours = page.page_of(url)
        self.after = page.page_of(exporter.url + "/metrics")

    @staticmethod
    @functools.cache
    def quick(daemon):
        """Collectors that run more often than each minute."""
        import json
        import subprocess
        text = subprocess.run([places.program("dynolog"), "--list_metrics", "--json"],
                              capture_output=True, text=True, check=True).stdout
        return {metric["collector"] for metric in json.loads(text)["metrics"]
                if metric.get("every", metric.get("tier")) != "60 s"}

    def faults_of(self, name):
        if name not in self.ours:
            return [f"{name}: is not here"] if series_of(self.after, name) else []
        ours, theirs = self.ours[name], self.after.get(name) or self.before[name]
        if ours.type != theirs.type:
            return [f"{name}: is of type {ours.type}, and {theirs.type} there"]
        before, after = series_of(self.before, name), series_of(self.after, name)
        both = before.keys() & after.keys()  # not what came or went meanwhile
        faults = [f"{name}: has no {dict(key)}" for _, key in both - ours.series.keys()]
        extra = series_of(self.ours, name).keys() - before.keys() - after.keys()
        faults += [f"{name}: has {dict(key)}, which is not there" for _, key in extra]
        for key in both & ours.series.keys():
            if not self.agrees(name, theirs.type, before[key], ours.series[key], after[key]):
                faults.append(f"{name}{dict(key[1])}: {ours.series[key]} is not between "
                              f"{before[key]} and {after[key]}")
        return faults

    @staticmethod
    def agrees(name, kind, before, value, after):
        low, high = min(before, after), max(before, after)
        if kind == "counter" or (kind == "untyped" and before != after and
                                 name not in GAUGE_SLACK):
            # Idle and iowait time may go back a little.
            slack = 0.05 if name == "node_cpu_seconds_total" else COUNTER_SLACK * abs(high)
        elif low == high and name not in GAUGE_SLACK:
            slack = 1e-6 * abs(high)
        else:
            slack = GAUGE_SLACK.get(name, 0) + GAUGE_SHARE * max(abs(low), abs(high))
        return low - slack <= value <= high + slack


# The pattern of node_exporter itself: Debian's leaves out /mnt, where NFS may be.
MOUNTS_EXCLUDE = ("^/(dev|proc|run/credentials/.+|sys|var/lib/docker/.+|"
                  "var/lib/containers/storage/.+)($|/)")
TEXT_FILES = {
    "host.prom": """\
# HELP reboot_needed Whether the host waits for a reboot
# TYPE reboot_needed gauge
reboot_needed{reason="kernel \\"6\\""} 1
jobs_total{queue="a"} 7
jobs_total{queue="b",prio="high"} 8
# TYPE probe_seconds histogram
probe_seconds_bucket{le="0.5"} 3
probe_seconds_bucket{le="+Inf"} 4
probe_seconds_sum 2.5
probe_seconds_count 4
# TYPE wait_seconds summary
wait_seconds{quantile="0.9"} 0.25
wait_seconds_sum 5
wait_seconds_count 20
""",
    "late.prom": "stamped 1 1700000000000\n",
    "other.prom": "node_other_things 5\n",
}


@pytest.fixture(scope="module")
def beside(tmp_path_factory):
    texts = tmp_path_factory.mktemp("texts")
    texts.chmod(0o755)
    for name, text in TEXT_FILES.items():
        (texts / name).write_text(text)
    exporter = page.node_exporter(tmp_path_factory.mktemp("node_exporter"),
                                  f"--collector.filesystem.mount-points-exclude={MOUNTS_EXCLUDE}",
                                  f"--collector.textfile.directory={texts}",
                                  *(f"--collector.{name}" for name in ASKED_FOR))
    daemon = Daemon("--noenable_ipc_monitor", "--no_tcp", "--prometheus_port=0",
                    "--interrupts_per_cpu", "--ethtool_include=", "--ethtool_exclude=",
                    # Once a minute, they would be compared with what was a minute ago.
                    "--collector_interval=ethtool=2,processes=2,tcpstat=2",
                    f"--textfile_directory={texts}").start()
    yield exporter, daemon
    daemon.close()
    exporter.close()


def missing_of(collector, there):
    """Of the families that a collector has there, those that are not expected here."""
    expected = EXPECTED_MISSING.get(collector, ())
    return set(there) if expected == "*" else {
        name for name in there for pattern in expected if pattern.fullmatch(name)}


def test_every_family_of_our_collectors(beside):
    exporter, daemon = beside
    wanted = set()
    for collector in collectors_of(exporter):
        there = families_of(exporter, collector)
        wanted |= there - missing_of(collector, there)
    assert {"node_cpu_seconds_total", "node_load1", "node_forks_total", "node_softirqs_total",
            "node_filesystem_avail_bytes", "node_textfile_mtime_seconds", "reboot_needed",
            "probe_seconds", "node_cpu_info", "node_interrupts_total", "node_processes_pids",
            "node_tcp_connection_states", "node_ethtool_info"} <= wanted
    # A gauge may jump between two readings: what is wrong stays wrong.
    faults = None
    for _ in range(3):
        pages = Pages(exporter, daemon)
        found = {fault.split(":")[0].split("{")[0]: fault for name in sorted(wanted)
                 for fault in pages.faults_of(name)}
        faults = found if faults is None else {
            name: fault for name, fault in found.items() if name in faults}
        if not faults:
            return
    pytest.fail("\n".join(faults.values()))


def test_the_table_of_what_is_missing_only_shrinks(beside):
    exporter, daemon = beside
    ours = page.page_of(page.page_url(daemon)).keys()
    here = {}
    for collector in collectors_of(exporter):
        found = missing_of(collector, families_of(exporter, collector)) & ours
        if found:
            here[collector] = sorted(found)
    assert not here, f"these are here now, take them out of EXPECTED_MISSING: {here}"


def test_the_page_about_it_names_what_is_missing():
    with open(places.REPOSITORY / "docs/prometheus.md") as file:
        text = file.read()
    section = text.split("\n## What node_exporter has and this page has not\n")[1]
    missing = {name for name, what in EXPECTED_MISSING.items() if what == "*"}
    missing -= {"systemd"}  # which node_exporter itself has off
    assert sorted(name for name in missing if f"`{name}`" not in section) == []
    assert "\n## Units of systemd\n" in text
    assert "node_processes_threads_state" in text and "_advertised` families" in text


def test_families_about_the_exporter_itself(beside):
    exporter, daemon = beside
    theirs = page.page_of(exporter.url + "/metrics")
    ours = page.page_of(page.page_url(daemon))
    for name in theirs:
        if not page.ABOUT_AN_EXPORTER.match(name) or name.startswith(("go_", "promhttp_")):
            continue
        if name in NO_COUNTERPART:
            continue
        counterpart = COUNTERPARTS.get(name, name)
        assert counterpart in ours, name
        assert ours[counterpart].type == theirs[name].type, name
    collectors = {dict(key)["collector"]
                  for _, key in ours["node_scrape_collector_success"].series}
    assert "cpu" in collectors
    build = ours["dynolog_build_info"].series
    assert list(build.values()) == [1]
    assert "version" in dict(next(iter(build))[1])
