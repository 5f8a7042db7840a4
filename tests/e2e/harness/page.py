"""Pages of metrics in Prometheus' text format, read back; and the servers that have them."""

import dataclasses
import re
import socket
import subprocess
import urllib.error
import urllib.request

from harness.daemon import environment
from harness.waiting import until

_LINE = re.compile(r"^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$")
# Families about an exporter itself: ours has its own in the place of these.
ABOUT_AN_EXPORTER = re.compile(
    r"^(go_|promhttp_|process_|node_exporter_build_info|node_scrape_collector_)")
_LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)",?')


@dataclasses.dataclass
class Family:
    type: str
    series: dict  # frozenset of (label, value) -> number


def parse_page(text):
    """name -> Family, by the rules of the format; a line that is none of it is an error."""
    families = {}
    for line in text.splitlines():
        if line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            assert name not in families, f"{name} is there twice"
            families[name] = Family(kind, {})
        elif not line.startswith("#"):
            match = _LINE.match(line)
            assert match, f"no line of a page: {line!r}"
            name, labels, value = match.groups()
            pairs = _LABEL.findall(labels or "")
            assert _LABEL.sub("", labels or "") == "", line
            key = frozenset(pairs)
            family = families.get(name) or families[re.sub(r"_(bucket|sum|count)$", "", name)]
            if (name, key) in family.series:
                raise AssertionError(f"the same series twice: {line}")
            family.series[(name, key)] = float(value)
    return families


def get(url, timeout=30):
    with urllib.request.urlopen(url, timeout=timeout) as answer:
        return answer.read().decode()


def get_if_ready(url):
    """None while the server has nothing yet."""
    try:
        return get(url)
    except urllib.error.HTTPError as error:
        if error.code != 503:
            raise


def page_of(url):
    """The page, once there is one: until the first reading it is answered with 503."""
    return parse_page(until("the first reading", lambda: get_if_ready(url)))


def page_url(daemon, path="/metrics"):
    """Where a daemon with --prometheus_port=0 serves its page."""
    names = [f["name"] for f in daemon.feature("prometheus:") if f["state"] == "ok"]
    assert names, daemon.status()["features"]
    return f"http://{names[0].removeprefix('prometheus:')}{path}"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Server:
    """A program that serves HTTP on a loopback port, ended by its pid."""

    def __init__(self, command, url, log):
        with open(log, "ab") as output:
            self.process = subprocess.Popen(command, stdout=output, stderr=output,
                                            stdin=subprocess.DEVNULL, env=environment())
        self.url = url
        self.log = log

    def wait_ready(self, path):
        def answers():
            assert self.process.poll() is None, open(self.log, errors="replace").read()
            try:
                return get(self.url + path)
            except OSError:
                return None
        until(f"{self.url} to answer", answers, pause=0.2)
        return self

    def close(self):
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def node_exporter(directory, *options):
    port = free_port()
    return Server(["prometheus-node-exporter", f"--web.listen-address=127.0.0.1:{port}", *options],
                  f"http://127.0.0.1:{port}", f"{directory}/node_exporter.log").wait_ready("/")
