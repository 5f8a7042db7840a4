"""`dynolog` as it is started by somebody who has read nothing: the page, the history and the live
view are there, without a flag, at the ports and names that the documents give."""

import os
import re
import stat

from harness import page
from harness.daemon import environment
from harness.waiting import until


def curl(network, path):
    answer = network.run("curl", "--silent", "--fail", "--max-time", "30",
                         f"http://127.0.0.1:1779{path}", capture_output=True, text=True,
                         env=environment())
    return answer.stdout if answer.returncode == 0 else None


def test_all_is_there_without_a_flag(daemon, network):
    served = daemon(namespace=network, bare=True)
    until("the first figures", lambda: curl(network, "/readyz"))
    families = page.parse_page(curl(network, "/metrics"))
    assert {"node_cpu_seconds_total", "node_memory_MemTotal_bytes", "node_load1",
            "dynolog_build_info"} <= families.keys()

    def values():
        answer = served.dyno("metrics", "query", "cpu.utilization", "--last", "10m", "--json")
        assert answer.code in (0, 3), answer
        series = answer.json["results"][0]["series"] if answer.code == 0 else []
        return [value for one in series for value in one["values"] if value is not None]
    [first, *_] = until("a value of the history", values)
    assert 0 <= first <= 100
    text = served.dyno("metrics", "query", "cpu.utilization", "--last", "10m")
    assert text.code == 0 and "cpu.utilization" in text.out and "%" in text.out, text

    top = served.dyno("top", "--once")
    assert top.code == 0 and re.search(r"^cpu +[0-9.]+ %", top.out, re.M), top
    assert served.dyno("status", "--json", tcp=1778).json["host"] == os.uname().nodename
    features = {f["name"]: f["state"] for f in served.status()["features"]}
    assert features["history"] == "ok" and features["prometheus:127.0.0.1:1779"] == "ok", features
    kept = os.path.join(served.state_dir, "history", "history.db")
    assert stat.S_IMODE(os.stat(kept).st_mode) == 0o640
    # Nothing that was not asked for: no lines, no relay, no OTLP.
    sinks = {c["name"] for c in served.status()["collectors"] if c["kind"] == "sink"}
    assert sinks == {"history", "prometheus"}, sinks
