"""The pages of recorded hosts, which are goldens that a unit test keeps fresh: beside those that
node_exporter makes of the same files, since this host cannot show what it has not; and beside those
that the daemon serves on such a host."""

import functools
import os
import re
import types

import pytest

from harness import page, places
from harness.recorded import RecordedHost, exporter_of, make_hosts
from harness.waiting import until

GOLDENS = {"numa-192cpu": "numa-192cpu-devices.prom", "vm-2cpu": "vm-2cpu.prom"}

# node_exporter's collectors, and what the number of their families is at least.
COLLECTORS = {
    "numa-192cpu": {
        "bonding": 2, "conntrack": 10, "cpu": 3, "cpufreq": 6, "edac": 4, "hwmon": 30,
        "infiniband": 25, "mdadm": 5, "meminfo_numa": 10, "mountstats": 53, "netclass": 19,
        "netdev": 16, "nfs": 6, "nfsd": 14, "nvme": 1, "powersupplyclass": 12, "rapl": 2,
        "thermal_zone": 3, "udp_queues": 1},
    "vm-2cpu": {
        "arp": 1, "cpu": 2, "diskstats": 18, "entropy": 2, "filefd": 2, "loadavg": 3,
        "meminfo": 50, "netdev": 16, "netstat": 39, "pressure": 5, "schedstat": 3, "sockstat": 18,
        "softnet": 3, "stat": 7, "vmstat": 7},
}
# Of the large host's CPUs only a few are recorded whole; its golden has no time of any.
NOT_IN_GOLDEN = {"numa-192cpu": {"node_cpu_seconds_total", "node_cpu_guest_seconds_total"},
                 "vm-2cpu": set()}
# Of the NFS server's operations node_exporter 1.5 takes these from others' columns, two before.
WRONG_THERE = {"node_nfsd_requests_total": {"Verify", "Write", "RelLockOwner"}}
# There are no connections over UDP; there they are 0.
NOT_OF_UDP = {"node_mountstats_nfs_transport_connect_total",
              "node_mountstats_nfs_transport_idle_time_seconds"}


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    return make_hosts(tmp_path_factory.mktemp("hosts"))


@pytest.fixture(scope="module")
def hosts(directory, tmp_path_factory):
    """name -> where node_exporter serves it, and its directory."""
    found = {}
    try:
        for name in GOLDENS:
            host = directory / name
            exporter = exporter_of(host, tmp_path_factory.mktemp("node_exporter"))
            found[name] = types.SimpleNamespace(url=exporter.url, path=host, exporter=exporter)
        yield found
    finally:
        for host in found.values():
            host.exporter.close()


def golden_text(name):
    return (places.REPOSITORY / "tests" / "golden" / GOLDENS[name]).read_text()


@functools.cache
def golden(name):
    return page.parse_page(golden_text(name))


def normal(key, host):
    """Labels without those that are empty, which are none; paths as the host itself has them;
    blanks for what the kernel writes in their place."""
    name, labels = key
    return name, frozenset((label, value.removeprefix(str(host)).replace(r"\\040", " "))
                           for label, value in labels if value)


def series_of(family, host):
    """But clocks, which node_exporter 1.5 does not know yet. Nor has it more than the last
    connection of a mount, and no label `transport` of it."""
    return {normal((name, {pair for pair in key if pair[0] != "transport"}), host): value
            for (name, key), value in family.series.items()
            if not dict(key).get("sensor", "").startswith("freq")}


@pytest.mark.parametrize("name,collector", [(name, collector) for name in COLLECTORS
                                            for collector in COLLECTORS[name]])
def test_each_family_has_the_same_series_and_values(hosts, name, collector):
    ours, theirs = golden(name), hosts[name]
    families = {family: read for family, read in
                page.page_of(f"{theirs.url}/metrics?collect[]={collector}").items()
                if not page.ABOUT_AN_EXPORTER.match(family)
                and family not in NOT_IN_GOLDEN[name]}
    assert len(families) >= COLLECTORS[name][collector], sorted(families)
    faults = [fault for family, read in families.items()
              for fault in faults_of(family, read, ours, theirs.path)]
    assert not faults, "\n".join(faults)


def faults_of(name, theirs, page_of_ours, host):
    if name not in page_of_ours:
        return [f"{name} is not here"]
    ours = page_of_ours[name]
    if ours.type != theirs.type:
        return [f"{name} is of type {ours.type}, and {theirs.type} there"]
    expected, found = series_of(theirs, host), series_of(ours, host)
    if name == "node_network_speed_bytes":  # less than nothing: the speed is not known
        expected = {key: value for key, value in expected.items() if value >= 0}
    if name in NOT_OF_UDP:
        expected = {key: value for key, value in expected.items()
                    if ("protocol", "udp") not in key[1]}
    faults = [f"not here: {key}" for key in expected.keys() - found.keys()]
    faults += [f"not there: {key}" for key in found.keys() - expected.keys()]
    return faults + [f"{key} is {found[key]}, and {expected[key]} there"
                     for key in expected.keys() & found.keys()
                     if found[key] != pytest.approx(expected[key], rel=1e-9, abs=1e-9)
                     and dict(key[1]).get("method") not in WRONG_THERE.get(name, ())]


# Of the daemon itself; and what no file of the recording is read for, or none of /proc and /sys.
ABOUT_US = re.compile("dynolog_(collector|pipeline|sink)_|node_scrape_collector_")
NOT_SERVED = {
    "numa-192cpu": "node_(md_|mountstats_|nf_conntrack_|selinux_)",
    "vm-2cpu": "(node_(filesystem|textfile|selinux)_|reboot_needed|probe_seconds|"
               "dynolog_(job|process)_)"}
# What a running kernel without such a file cannot be made to show.
FILES = {"/proc/schedstat": "node_schedstat_", "/proc/pressure": "node_pressure_",
         "/proc/net/snmp6": "node_netstat_(Icmp6|Ip6|Udp6|UdpLite6)_"}
SERVED = {
    "numa-192cpu": ["bonding", "cpufreq", "cpuinfo", "edac", "hwmon", "infiniband",
                    "infiniband_hw", "meminfo_numa", "netclass", "netdev", "nfs", "nfsd", "nvme",
                    "powersupplyclass", "rapl", "thermal_zone", "udp_queues"],
    "vm-2cpu": ["arp", "cpu", "diskstats", "entropy", "filefd", "interrupts", "load", "meminfo",
                "netdev", "netstat", "pressure", "schedstat", "sockstat", "softnet", "uname",
                "vmstat"]}


def by_family(text):
    """name -> its lines, help and type included."""
    found, lines = {}, []
    for line in text.splitlines():
        if line.startswith("# HELP "):
            lines = found.setdefault(line.split(" ")[2], [])
        lines.append(line)
    return {name: lines for name, lines in found.items() if not ABOUT_US.match(name)}


@pytest.mark.parametrize("name", SERVED)
def test_the_daemon_serves_the_page_of_the_host_that_it_runs_on(daemon, directory, name):
    served = daemon("--noenable_ipc_monitor", "--no_tcp", "--prometheus_port=0",
                    namespace=RecordedHost(directory / name))
    url = page.page_url(served) + "?" + "&".join(f"collect[]={each}" for each in SERVED[name])
    text = until("the first frame", lambda: page.get_if_ready(url))
    ours, expected = by_family(text), by_family(golden_text(name))
    for family, lines in ours.items():
        assert lines == expected.get(family), family
    missing = "|".join([NOT_SERVED[name],
                        *(names for file, names in FILES.items() if not os.path.exists(file))])
    assert not [family for family in expected.keys() - ours.keys()
                if not re.match(missing, family)]
