"""OTLP as OpenTelemetry's own decoder reads it; receivers that are busy, silent or away."""

import os
import time

import pytest

from harness import certificates
from harness.otlp import OtlpReceiver, partial_success, points, tls_context
from harness.waiting import PATIENCE, until

FAST = ("--noenable_ipc_monitor", "--no_tcp", "--use_otlp", "--otlp_interval_s=1")


@pytest.fixture
def receiver():
    made = []

    def create(**options):
        made.append(OtlpReceiver(**options))
        return made[-1]
    yield create
    for each in made:
        each.close()


def sink(daemon):
    found = next(c for c in daemon.status()["collectors"] if c["name"] == "otlp")
    return {"last_error": "", **found}  # absent while there was none


def requests(receiver, count):
    return until(f"{count} requests", lambda: len(receiver.received) >= count and receiver.received)


def latest(received):
    """The newest point of each stream over several requests: (metric, attributes) -> point."""
    found = {}
    for request in received:
        for name, metric in request.metrics().items():
            for key, point in points(metric).items():
                found[name, key] = point
    return found


@pytest.fixture(scope="module")
def talk(tmp_path_factory):
    """What one daemon said in some seconds, and when it was started."""
    from harness.daemon import Daemon
    receiver = OtlpReceiver()
    before = time.time()
    daemon = Daemon(*FAST, f"--otlp_endpoint={receiver.url()}", "--otlp_headers=X-Tenant=a%2Cb",
                    "--otlp_resource_attributes=deployment.environment.name=test,host.name=other"
                    ).start()
    requests(receiver, 4)
    status = sink(daemon)
    daemon.close()
    receiver.close()
    return receiver.received, before, status


def machine_id():
    """Images of containers have none, or an empty one."""
    try:
        with open("/etc/machine-id") as file:
            return file.read().strip()
    except FileNotFoundError:
        return ""


def test_headers_and_resource(talk):
    received, _, status = talk
    request = received[0]
    assert request.path == "/v1/metrics"
    assert request.headers["Content-Type"] == "application/x-protobuf"
    assert request.headers["Content-Encoding"] == "gzip"
    assert request.headers["X-Tenant"] == "a,b"
    assert request.headers["User-Agent"].startswith("dynolog/")
    assert request.raw_size > 3 * request.size
    resource = request.resource
    assert resource["service.name"] == "dynolog" and resource["service.version"]
    assert resource["os.type"] == "linux"
    assert resource["host.name"] == "other" and resource["deployment.environment.name"] == "test"
    if identity := machine_id():
        assert resource["host.id"] == resource["service.instance.id"] == identity
    else:
        assert "host.id" not in resource
    assert resource["host.arch"] == {"x86_64": "amd64", "aarch64": "arm64"}[os.uname().machine]
    assert status["failures"] == 0, status


def test_a_host_without_an_id_goes_by_its_name(receiver, unstarted_daemon):
    """As one started from an image: many would be one host for the receiver."""
    taker = receiver()
    served = unstarted_daemon(*FAST, f"--otlp_endpoint={taker.url()}")
    command = served.command()
    served.command = lambda: ["unshare", "--mount", "--propagation", "private", "sh", "-c",
                              '[ ! -e /etc/machine-id ] || mount --bind /dev/null /etc/machine-id'
                              '; exec "$@"', "sh", *command]
    served.start()
    resource = requests(taker, 1)[0].resource
    assert "host.id" not in resource, resource
    assert resource["service.instance.id"] == resource["host.name"] == os.uname().nodename, resource


def test_names_units_and_kinds(talk):
    received, _, _ = talk
    metrics = received[0].metrics()
    expected = {  # name: (kind, unit)
        "system.cpu.time": ("counter", "s"),
        "system.memory.usage": ("up-down", "By"),
        "system.memory.limit": ("up-down", "By"),
        "system.network.io": ("counter", "By"),
        "system.process.count": ("up-down", "{process}"),
        "system.process.created": ("counter", "{process}"),
        "process.cpu.time": ("counter", "s"),
        "process.memory.usage": ("up-down", "By"),
        "dynolog.load.1m": ("gauge", "1"),
        "dynolog.collector.duration": ("gauge", "s"),
    }
    for name, (kind, unit) in expected.items():
        metric = metrics[name]
        assert metric.unit == unit, metric.name
        assert metric.description, metric.name
        if kind == "gauge":
            assert metric.HasField("gauge"), name
            continue
        assert metric.sum.aggregation_temporality == 2, name  # cumulative
        assert metric.sum.is_monotonic == (kind == "counter"), name
    for name in metrics:
        assert name.split(".")[0] in ("system", "process", "hw", "dynolog", "nfs", "container")
    modes = {dict(key)["cpu.mode"] for key in points(metrics["system.cpu.time"])}
    assert {"user", "system", "idle"} <= modes
    assert all(set(dict(key)) == {"cpu.mode"} for key in points(metrics["system.cpu.time"]))
    assert {dict(key).get("network.io.direction")
            for key in points(metrics["system.network.io"])} <= {"receive", "transmit"}


def test_times_and_starts(talk):
    received, before, _ = talk
    with open("/proc/stat") as file:
        boot = next(int(line.split()[1]) for line in file if line.startswith("btime"))
    now = time.time()
    seen = {}
    for request in received:
        for name, metric in request.metrics().items():
            data = metric.sum if metric.HasField("sum") else metric.gauge
            for key, point in points(metric).items():
                at, start = point.time_unix_nano / 1e9, point.start_time_unix_nano / 1e9
                assert before - 2 < at < now + 1, (name, key)
                if metric.HasField("gauge"):
                    assert start == 0, name
                elif name.startswith(("dynolog.collector", "dynolog.sink", "process.cpu")):
                    assert before - 2 < start <= at, (name, start, at)
                elif name.startswith("system."):
                    assert abs(start - boot) < 3, (name, start, boot)
                earlier = seen.get((name, key))
                if earlier:
                    assert point.time_unix_nano > earlier.time_unix_nano, (name, key)
                    if metric.HasField("sum") and data.is_monotonic:
                        assert point.start_time_unix_nano == earlier.start_time_unix_nano
                        assert point.as_double >= earlier.as_double, (name, key)
                seen[name, key] = point
    assert len(seen) > 100


def test_values_are_the_kernels(receiver, daemon):
    taker = receiver()
    daemon(*FAST, f"--otlp_endpoint={taker.url()}")
    requests(taker, 2)
    with open("/proc/meminfo") as file:
        fields = {line.split(":")[0]: int(line.split()[1]) * 1024 for line in file}
    found = latest(taker.received)
    assert found["system.memory.limit", ()].as_double == fields["MemTotal"]
    with open("/proc/stat") as file:
        ticks = file.readline().split()
    idle = int(ticks[4]) / 100
    assert abs(found["system.cpu.time", (("cpu.mode", "idle"),)].as_double - idle) < 30


def test_busy_receivers_lose_nothing(receiver, daemon):
    taker = receiver()
    taker.answers = [(503, {}, b"starting"), (429, {"Retry-After": "4"}, b"slow down"), "hang up",
                     (502, {}, b"")]
    served = daemon(*FAST, f"--otlp_endpoint={taker.url()}")
    until("its complaint", lambda: "the receiver answers" in sink(served)["last_error"])
    received = requests(taker, 3)
    # 1 s, 2 s, 4 s, give or take a fifth; the second one as long as was asked for. Who hangs up on
    # a connection that was kept is called again at once: it may just have closed it.
    waited = [b - a for a, b in zip(taker.arrivals, taker.arrivals[1:])]
    assert waited[0] >= 0.75 and waited[1] >= 3.95 and waited[3] >= 3.15, waited
    first = received[0].metrics()["system.cpu.time"]
    assert {p.time_unix_nano for p in points(first).values()}
    times = [max(p.time_unix_nano for p in points(r.metrics()["system.cpu.time"]).values())
             for r in received]
    assert times == sorted(times)
    assert max(b - a for a, b in zip(times, times[1:])) < 1.9e9, "every second's request arrived"
    until("all to be well", lambda: not sink(served)["failing"])
    assert served.log().count("sink otlp failed") == 1, served.log()


def test_refusals_and_partial_successes_are_told(receiver, daemon):
    taker = receiver()
    taker.answers = [(400, {"Content-Type": "text/plain"}, b"no such tenant")] * 2 + \
        [partial_success(3, "label too long")] * 2
    served = daemon(*FAST, f"--otlp_endpoint={taker.url()}")
    requests(taker, 1)
    log = served.log()
    assert log.count("answers 400: no such tenant; such requests are dropped") == 1, log
    assert log.count("the receiver rejected 3 of") == 1 and "label too long" in log, log
    assert taker.attempts == 4 + len(taker.received), "what was refused is not sent again"
    assert sink(served)["dropped"] == 2


def test_silence_and_absence(receiver, daemon):
    taker = receiver()
    taker.answers = ["silence"] * 3
    served = daemon(*FAST, f"--otlp_endpoint={taker.url()}", "--otlp_timeout_ms=300")
    until("silence to be noticed",
          lambda: "has not answered within 300 ms" in sink(served)["last_error"])
    requests(taker, 1)
    url = taker.url()
    taker.close()
    gone = daemon(*FAST, f"--otlp_endpoint={url}", "--otlp_max_queue_size=3")
    until("refusal to be noticed", lambda: "Connection refused" in sink(gone)["last_error"])
    dropped = until("old ones to go", lambda: sink(gone)["dropped"])
    assert sink(gone)["queue_length"] == 3 and dropped >= 1
    gone.stop()


def test_the_end_does_not_wait_for_a_silent_receiver(receiver, daemon):
    taker = receiver()
    taker.answers = ["silence"]
    served = daemon(*FAST, f"--otlp_endpoint={taker.url()}", "--otlp_timeout_ms=600000")
    until("the first request", lambda: taker.attempts)
    served.stop()


def test_names_of_hosts_are_looked_up(receiver, daemon):
    taker = receiver()
    with open("/etc/hosts") as file:
        known = "ip6-localhost" in file.read()
    served = daemon(*FAST, f"--otlp_endpoint=http://no-such-host.invalid:{taker.port}")
    until("the look-up to fail", lambda: "looking up no-such-host.invalid" in
          sink(served)["last_error"])
    daemon(*FAST, f"--otlp_endpoint={taker.url(host='localhost')}")
    requests(taker, 1)
    if known:
        assert served.dyno("status").code == 0


def test_tls(receiver, daemon, scratch):
    certificates.make_ca(scratch)
    certificates.make_ca(scratch, "other")
    for name in ("server", "client"):
        certificates.make_certificate(scratch, name)
    taker = receiver(tls=tls_context(f"{scratch}/server.pem", f"{scratch}/server.key",
                                     f"{scratch}/ca.pem"))
    url = f"--otlp_endpoint={taker.url('https')}"
    ca = f"--otlp_ssl_ca_cert_path={scratch}/ca.pem"
    own = (f"--otlp_ssl_client_cert_path={scratch}/client.pem",
           f"--otlp_ssl_client_key_path={scratch}/client.key")

    untrusting = daemon(*FAST, url)
    until("distrust", lambda: "is not trusted" in sink(untrusting)["last_error"])
    assert "--otlp_ssl_ca_cert_path" in sink(untrusting)["last_error"]

    unknown = daemon(*FAST, url, ca)
    until("the demand for a certificate",
          lambda: "--otlp_ssl_client_cert_path" in sink(unknown)["last_error"])
    assert not taker.received

    daemon(*FAST, url, ca, *own)
    assert requests(taker, 2)[0].resource["service.name"] == "dynolog"

    broken = daemon(*FAST, url, "--otlp_ssl_ca_cert_path=/nonexistent.pem")
    feature = broken.feature("otlp:")[0]
    assert feature["state"] == "degraded" and "/nonexistent.pem" in feature["reason"]


def test_a_certificate_of_another_host(receiver, daemon, scratch):
    certificates.make_ca(scratch)
    certificates.make_certificate(scratch, "server", alternative="DNS:elsewhere")
    taker = receiver(tls=tls_context(f"{scratch}/server.pem", f"{scratch}/server.key"))
    served = daemon(*FAST, f"--otlp_endpoint={taker.url('https')}",
                    f"--otlp_ssl_ca_cert_path={scratch}/ca.pem")
    until("distrust", lambda: "is not trusted: IP address mismatch" in sink(served)["last_error"])
    assert not taker.received


def test_the_environment_of_opentelemetry(receiver, unstarted_daemon):
    taker = receiver()
    served = unstarted_daemon(
        "--noenable_ipc_monitor", "--no_tcp", "--use_otlp",
        env={"OTEL_EXPORTER_OTLP_ENDPOINT": taker.url() + "/base",
             "OTEL_EXPORTER_OTLP_COMPRESSION": "none",
             "OTEL_EXPORTER_OTLP_HEADERS": "x-key=from%20env",
             "OTEL_METRIC_EXPORT_INTERVAL": "1000",
             "OTEL_SERVICE_NAME": "hosts",
             "OTEL_RESOURCE_ATTRIBUTES": "service.name=no,rack=r%2C7"})
    served.start()
    request = requests(taker, 2)[0]
    assert request.path == "/base/v1/metrics"
    assert request.headers["X-Key"] == "from env"
    assert request.headers["Content-Encoding"] is None
    assert request.resource["service.name"] == "hosts" and request.resource["rack"] == "r,7"


def test_a_protocol_that_is_not_spoken_is_a_clear_error(unstarted_daemon):
    served = unstarted_daemon("--noenable_ipc_monitor", "--no_tcp", "--use_otlp",
                              env={"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"})
    served.launch()
    assert served.process.wait(PATIENCE) == 2
    served.process = None
    assert "only http/protobuf is spoken here" in served.log()
