"""What promtool has to say of our pages, and no more than of node_exporter's: of this host's, of
recorded hosts' goldens, and of a Lustre client's."""

import subprocess

import pytest

from harness import page, places
from harness.daemon import environment
from harness.recorded import RecordedHost, exporter_of, make_hosts
from harness.waiting import until

SERVED = ("--noenable_ipc_monitor", "--no_tcp", "--prometheus_port=0")
GOLDENS = {"numa-192cpu": "numa-192cpu-devices.prom", "vm-2cpu": "vm-2cpu.prom"}

# Which later versions of node_exporter have too.
LATER = ("node_netstat_TcpExt_TCPOFOQueue", "node_netstat_TcpExt_TCPRcvQDrop")


def complaints_of(text):
    """{(family, complaint)}"""
    answer = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True,
                            text=True, env=environment(), timeout=60)
    assert answer.returncode in (0, 3), answer.stderr  # 3: it has complaints
    return {tuple(line.split(" ", 1)) for line in (answer.stdout + answer.stderr).splitlines()}


def complaints_of_exporter(exporter):
    try:
        found = complaints_of(page.get(exporter.url + "/metrics"))
    finally:
        exporter.close()
    assert found  # of camel case, at least
    return found | {(name, complaint) for name in LATER for known, complaint in found
                    if known == "node_netstat_TcpExt_TCPTimeouts"}


@pytest.fixture
def directory(tmp_path):
    return make_hosts(tmp_path / "hosts")


def test_of_this_hosts_page(daemon, tmp_path):
    wanted = ("ethtool", "interrupts", "meminfo_numa", "processes", "tcpstat", "stat.softirq")
    known = complaints_of_exporter(page.node_exporter(
        tmp_path, *(f"--collector.{name}" for name in wanted)))
    url = page.page_url(daemon(*SERVED))
    assert not complaints_of(until("the first frame", lambda: page.get_if_ready(url))) - known


@pytest.mark.parametrize("name", GOLDENS)
def test_of_a_recorded_hosts_page(name, directory, tmp_path):
    known = complaints_of_exporter(exporter_of(directory / name, tmp_path))
    text = (places.REPOSITORY / "tests" / "golden" / GOLDENS[name]).read_text()
    assert not complaints_of(text) - known


def test_of_a_lustre_clients_page(daemon, directory):
    """None of its names is node_exporter's: there is nothing to say of them."""
    host = RecordedHost(directory / "lustre-client")
    url = page.page_url(daemon(*SERVED, namespace=host)) + "?collect[]=lustre"
    text = until("the first frame", lambda: page.get_if_ready(url))
    assert "lustre_read_bytes_total" in page.parse_page(text)
    assert not complaints_of(text)
