"""OTLP into a receiver of other people's making: a VictoriaMetrics that takes it, and scrapes our
page besides."""

import json
import os
import shlex
import shutil
import subprocess
import urllib.parse

import pytest

from harness import page
from harness.daemon import environment
from harness.waiting import until

# The first words of the command: a loader may stand before a program of another distribution.
PROGRAM = shlex.split(os.environ.get("DYNOLOG_OTLP_RECEIVER", "")) or ["victoria-metrics"]
SCRAPE = """
scrape_configs:
- job_name: page
  scrape_interval: 1s
  scrape_timeout: 1s
  static_configs: [{targets: ["%s"]}]
"""
POSTED = "dynolog_host_context_switches_total"
SCRAPED = "node_context_switches_total"


def takes_otlp():
    if not shutil.which(PROGRAM[0]):
        return False
    said = subprocess.run([*PROGRAM, "--help"], capture_output=True, text=True, env=environment(),
                          timeout=60)
    return "opentelemetry.usePrometheusNaming" in said.stdout + said.stderr


class Receiver:
    """A server that takes OTLP, and scrapes `target`."""

    def __init__(self, directory, port, target):
        with open(f"{directory}/scrape.yml", "w") as file:
            file.write(SCRAPE % target)
        self.server = page.Server(
            [*PROGRAM, f"-storageDataPath={directory}/store", f"-httpListenAddr=127.0.0.1:{port}",
             "-opentelemetry.usePrometheusNaming", f"-promscrape.config={directory}/scrape.yml",
             "-search.latencyOffset=0s"],  # newest values are to be seen at once
            f"http://127.0.0.1:{port}", f"{directory}/receiver.log").wait_ready("/health")

    def query(self, expression, at=None):
        """[(labels, value or values)]"""
        when = {"time": at} if at else {}
        text = urllib.parse.urlencode({"query": expression, "nocache": 1, **when})
        answer = json.loads(page.get(f"{self.server.url}/api/v1/query?{text}"))
        assert answer["status"] == "success", answer
        return [(each["metric"], each.get("values") or each["value"])
                for each in answer["data"]["result"]]

    def values(self, name):
        """[(time, value)] of the one series of this name in the last minute."""
        found = self.query(f"{name}[1m]")
        assert len(found) <= 1, found
        return [(at, float(value)) for at, value in found[0][1]] if found else []


@pytest.fixture
def pair(daemon, scratch):
    """(daemon, server that has taken 20 of its requests, and scraped as often)"""
    if not takes_otlp():
        pytest.skip("no VictoriaMetrics that receives OTLP (1.92 or newer): DYNOLOG_OTLP_RECEIVER "
                    "may name its program")
    port = page.free_port()
    served = daemon("--noenable_ipc_monitor", "--no_tcp", "--prometheus_port=0", "--use_otlp",
                    f"--otlp_endpoint=http://127.0.0.1:{port}/opentelemetry/v1/metrics",
                    "--otlp_interval_s=1", "--otlp_service_name=hosts",
                    "--otlp_resource_attributes=deployment.environment.name=test,rack=r7")
    # The receiver comes when the daemon has posted for a while.
    until("a refused request", lambda: sink_of(served)["failing"])
    receiver = Receiver(scratch, port, page.page_url(served, "").removeprefix("http://"))
    try:
        until("requests and scrapes", lambda: all(
            len(receiver.values(name)) >= 20 for name in (POSTED, SCRAPED)), pause=0.5)
        yield served, receiver
    finally:
        receiver.server.close()


def sink_of(served):
    return next(c for c in served.status()["collectors"] if c["name"] == "otlp")


def test_a_real_receiver_takes_all_of_it(pair):
    served, receiver = pair
    check_resource(receiver)
    check_metrics(receiver)
    check_against_page(receiver)
    # What waited for the receiver has been sent, and nothing was refused.
    sink = until("no more complaints", lambda: not sink_of(served)["failing"] and sink_of(served))
    assert sink["dropped"] == 0, sink
    log = served.log()
    assert "such requests are dropped" not in log and "rejected" not in log, log


def check_resource(receiver):
    """This server makes labels of a resource's attributes."""
    ((labels, _),) = receiver.query(POSTED)
    assert labels["service_name"] == "hosts" and labels["service_instance_id"], labels
    assert labels["os_type"] == "linux" and labels["host_name"] and labels["service_version"]
    assert labels["deployment_environment_name"] == "test" and labels["rack"] == "r7", labels


def check_metrics(receiver):
    modes = {labels["cpu_mode"] for labels, _ in receiver.query("system_cpu_time_seconds_total")}
    assert {"user", "system", "idle"} <= modes
    ((_, total),) = receiver.query("system_memory_limit_bytes")
    with open("/proc/meminfo") as file:
        assert float(total[1]) == int(file.readline().split()[1]) * 1024
    states = {labels["system_memory_state"]
              for labels, _ in receiver.query("system_memory_usage_bytes")}
    assert {"used", "free", "cached"} <= states
    assert receiver.query("dynolog_load_1m_ratio"), "a gauge of unit 1 is a ratio there"
    ((_, value),) = receiver.query('count({service_name="hosts"})')
    assert float(value[1]) > 300


def check_against_page(receiver):
    """The same counter on both ways, and what the server's rate() makes of it."""
    scraped = receiver.values(SCRAPED)
    posted = receiver.values(POSTED)
    readings = [value for _, value in posted]
    shown = [value for _, value in scraped if readings[0] <= value <= readings[-1]]
    assert len(shown) >= 10, (posted, scraped)
    assert set(shown) <= set(readings), "each reading that the page showed was posted, too"
    (begin, first), (end, last) = posted[-11], posted[-1]
    rate = float(receiver.query(f"rate({POSTED}[{end - begin:.3f}s])", end)[0][1][1])
    assert rate == pytest.approx((last - first) / (end - begin), rel=0.15)
