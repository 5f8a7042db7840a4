"""The history: what was measured is there, also after a crash, and nothing else suffers from it."""

import csv
import io
import json
import os
import re
import time

import pytest

from harness import frames
from harness.daemon import Daemon
from harness.memory_fuse import MemoryFuse, need_fuse
from harness.readings import seconds_of
from harness.waiting import until

FLAGS = ("--noenable_ipc_monitor", "--no_tcp", "--use_history")


def query(daemon, *arguments):
    answer = daemon.dyno("metrics", "query", *arguments, "--json")
    assert answer.code == 0, answer
    return answer.json


def values_of(reply, result=0):
    """Every value of the result's series that is there."""
    series = reply["results"][result]["series"]
    return [value for one in series for value in one["values"] if value is not None]


def wait_for_values(daemon, count, metric="memory.limit"):
    def look():
        answer = daemon.dyno("metrics", "query", metric, "--last", "10m", "--step", "1s", "--json")
        return answer.code == 0 and len(values_of(answer.json)) >= count
    until(f"{count} values of {metric}", look)


def meminfo(field):
    with open("/proc/meminfo") as file:
        for line in file:
            if line.startswith(field + ":"):
                return int(line.split()[1]) * 1024
    raise AssertionError(f"no {field} in /proc/meminfo")


def state(daemon):
    """The store is opened while the daemon serves already."""
    (feature,) = until("the history's state", lambda: daemon.feature("history"))
    return feature


@pytest.fixture
def daemon():
    made = Daemon(*FLAGS)
    yield made
    made.close()


@pytest.fixture(scope="module")
def served():
    made = Daemon(*FLAGS).start()
    wait_for_values(made, 6)
    yield made
    made.close()


def test_values_agree_with_the_kernels(served):
    limit = values_of(query(served, "memory.limit", "--newest"))
    assert limit == [meminfo("MemTotal")]
    by_field = values_of(query(served, 'memory.field{field="MemTotal"}', "--newest"))
    assert by_field == limit
    assert values_of(query(served, "node_memory_MemTotal_bytes", "--newest")) == limit
    boot = values_of(query(served, "host.boot_time", "--newest"))
    with open("/proc/stat") as file:
        assert boot == [int(line.split()[1]) for line in file if line.startswith("btime")]


def test_the_newest_value_has_its_own_time(served):
    before = time.time()
    answer = query(served, "load.1m", "--newest")
    assert before - 5 <= answer["begin_ms"] / 1000 <= time.time(), answer
    assert answer["results"][0]["series"][0]["newest_ms"] == answer["begin_ms"], answer


def test_names_of_json_lines_that_are_shares(served):
    [util] = values_of(query(served, "cpu_util", "--newest"))
    assert 0 <= util <= 100
    [uptime] = values_of(query(served, "uptime", "--newest"))
    with open("/proc/uptime") as file:
        assert abs(uptime - float(file.read().split()[0])) < 10


def test_a_busy_cpu_shows(served):
    """Two seconds of one CPU's full work are in the utilization, and in the modes' seconds."""
    begin = time.process_time()
    started = time.time()
    while time.process_time() - begin < 3:
        sum(range(20000))
    spent = time.time() - started
    wait_for_values(served, 12)
    reply = query(served, "cpu.utilization", "cpu.time.all", "--last", "30s", "--step", "1s")
    busiest = max(values_of(reply))
    least = 100 * 3 / spent / os.cpu_count() * 0.5  # half of it, for seconds that are cut in two
    assert least <= busiest <= 100 + 1e-6, reply
    modes = {series["labels"]["mode"]: series["values"] for series in reply["results"][1]["series"]}
    totals = [sum(column) for column in zip(*modes.values()) if None not in column]
    assert totals, modes
    for total in totals:  # all modes together are all CPUs' time
        assert abs(total - os.cpu_count()) < 0.5 * os.cpu_count(), totals


def test_many_in_one_question_and_groups(served):
    reply = query(served, "cpu.time{mode!=idle}", "load.1m", "--last", "10s", "--sum")
    assert [result["metric"] for result in reply["results"]] == ["cpu.time", "load.1m"]
    assert all(len(result["series"]) == 1 for result in reply["results"])
    by_cpu = query(served, "cpu.time", "--sum", "--by", "cpu", "--last", "10s")
    assert len(by_cpu["results"][0]["series"]) == os.cpu_count()


def test_text_and_csv(served):
    text = served.dyno("metrics", "query", "memory.used", "cpu.utilization", "--last", "10s")
    assert text.code == 0, text
    assert "iB" in text.out and "%" in text.out
    lines = list(csv.reader(io.StringIO(
        served.dyno("metrics", "query", "cpu.share", "--last", "10s", "--csv").out)))
    assert lines[0][0] == "time" and 'cpu.share{mode="idle"}' in lines[0]
    assert len(lines) > 5 and all(len(line) == len(lines[0]) for line in lines)


def test_what_cannot_be_asked_is_explained(served):
    for arguments, code, sentence in (
            (["cpu.utilisation"], 3, "did you mean cpu.utilization?"),
            (["cpu.time{core=0}"], 2, "has no label 'core'; it has: cpu, mode"),
            (["cpu.time{cpu=0"], 2, "expected"),
            (["memory.limit", "--rate"], 2, "no counter"),
            (["cpu.time", "--last", "30d", "--step", "1s"], 4, "longer step")):
        answer = served.dyno("metrics", "query", *arguments)
        assert sentence in answer.err, answer
        assert answer.code == code, answer


def asked(daemon, expression, **more):
    """What any client may ask, past what `dyno` lets people say."""
    whole = {"selector": "cpu.time", "value": "", "fold": "", "join": "", "by": [], **expression}
    body = {"fn": "queryMetrics", "expressions": [whole], "step_ms": 0, "newest_only": False,
            "absent_ok": False, **more}
    with frames.connect_unix(os.path.join(daemon.run_dir, "dynolog.sock")) as connection:
        connection.sendall(frames.frame(json.dumps(body).encode()))
        return json.loads(frames.read_frame(connection))


def test_questions_that_would_cost_or_reach_too_far(served):
    assert asked(served, {})["results"], "as it is meant"
    many = asked(served, {"join": "sum", "by": ["mode"] * 90_000})
    assert many["error"]["message"] == "at most 16 labels to group by", many
    for member in ("begin_ms", "end_ms", "last_ms"):
        for odd in (-2**63, -1, 2**63 - 1):
            refused = asked(served, {}, **{member: odd})
            negative_length = member == "last_ms" and odd < 0
            said = "last_ms is negative" if negative_length else "before 1970, or too far"
            assert said in refused["error"]["message"], refused
    assert asked(served, {})["results"], "and others go on"


def test_list_names_every_metric(served):
    answer = served.dyno("metrics", "list", "--json")
    names = {metric["name"] for metric in answer.json["metrics"]}
    assert {"cpu.utilization", "cpu.time", "memory.limit", "net.received_bytes"} <= names
    series = served.dyno("metrics", "list", "cpu.time{mode=idle}", "--series", "--json").json
    assert len(series["metrics"][0]["series"]) == os.cpu_count()
    assert series["raw_since_ms"] > 1_600_000_000_000


# What the daemon says of a directory that is no place for a history; nothing else is a reason to
# skip what proves that a history is kept.
NO_PLACE = re.compile(r" is on \S+, (which is memory anyway|where a database is not safe)")


def start_with_disk(daemon):
    daemon.start()
    reason = state(daemon).get("reason", "")
    if NO_PLACE.search(reason):
        pytest.skip(reason)
    assert state(daemon)["state"] == "ok", reason


def kept_bytes(daemon):
    return daemon.dyno("metrics", "list", "memory.limit", "--json").json["bytes"]


def test_kill_loses_what_is_not_written_yet_and_no_more(daemon):
    begun = int(time.time()) - 5
    start_with_disk(daemon)
    assert daemon.dyno("metrics", "list", "memory.limit", "--json").json["on_disk"]
    # At each half minute what is there is written.
    first = until("the first block", lambda: kept_bytes(daemon))
    until("the second block", lambda: kept_bytes(daemon) > first)
    before = seconds_of(daemon, begun, time.time() + 5)
    daemon.kill()
    newest = max(before)
    written = {second: value for second, value in before.items() if second < newest // 30 * 30}
    assert len(written) > 25, before
    daemon.start()
    wait_for_values(daemon, len(written) + 3)
    after = seconds_of(daemon, begun, time.time() + 5)
    assert {second: after.get(second) for second in written} == written
    # No rate across the two daemons is made up, and none is negative.
    assert min(values_of(query(daemon, "cpu.time.all", "--last", "5m", "--step", "1s"))) >= 0


def test_a_stop_writes_all_of_it(daemon):
    start_with_disk(daemon)
    wait_for_values(daemon, 3)
    before = len(values_of(query(daemon, "memory.limit", "--last", "5m", "--step", "1s")))
    daemon.stop()
    daemon.start()
    wait_for_values(daemon, before + 1)


def test_a_broken_file_is_set_aside(daemon):
    directory = os.path.join(daemon.state_dir, "history")
    os.makedirs(directory)
    os.chmod(daemon.state_dir, 0o755)
    with open(os.path.join(directory, "history.db"), "wb") as file:
        file.write(os.urandom(300_000))
    start_with_disk(daemon)
    assert "is begun anew" in daemon.log()
    assert os.path.getsize(os.path.join(directory, "history.db.unreadable")) == 300_000
    wait_for_values(daemon, 3)
    # It was said, and as an error: this one is meant.
    daemon.stop(expect_clean=False)


def test_on_memory_nothing_is_written(daemon):
    if not os.path.ismount("/dev/shm"):
        pytest.skip("no tmpfs here")
    directory = f"/dev/shm/dynolog-history-{os.getpid()}"
    daemon.flags.append(f"--history_dir={directory}")
    try:
        daemon.start()
        wait_for_values(daemon, 3)
        assert state(daemon)["state"] == "degraded"
        assert "tmpfs, which is memory anyway" in state(daemon)["reason"]
        assert os.listdir(directory) == []
    finally:
        daemon.stop()
        os.rmdir(directory)


def test_on_a_network_file_system_nothing_is_written(daemon, scratch):
    """FUSE, as sshfs and many of the network are: memory only, less of it, and it is said."""
    need_fuse()
    place = os.path.join(scratch, "mounted")
    os.mkdir(place)
    mounted = MemoryFuse(place, 0)
    daemon.flags.append(f"--history_dir={place}/history")
    try:
        daemon.start()
        wait_for_values(daemon, 3)
        feature = state(daemon)
        assert feature["state"] == "degraded", feature
        assert "kept in memory only (4 MiB)" in feature["reason"], feature
        assert "is on FUSE, where a database is not safe" in feature["reason"], feature
        assert not daemon.dyno("metrics", "list", "memory.limit", "--json").json["on_disk"]
        daemon.stop()
        assert mounted.files() == {}
    finally:
        mounted.close()


def test_without_it_nothing_is_kept():
    daemon = Daemon(*FLAGS[:-1], "--nouse_history").start()
    try:
        assert state(daemon)["state"] == "off"
        answer = daemon.dyno("metrics", "query", "cpu.utilization")
        assert answer.code == 4 and "--nouse_history" in answer.err, answer
        assert not os.path.exists(os.path.join(daemon.state_dir, "history"))
    finally:
        daemon.close()
