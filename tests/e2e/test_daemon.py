"""The daemon as a program: its flags, its files, its figures, its end."""

import contextlib
import datetime
import json
import os
import re
import signal
import subprocess

import pytest

from harness import places
from harness.daemon import environment
from harness.waiting import until


def dynolog(*arguments):
    return subprocess.run([places.program("dynolog"), *arguments], capture_output=True, text=True,
                          env=environment(), timeout=30, stdin=subprocess.DEVNULL)


def lines_of(path):
    if not os.path.exists(path):
        return []
    with open(path) as file:
        return [line for line in file if line.endswith("\n")]


def test_json_lines(daemon, scratch):
    path = os.path.join(scratch, "metrics.jsonl")
    served = daemon("--noenable_ipc_monitor", "--no_tcp", "--use_JSON",
                    "--json_interval_s=1", f"--json_file={path}")
    lines = [json.loads(line) for line in until(
        "four lines", lambda: len(lines_of(path)) >= 4 and lines_of(path))]
    times = [datetime.datetime.fromisoformat(line["time"].replace("Z", "+00:00"))
             for line in lines]
    assert all(t.utcoffset() == datetime.timedelta(0) for t in times)
    # The first tick is at once; the others are on whole seconds, or as soon after as could be.
    assert min(t.microsecond for t in times[1:]) < 100_000, list(map(str, times))
    assert len(set(times)) == len(times)
    last = lines[-1]
    data = last.get("data", last)
    assert all(isinstance(data[name], (int, float)) for name in ("cpu_u", "cpu_s", "cpu_i"))
    assert 0 < data["cpu_u"] + data["cpu_s"] + data["cpu_i"] <= 100.5, data
    assert 0 <= data["cpu_util"] <= 100.5
    assert data["uptime"] > 0
    collectors = {c["name"]: c for c in served.status()["collectors"]}
    # What this machine has not (DMI, say) is no failure of those that every Linux has.
    for name in ("cpu", "load", "meminfo", "netdev", "self", "vmstat"):
        assert collectors[name]["failures"] == 0, collectors[name]


def test_hang_up_is_survived_and_reads_the_file_anew(daemon, scratch, shared_directory):
    config = os.path.join(scratch, "d.toml")
    with open(config, "w") as file:
        file.write("port = -1\n")
    served = daemon("--noenable_ipc_monitor", f"--config={config}")
    with open(config, "a") as file:
        file.write(f'kineto_socket_dir = ["{shared_directory}"]\n')
    served.process.send_signal(signal.SIGHUP)
    until("the new directory's endpoint", lambda: any(
        f["state"] == "ok" for f in served.feature(f"kineto:{shared_directory}")))
    with open(config, "w") as file:
        file.write("nonsense = [\n")
    served.process.send_signal(signal.SIGHUP)
    until("the complaint", lambda: config in served.log())
    assert served.dyno("status", "--json").code == 0
    assert served.log().count(" error ") == 1
    served.stop(expect_clean=False)


def test_check_config(scratch):
    good = os.path.join(scratch, "good.toml")
    with open(good, "w") as file:
        file.write('port = 1234\nkineto_socket_dir = ["/tmp"]\n')
    assert dynolog("--check_config", f"--config={good}").returncode == 0
    bad = os.path.join(scratch, "bad.toml")
    with open(bad, "w") as file:
        file.write("port = 1234\nprot = 5\n")
    answer = dynolog("--check_config", f"--config={bad}")
    assert answer.returncode == 2
    assert "prot" in answer.stderr and "port" in answer.stderr and bad in answer.stderr, answer
    for deep in ("[" * 100_000, "a." * 100_000 + "a = 1", "a = " + "{a=" * 60_000):
        with open(bad, "w") as file:
            file.write(f"port = 1234\n{deep}\n")
        answer = dynolog("--check_config", f"--config={bad}")
        assert answer.returncode == 2 and f"{bad}:2: " in answer.stderr, answer
        assert "more than 64 deep" in answer.stderr, answer
    answer = dynolog("--prot=5")
    assert answer.returncode == 2 and "--port" in answer.stderr, answer


def test_check_config_looks_at_places_and_makes_none(scratch):
    config = os.path.join(scratch, "c.toml")
    none = os.path.join(scratch, "none")
    file = os.path.join(scratch, "file")
    lines = [f'run_dir = "{scratch}/run"', f'state_dir = "{scratch}/state"',
             f'log_file = "{none}/log"', f'history_dir = "{file}/history"',
             f'textfile_directory = "{none}"']
    for path, text in ((config, "\n".join(lines)), (file, "")):
        with open(path, "w") as opened:
            opened.write(text)
    answer = dynolog("--check_config", f"--config={config}", "--flagfile=")
    assert answer.returncode == 0, answer
    said = answer.stderr.splitlines()
    for line, (number, name, word) in zip(said, ((3, "log_file", "goes to stderr"),
                                                 (4, "history_dir", "in memory only"),
                                                 (5, "textfile_directory", "no metrics")),
                                          strict=True):
        assert line.startswith(f"{config}:{number}: {name} = ") and word in line, answer
    assert sorted(os.listdir(scratch)) == ["c.toml", "file"]
    # What would end a start is an error, and does end it.
    lines[0] = f'run_dir = "{file}/run"'
    with open(config, "w") as opened:
        opened.write("\n".join([*lines, "port = -1"]))
    answer = dynolog("--check_config", f"--config={config}", "--flagfile=")
    assert answer.returncode == 2, answer
    assert f"{config}:1: run_dir = {file}/run: " in answer.stderr, answer
    started = dynolog(f"--config={config}", "--flagfile=", "--noenable_ipc_monitor")
    assert started.returncode == 1 and "Not a directory" in started.stderr, started


@pytest.mark.parametrize("flag,word", [("--disabled_collectors=laod", "'load'"),
                                       ("--collector_interval=laod=5", "'load'"),
                                       ("--cpu_list=1023", "there is no CPU 1023")])
def test_what_the_check_refuses_ends_a_start_with_the_same_code(scratch, flag, word):
    checked = dynolog("--check_config", flag)
    started = dynolog(flag, "--port=-1", "--noenable_ipc_monitor", f"--run_dir={scratch}/run",
                      f"--state_dir={scratch}/state")
    for answer in (checked, started):
        assert answer.returncode == 2 and word in answer.stderr, answer
        assert flag.split("=")[0] in answer.stderr, answer

    config = os.path.join(scratch, "c.toml")
    name, value = flag.removeprefix("--").split("=", 1)
    with open(config, "w") as file:
        file.write(f'port = -1\n{name} = "{value}"\n')
    checked = dynolog("--check_config", f"--config={config}")
    started = dynolog(f"--config={config}", "--noenable_ipc_monitor", f"--run_dir={scratch}/run",
                      f"--state_dir={scratch}/state")
    for answer in (checked, started):
        assert answer.returncode == 2 and word in answer.stderr, answer
        assert f"{config}:2: {name} = {value}: " in answer.stderr, answer


def test_the_daemon_and_its_workers_keep_to_the_cpus_that_they_are_given(daemon):
    allowed = os.sched_getaffinity(0)
    if len(allowed) < 2:
        pytest.skip("needs two CPUs")
    cpu = max(allowed)
    served = daemon("--noenable_ipc_monitor", "--no_tcp", f"--cpu_list={cpu}",
                    "--prometheus_port=0", "--use_history")
    [feature] = served.feature("cpu-list")
    assert feature["state"] == "ok" and feature["reason"].endswith(f" {cpu}"), feature
    assert served.dyno("ps").code == 0  # the caller is looked up by a worker
    workers = children(served.pid)
    assert workers, "the procs worker is a process of its own"
    kept = {}
    for pid in (served.pid, *workers):
        with contextlib.suppress(OSError):  # a thread, or a worker that is idle, may end
            for task in os.listdir(f"/proc/{pid}/task"):
                kept[pid, int(task)] = os.sched_getaffinity(int(task))
    assert len([pid for pid, _ in kept if pid == served.pid]) >= 4, "loop, ticks, page, history"
    assert all(cpus == {cpu} for cpus in kept.values()), kept


def test_a_json_file_that_cannot_be_opened_degrades_and_is_tried_at_a_reload(daemon, scratch):
    place = os.path.join(scratch, "later")
    lines = os.path.join(place, "host.jsonl")
    checked = dynolog("--check_config", "--use_JSON", f"--json_file={lines}")
    assert checked.returncode == 0 and "--json_file" in checked.stderr, checked
    served = daemon("--noenable_ipc_monitor", "--use_JSON", "--json_interval_s=1",
                    f"--json_file={lines}")
    [feature] = served.feature(f"json:{lines}")
    assert feature["state"] == "degraded" and "No such file" in feature["reason"], feature
    os.mkdir(place)
    served.process.send_signal(signal.SIGHUP)
    until("a line", lambda: os.path.exists(lines) and os.path.getsize(lines) > 0)
    [feature] = served.feature(f"json:{lines}")
    assert feature["state"] == "ok", feature
    served.stop()


def test_print_config_round_trip(scratch):
    flags = ["--port=4321", "--kineto_socket_dir=/tmp,/var/tmp", "--use_JSON",
             "--norpc_loopback_root",
             "--log_level=warning"]
    first = dynolog("--print_config", *flags)
    assert first.returncode == 0, first
    path = os.path.join(scratch, "printed.toml")
    with open(path, "w") as file:
        file.write(first.stdout)
    second = dynolog("--print_config", f"--config={path}")
    assert second.returncode == 0 and second.stdout == first.stdout, second
    assert "4321" in first.stdout


def test_flagfile_of_an_existing_deployment(scratch):
    path = os.path.join(scratch, "dynolog.gflags")
    with open(path, "w") as file:
        file.write("# as in the field\n--port=1999\n--enable_ipc_monitor\n--use_JSON=true\n"
                   "-kernel_monitor_reporting_interval_s 60\n--noenable_gpu_monitor\n")
    answer = dynolog("--print_config", f"--flagfile={path}")
    assert answer.returncode == 0 and "1999" in answer.stdout, answer


def test_second_daemon_with_the_same_run_directory(daemon):
    served = daemon("--noenable_ipc_monitor", "--no_tcp")
    answer = dynolog(f"--run_dir={served.run_dir}", f"--state_dir={served.state_dir}",
                     "--noenable_ipc_monitor", "--no_tcp")
    assert answer.returncode not in (0, 2), answer
    assert "another dynolog daemon" in answer.stderr and served.run_dir in answer.stderr
    assert len(answer.stderr.strip().splitlines()) == 1, "one clear line"
    assert served.dyno("status", "--json").code == 0


def test_run_directory_of_another_user_is_refused(unstarted_daemon):
    directory = places.short_directory(0o755, 20001)
    try:
        answer = dynolog(f"--run_dir={directory}", "--noenable_ipc_monitor", "--no_tcp")
        assert answer.returncode not in (0, 2) and "20001" in answer.stderr, answer
    finally:
        places.remove(directory)


def test_taken_port_is_degraded_and_said(daemon):
    import socket
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        served = daemon("--noenable_ipc_monitor", f"--port={port}")
        (feature,) = served.feature(f"rpc:tcp:127.0.0.1:{port}")
        assert feature["state"] == "degraded" and str(port) in feature["reason"], feature
        assert f"{port}" in served.log()
        assert "degraded" in served.dyno("status").out


def test_listening_beyond_loopback_needs_consent(daemon, network):
    answer = dynolog("--rpc_bind=0.0.0.0", "--noenable_ipc_monitor")
    assert answer.returncode == 2 and "--rpc_auth=none" in answer.stderr, answer
    served = daemon("--noenable_ipc_monitor", "--rpc_bind=0.0.0.0", "--port=0", "--rpc_auth=none",
                    namespace=network)
    features = served.feature("rpc:tcp")
    assert any("0.0.0.0" in f["name"] and f["state"] == "ok" for f in features), features


def test_end_removes_its_own_sockets_only(daemon, shared_directory):
    stranger = os.path.join(shared_directory, "stranger")
    with open(stranger, "w"):
        pass
    served = daemon("--noenable_ipc_monitor", "--no_tcp", f"--kineto_socket_dir={shared_directory}")
    assert sorted(os.listdir(shared_directory)) == ["dynolog", "stranger"]
    served.stop()
    assert os.listdir(shared_directory) == ["stranger"]
    assert not os.path.exists(os.path.join(served.run_dir, "dynolog.sock"))


def test_stale_sockets_of_a_killed_daemon_are_replaced(daemon, shared_directory):
    served = daemon("--noenable_ipc_monitor", "--no_tcp", f"--kineto_socket_dir={shared_directory}")
    served.kill()
    assert "dynolog" in os.listdir(shared_directory)
    served.start()
    assert served.feature(f"kineto:{shared_directory}")[0]["state"] == "ok"


def test_workers_end_with_their_daemon(daemon, shared_directory, job):
    served = daemon("--noenable_ipc_monitor", "--no_tcp", f"--kineto_socket_dir={shared_directory}")
    assert served.dyno("ps").code == 0  # the caller is looked up by a worker
    workers = children(served.pid)
    assert workers, "the procs worker is a process of its own"
    served.kill()
    until("the workers to end", lambda: not any(map(is_running, workers)))


def children(pid):
    found = []
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/children") as file:
            found += [int(child) for child in file.read().split()]
    return found


def is_running(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


def test_dead_worker_is_started_anew(daemon):
    served = daemon("--noenable_ipc_monitor", "--no_tcp")
    assert served.dyno("ps").code == 0
    for worker in children(served.pid):
        os.kill(worker, signal.SIGKILL)
    until("calls that need the worker to work again", lambda: served.dyno("ps").code == 0)
    served.stop(expect_clean=False)


def test_callers_wait_for_no_reading(daemon):
    """The RPC listens before anything is measured, and no thread waits for room for descriptors."""
    served = daemon("--noenable_ipc_monitor", "--no_tcp", "--prometheus_port=0", "--use_history")
    until("the page to be served", lambda: " prometheus:" in served.log())
    log = served.log()
    assert 0 <= log.find("rpc: listening on ") < log.find(" prometheus:"), log
    with open(f"/proc/{served.pid}/status") as file:
        size = next(int(line.split()[1]) for line in file if line.startswith("FDSize:"))
    assert size >= 4096, "the table of descriptors has grown beside other threads"


def test_version_is_the_commands_too():
    ours = dynolog("--version")
    assert ours.returncode == 0
    command = subprocess.run([places.program("dyno"), "--version"], capture_output=True, text=True,
                             env=environment())
    assert command.returncode == 0
    assert ours.stdout.split()[-1] in command.stdout


def test_the_list_of_metrics_is_that_of_the_documentation():
    listed = dynolog("--list_metrics", "--json")
    assert listed.returncode == 0
    listed = json.loads(listed.stdout)
    assert listed["schema"] == 1
    names = ([metric["id"] for metric in listed["metrics"]] +
             [name["json"] for name in listed["interval_names"]] +
             [metric["id"] for metric in listed["derived_metrics"]])
    text = (places.REPOSITORY / "docs" / "metrics.md").read_text()
    assert names == re.findall(r"^\| `([^`]+)` \|", text, re.M)


def test_reader_of_the_json_lines_goes_away(unstarted_daemon):
    """`dynolog --use_JSON | head -1` must not take the daemon along."""
    served = unstarted_daemon("--noenable_ipc_monitor", "--no_tcp", "--use_JSON",
                              "--json_interval_s=1")
    reading, served.out = os.pipe()
    served.start()
    os.close(served.out)
    with os.fdopen(reading) as lines:
        assert json.loads(lines.readline())
    before = served.status()
    until("two more ticks", lambda: _ticks(served.status()) > _ticks(before) + 1)
    assert any(c["kind"] == "sink" and c["failures"] > 0 for c in served.status()["collectors"])
    served.stop(expect_clean=False)


def _ticks(status):
    return max(c["successes"] + c["failures"] for c in status["collectors"])
