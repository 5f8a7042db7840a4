"""The page of metrics, as curl, promtool and a real Prometheus server read it."""

import gzip
import json
import os
import re
import shutil
import socket
import subprocess
import time

import pytest

from harness import certificates, page, readings
from harness.daemon import environment
from harness.waiting import until

SERVED = ("--noenable_ipc_monitor", "--no_tcp", "--prometheus_port=0")


def curl(*arguments, check=True):
    answer = subprocess.run(["curl", "--silent", "--show-error", "--max-time", "30", *arguments],
                            capture_output=True, env=environment(), timeout=60)
    if check:
        assert answer.returncode == 0, answer.stderr.decode()
    return answer


def status_of(*arguments):
    return curl("--output", "/dev/null", "--write-out", "%{http_code}", *arguments).stdout.decode()


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    from harness.daemon import Daemon
    daemon = Daemon(*SERVED).start()
    until("the first frame", lambda: status_of(page.page_url(daemon, "/readyz")) == "200")
    yield daemon
    daemon.close()


@pytest.fixture
def url(served):
    return page.page_url(served)


def test_formats_and_compression(url):
    head, body = curl("--include", url).stdout.decode().split("\r\n\r\n", 1)
    assert "\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8" in head
    families = page.parse_page(body)
    assert {"node_cpu_seconds_total", "node_load1", "process_cpu_seconds_total",
            "node_scrape_collector_success", "dynolog_build_info"} <= families.keys()
    assert families["node_cpu_seconds_total"].type == "counter"

    zipped = curl("--header", "Accept-Encoding: gzip", url).stdout
    assert page.parse_page(gzip.decompress(zipped).decode()).keys() == families.keys()
    assert len(zipped) < len(body) / 3

    head, body = curl("--include", "--header", "Accept: application/openmetrics-text",
                      url).stdout.decode().split("\r\n\r\n", 1)
    assert "\r\nContent-Type: application/openmetrics-text; version=1.0.0" in head
    assert body.endswith("\n# EOF\n")
    assert "# TYPE node_cpu_seconds counter\n" in body

    head = curl("--head", url).stdout.decode()
    assert re.search(r"\r\nContent-Length: [1-9]\d{3,}\r\n", head), head


def test_no_users_and_no_pids(served, url):
    """Where no job is; test_job_metrics.py looks at one with a job."""
    families = page.page_of(url)
    pairs = {pair for family in families.values() for _, key in family.series for pair in key}
    labels = {name for name, _ in pairs}
    assert not labels & {"user", "username", "uid", "pid", "job", "instance"}, labels
    assert str(served.pid) not in {value for _, value in pairs}


def test_parts_of_the_page(url):
    families = page.page_of(url + "?collect[]=load")
    assert families.keys() == {
        "node_load1", "node_load5", "node_load15", "dynolog_host_threads",
        "node_scrape_collector_success", "node_scrape_collector_duration_seconds",
        "dynolog_collector_runs_total", "dynolog_collector_last_success_timestamp_seconds"}
    answer = curl("--globoff", "--write-out", "%{http_code}", url + "?collect[]=nonsense").stdout
    assert b"no collector 'nonsense'; there are: arp" in answer and answer.endswith(b"400")

    whole, rest = page.page_of(url), page.page_of(url + "?exclude[]=load&exclude[]=zfs")
    assert whole.keys() - rest.keys() >= {"node_load1", "dynolog_host_threads"}
    assert rest.keys() >= {"node_cpu_seconds_total", "node_scrape_collector_success"}
    assert not [key for _, key in rest["node_scrape_collector_success"].series
                if ("collector", "load") in key]
    both = curl("--globoff", "--write-out", "%{http_code}", url + "?collect[]=cpu&exclude[]=load")
    assert both.stdout.endswith(b"400") and b"exclude each other" in both.stdout, both.stdout


def test_other_pages(served):
    def at(path):
        return page.page_url(served, path)

    assert b'<a href="/metrics">' in curl(at("/")).stdout
    assert curl(at("/healthz")).stdout == b"ok\n"
    assert curl(at("/readyz")).stdout == b"ready\n"
    assert status_of(at("/nowhere")) == "404"
    assert status_of("--data", "x=1", at("/metrics")) in ("405", "413")
    assert status_of("--header", "X: " + "x" * 9000, at("/metrics")) == "431"


def test_families(daemon):
    served = daemon(*SERVED, "--prometheus_families=own")
    until("the page", lambda: status_of(page.page_url(served)) == "200")
    families = page.page_of(page.page_url(served))
    assert families and not [name for name in families if name.startswith("node_")]


def test_a_taken_port_degrades_and_nothing_else(daemon):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        served = daemon("--noenable_ipc_monitor", "--no_tcp", f"--prometheus_port={port}")
        feature = served.feature("prometheus:")
        assert [f["state"] for f in feature] == ["degraded"]
        assert f"port {port} is taken by another process" in feature[0]["reason"]
        assert served.log().count(f"port {port} is taken") == 1
        until("metrics all the same", lambda: [
            c for c in served.status()["collectors"] if c["name"] == "cpu" and c["successes"] > 1])


def test_passwords_and_tokens(daemon, scratch):
    secrets = {"basic": "prom:s3:cret\n", "token": "t0ken\n"}
    for name, text in secrets.items():
        with open(os.path.join(scratch, name), "w") as file:
            file.write(text)
    served = daemon(*SERVED, f"--prometheus_basic_auth_file={scratch}/basic",
                    f"--prometheus_token_file={scratch}/token")
    until("the first frame", lambda: status_of(page.page_url(served, "/readyz")) == "200")
    url = page.page_url(served)
    assert status_of(url) == "401"
    assert status_of("--user", "prom:s3:cret", url) == "200"
    assert status_of("--user", "prom:wrong", url) == "401"
    assert status_of("--header", "Authorization: Bearer t0ken", url) == "200"
    assert status_of("--header", "Authorization: Bearer t0kem", url) == "401"


def secure(served, path="/metrics"):
    return page.page_url(served, path).replace("http://", "https://")


def test_tls_and_renewal(daemon, scratch):
    certificates.make_ca(scratch)
    certificates.make_certificate(scratch, "server")
    served = daemon(*SERVED, f"--prometheus_tls_cert={scratch}/server.pem",
                    f"--prometheus_tls_key={scratch}/server.key")
    trust = ("--cacert", f"{scratch}/ca.pem")
    until("the first frame", lambda: status_of(*trust, secure(served, "/readyz")) == "200")
    assert b"node_load1 " in curl(*trust, "--compressed", secure(served)).stdout
    assert curl(secure(served), check=False).returncode == 60, "not trusted without the CA"
    assert curl(page.page_url(served), check=False).returncode != 0, "no plain HTTP"
    old = curl("--tls-max", "1.1", *trust, secure(served), check=False)
    assert old.returncode != 0, "no old TLS"

    certificates.make_ca(scratch, "new")
    certificates.make_certificate(scratch, "renewed", "new")
    shutil.move(f"{scratch}/renewed.key", f"{scratch}/server.key")
    shutil.move(f"{scratch}/renewed.pem", f"{scratch}/server.pem")
    assert status_of("--cacert", f"{scratch}/new.pem", secure(served)) == "200"
    with open(f"{scratch}/server.pem", "w") as file:
        file.write("half a file")
    assert status_of("--cacert", f"{scratch}/new.pem", secure(served)) == "200", "what was stays"


def test_only_clients_with_a_certificate(daemon, scratch):
    certificates.make_ca(scratch)
    certificates.make_ca(scratch, "strangers")
    certificates.make_certificate(scratch, "server")
    certificates.make_certificate(scratch, "client")
    certificates.make_certificate(scratch, "stranger", "strangers")
    served = daemon(*SERVED, f"--prometheus_tls_cert={scratch}/server.pem",
                    f"--prometheus_tls_key={scratch}/server.key",
                    f"--prometheus_tls_client_ca={scratch}/ca.pem")

    def come_as(name):
        return ("--cacert", f"{scratch}/ca.pem", "--cert", f"{scratch}/{name}.pem",
                "--key", f"{scratch}/{name}.key")

    until("the first frame", lambda: status_of(*come_as("client"), secure(served)) == "200")
    assert curl("--cacert", f"{scratch}/ca.pem", secure(served), check=False).returncode != 0
    assert curl(*come_as("stranger"), secure(served), check=False).returncode != 0
    assert status_of(*come_as("client"), secure(served)) == "200"


PROMETHEUS = """
global: {scrape_interval: 1s, scrape_timeout: 1s}
scrape_configs:
- job_name: dynolog
  static_configs: [{targets: ["%s"]}]
- job_name: secured
  authorization: {credentials: t0ken}
  static_configs: [{targets: ["%s"]}]
"""


class Prometheus:
    def __init__(self, directory, *targets):
        with open(f"{directory}/prometheus.yml", "w") as file:
            file.write(PROMETHEUS % targets)
        port = page.free_port()
        self.server = page.Server(
            ["prometheus", f"--config.file={directory}/prometheus.yml",
             f"--storage.tsdb.path={directory}/tsdb", f"--web.listen-address=127.0.0.1:{port}"],
            f"http://127.0.0.1:{port}", f"{directory}/prometheus.log")
        self.server.wait_ready("/-/ready")

    def query(self, expression, at=None):
        command = ["--get", "--data-urlencode", f"query={expression}",
                   f"{self.server.url}/api/v1/query"]
        if at:
            command += ["--data", f"time={at}"]
        answer = json.loads(curl(*command).stdout)
        assert answer["status"] == "success", answer
        return answer["data"]["result"]

    def scalar(self, expression, at=None):
        result = self.query(expression, at)
        return float(result[0]["value"][1]) if result else None


def json_lines(path):
    with open(path) as file:
        return [json.loads(line) for line in file if line.endswith("\n")]


def test_a_real_server_scrapes_for_a_minute_and_its_rates_agree(daemon, scratch):
    with open(f"{scratch}/token", "w") as file:
        file.write("t0ken\n")
    lines = f"{scratch}/lines.json"
    served = daemon(*SERVED, "--use_history", "--use_JSON", "--json_interval_s=1",
                    f"--json_file={lines}")
    secured = daemon(*SERVED, f"--prometheus_token_file={scratch}/token")
    for each in (served, secured):
        until("the first frame", lambda: status_of(page.page_url(each, "/readyz")) == "200")
    prometheus = Prometheus(scratch, *(
        page.page_url(each, "").removeprefix("http://") for each in (served, secured)))
    try:
        window = 'job="dynolog"'
        until("a minute of scrapes", lambda: (prometheus.scalar(
            f"count_over_time(up{{{window}}}[5m])") or 0) >= 60, pause=0.5)
        for job in ("dynolog", "secured"):
            assert prometheus.scalar(f'min_over_time(up{{job="{job}"}}[5m])') == 1
        # Every CPU spends a second a second.
        busy = prometheus.scalar(f"sum(rate(node_cpu_seconds_total{{{window}}}[15s]))")
        assert busy == pytest.approx(os.sysconf("SC_NPROCESSORS_ONLN"), rel=0.1)
        check_against_json_lines(prometheus, lines)
        check_against_the_history(prometheus, served)
        types = json.loads(curl(f"{prometheus.server.url}/api/v1/metadata").stdout)["data"]
        # OpenMetrics, which the server asks for, names a counter's family without its suffix.
        assert types["node_forks"][0]["type"] == "counter"
        assert types["node_load1"][0]["type"] == "gauge"
    finally:
        prometheus.server.close()


def check_against_json_lines(prometheus, lines):
    """The same counter by two sinks: what Prometheus stored is what the lines sum up to."""
    now = time.time()
    samples = prometheus.query('node_context_switches_total{job="dynolog"}[15s]', now)[0]["values"]
    stored = [float(value) for _, value in samples]
    sums = [0]
    for line in json_lines(lines):
        sums.append(sums[-1] + line.get("context_switches", 0))
    increase = stored[-1] - stored[0]
    assert increase > 0
    assert any(b - a == increase for i, a in enumerate(sums) for b in sums[i + 1:]), (stored, sums)
    rate = prometheus.scalar('rate(node_context_switches_total{job="dynolog"}[15s])', now)
    own = increase / (samples[-1][0] - samples[0][0])
    assert rate == pytest.approx(own, rel=0.01)


# Seconds that a rate is of.
STRETCH = 30


def check_against_the_history(prometheus, served):
    """The same stretch of time by rate() there and by `dyno metrics query --rate` here."""
    end = int(time.time()) - 3  # both have it
    busy = set()
    for metric, family, keys in (
            ("cpu.time", "node_cpu_seconds_total", ("cpu", "mode")),
            ("disk.written_bytes", "node_disk_written_bytes_total", ("device",)),
            ("net.received_bytes", "node_network_receive_bytes_total", ("device",))):
        theirs = {tuple(one["metric"][key] for key in keys): float(one["value"][1])
                  for one in prometheus.query(f'rate({family}{{job="dynolog"}}[{STRETCH}s])', end)}
        ours = rates_of(served, metric, keys, end)
        assert theirs and theirs.keys() == ours.keys(), (theirs, ours)
        for name, rate in theirs.items():
            least, middle, most = ours[name]
            assert least <= rate <= most, (metric, name, rate, ours[name])
            if metric == "cpu.time":  # at most one a second: a second more or less at each end
                assert rate == pytest.approx(middle, rel=0.05, abs=2 / STRETCH), (name, ours[name])
            if rate > 0.05:
                busy.add(metric)
    assert "cpu.time" in busy


def rates_of(served, metric, keys, end):
    """labels -> (least, middle, greatest): the mean rate of the stretch, and what one lies between
    whose first and last samples are up to two seconds off, over which it is extrapolated."""
    reply = served.dyno("metrics", "query", metric, "--rate", "--step", "1s", "--from",
                        readings.rfc3339(end - STRETCH - 3), "--to", readings.rfc3339(end + 2),
                        "--json")
    assert reply.code == 0, reply
    first = reply.json["begin_ms"] // 1000

    def increase(series, begin, until_):
        values = series["values"][begin - first:until_ - first]
        assert None not in values, (series, begin, until_)
        return sum(values)

    return {tuple(series["labels"][key] for key in keys): (
        0.95 * increase(series, end - STRETCH + 3, end - 3) / STRETCH,
        increase(series, end - STRETCH, end) / STRETCH,
        1.05 * increase(series, end - STRETCH - 2, end + 1) / (STRETCH - 3))
        for series in reply.json["results"][0]["series"]}
