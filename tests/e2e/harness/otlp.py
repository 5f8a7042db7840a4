"""A receiver of OTLP/HTTP: decodes with OpenTelemetry's own messages, misbehaves on demand."""

import gzip
import http.server
import ssl
import threading
import time

from google.protobuf.json_format import MessageToDict
from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2

PROTOBUF = "application/x-protobuf"


class Received:
    """One request that was decoded."""

    def __init__(self, headers, path, body):
        self.headers = headers
        self.path = path
        zipped = headers.get("Content-Encoding") == "gzip"
        self.size = len(body)
        raw = gzip.decompress(body) if zipped else body
        self.raw_size = len(raw)
        self.message = metrics_service_pb2.ExportMetricsServiceRequest()
        assert self.message.ParseFromString(raw) == len(raw)

    @property
    def resource(self):
        return _attributes(self.message.resource_metrics[0].resource.attributes)

    def metrics(self):
        """Metric by name."""
        found = {}
        for of_resource in self.message.resource_metrics:
            for of_scope in of_resource.scope_metrics:
                assert of_scope.scope.name == "dynolog" and of_scope.scope.version
                for metric in of_scope.metrics:
                    assert metric.name not in found, f"{metric.name} twice in a request"
                    found[metric.name] = metric
        return found


def _attributes(pairs):
    found = {}
    for pair in pairs:
        assert pair.key and pair.key not in found, pairs
        value = pair.value
        found[pair.key] = getattr(value, value.WhichOneof("value"))
    return found


def points(metric):
    """(attributes as a sorted tuple) -> data point; each stream once."""
    data = metric.sum if metric.HasField("sum") else metric.gauge
    found = {}
    for point in data.data_points:
        key = tuple(sorted(_attributes(point.attributes).items()))
        assert key not in found, f"{metric.name} {key} twice"
        found[key] = point
    return found


def as_text(message):
    return MessageToDict(message)


class OtlpReceiver:
    """On a free port of 127.0.0.1. `answers` are used up, one a request; then it takes all."""

    def __init__(self, tls=None):
        self.received = []
        self.answers = []       # (status, headers, body), or "hang up", or "silence"
        self.attempts = 0
        self.arrivals = []      # of requests, on the monotonic clock
        self.released = threading.Event()
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                receiver.attempts += 1
                receiver.arrivals.append(time.monotonic())
                answer = receiver.answers.pop(0) if receiver.answers else None
                if answer == "hang up":
                    self.close_connection = True
                    return
                if answer == "silence":
                    receiver.released.wait()
                    self.close_connection = True
                    return
                if answer is None:
                    receiver.received.append(Received(self.headers, self.path, body))
                    answer = (200, {"Content-Type": PROTOBUF}, b"")
                status, headers, text = answer
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.server.handle_error = lambda *_: None  # clients that break off are part of the tests
        # A test that ends does not wait for the daemon's kept connection.
        self.server.block_on_close = False
        if tls:
            self.server.socket = tls.wrap_socket(self.server.socket, server_side=True,
                                                 do_handshake_on_connect=False)
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()

    @property
    def port(self):
        return self.server.server_address[1]

    def url(self, scheme="http", host="127.0.0.1"):
        return f"{scheme}://{host}:{self.port}"

    def close(self):
        self.released.set()
        self.server.shutdown()
        self.server.server_close()
        self.thread.join(10)


def partial_success(rejected, message):
    answer = metrics_service_pb2.ExportMetricsServiceResponse()
    answer.partial_success.rejected_data_points = rejected
    answer.partial_success.error_message = message
    return 200, {"Content-Type": PROTOBUF}, answer.SerializeToString()


def tls_context(certificate, key, client_ca=None):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    if client_ca:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(client_ca)
    return context
