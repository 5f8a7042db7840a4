"""What `dyno` says with its exit status, and the sentence that goes with it."""

import json
import os
import subprocess

import pytest

from harness import frames, places
from harness.daemon import environment, tcp_port


def dyno(*arguments, env=None):
    return subprocess.run([places.program("dyno"), *map(str, arguments)], capture_output=True,
                          text=True, env=environment(env), timeout=60)


@pytest.mark.parametrize("arguments", [
    ["--no-such-flag"],
    ["no-such-command"],
    ["gputrace", "--duration-ms", "x", "--log-file", "/tmp/t.json"],
    ["gputrace", "--duration-ms", "-5", "--log-file", "/tmp/t.json"],
    ["gputrace", "--log-file", "/tmp/../t.json"],
    ["gputrace", "--set", "NO_SUCH_KEY=1", "--log-file", "/tmp/t.json"],
    ["gputrace", "--set", "NOVALUE", "--log-file", "/tmp/t.json"],
    ["gputrace", "--pids", "abc", "--log-file", "/tmp/t.json"],
    ["gputrace", "--user", "no-such-user", "--log-file", "/tmp/t.json"],
], ids=" ".join)
def test_2_usage(main, arguments):
    daemon, _ = main
    answer = daemon.dyno(*arguments)
    assert answer.code == 2, answer
    assert answer.err.strip(), "a sentence that says what is wrong"


def test_3_nothing_matched(main, scratch):
    daemon, _ = main
    for selection in (["--pids", 2**22 + 1], ["--job-id", "no-such-job"], ["--rank", 77],
                      ["--cmd", "no such command line"]):
        answer = daemon.dyno("gputrace", *selection, "--log-file", os.path.join(scratch, "t.json"))
        assert answer.code == 3 and "no process matched" in answer.err, answer


def test_6_no_daemon(scratch):
    answer = dyno("--run_dir", scratch, "status")
    assert answer.returncode == 6, answer
    assert "dynolog" in answer.stderr and scratch in answer.stderr, answer
    with frames.socket.create_server(("127.0.0.1", 0)) as unserved:
        port = unserved.getsockname()[1]
    answer = dyno("--port", port, "status")
    assert answer.returncode == 6 and str(port) in answer.stderr, answer


def test_6_when_it_does_not_answer_in_time():
    with frames.socket.create_server(("127.0.0.1", 0)) as silent:
        answer = dyno("--port", silent.getsockname()[1], "--timeout", 0.5, "status")
    assert answer.returncode == 6, answer


def test_7_refused_where_callers_are_not_known(daemon, job, shared_directory, scratch):
    own = daemon("--noenable_ipc_monitor", "--port=0", "--norpc_loopback_identity",
                 f"--kineto_socket_dir={shared_directory}")
    port = tcp_port(own)
    answer = own.dyno("gputrace", "--log-file", os.path.join(scratch, "t.json"), tcp=port)
    assert answer.code == 7, answer
    assert answer.err.strip()
    assert own.dyno("ps", tcp=port).code == 7
    assert own.dyno("status", tcp=port).code == 0
    assert own.dyno("ps").code == 0, "the unix socket knows its callers all the same"


def test_7_root_over_tcp_where_it_is_off(daemon):
    own = daemon("--noenable_ipc_monitor", "--port=0", "--norpc_loopback_root")
    answer = own.dyno("ps", "--json", tcp=tcp_port(own))
    assert answer.code == 7 or answer.json["processes"] == [], answer
    assert own.dyno("ps").code == 0


# Uid 0 without a capability, as the daemon's workers are.
BARE_ROOT = ["setpriv", "--bounding-set=-all", "--inh-caps=-all", "--no-new-privs"]


@pytest.fixture
def hidden():
    """Root's job may write there; who has no capabilities cannot look."""
    path = places.short_directory(0o700, 20001)
    yield path
    places.remove(path)


def trace_into(hidden, main, *options, wrap=()):
    daemon, job = main
    command = [*wrap, *daemon.dyno_command("gputrace", "--pids", job.pid, "--log-file",
                                           os.path.join(hidden, "t.json"), "--json", *options)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, cwd="/",
                          stdin=subprocess.DEVNULL)
    daemon.wait_for(job.pid, state="idle")
    assert os.path.exists(os.path.join(hidden, f"t_{job.pid}.json")), done
    return done.returncode, json.loads(done.stdout)["processes"][0]


def test_8_written_but_nobody_could_check(main, hidden):
    code, update = trace_into(hidden, main, wrap=BARE_ROOT)
    assert code == 8 and not update["checked"] and update["problem"], update


def test_no_check_is_content_with_that(main, hidden):
    code, update = trace_into(hidden, main, "--no-check", wrap=BARE_ROOT)
    assert code == 0 and not update["checked"], update


def test_dyno_looks_where_the_daemon_cannot(main, hidden):
    """The worker has given its capabilities up; root's own command has them."""
    code, update = trace_into(hidden, main)
    assert code == 0 and update["checked"] and update["whole"] and update["ours"], update


def test_help_has_examples():
    for command in ([], ["gputrace"], ["trace"], ["ps"], ["status"], ["version"], ["env"],
                    ["doctor"], ["traces"], ["traces", "fetch"]):
        answer = dyno(*command, "--help")
        assert answer.returncode == 0 and "dyno " in answer.stdout, answer
