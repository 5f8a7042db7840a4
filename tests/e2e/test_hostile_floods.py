"""Floods by one user: of connections, of datagrams, of processes. The others are served meanwhile.

docs/hostile-input.md says which test is for which attack.
"""

import os
import types

import pytest

from harness import places
from harness.daemon import Daemon, tcp_port
from harness.waiting import until

ALICE = 20001
BOB = 20002
LIMIT_OF_USER = 128


@pytest.fixture(scope="module")
def site():
    """A daemon, and the socket directories of two users."""
    daemon = Daemon("--noenable_ipc_monitor", "--port=0").start()
    directories = {}
    for uid in (ALICE, BOB):
        answer = daemon.dyno("env", uid=uid)
        assert answer.code == 0, answer
        directories[uid] = os.path.join(daemon.run_dir, "u", str(uid))
    yield types.SimpleNamespace(daemon=daemon, port=tcp_port(daemon), alice=directories[ALICE],
                                bob=directories[BOB])
    daemon.close()


def everybody_else_is_served(daemon, port=None):
    for uid in (BOB, None):
        assert daemon.dyno("ps", "--json", uid=uid).code == 0
        if port:
            assert daemon.dyno("ps", "--json", uid=uid, tcp=port).code == 0


@pytest.mark.parametrize("over", ["unix", "tcp"])
def test_connections_of_one_user_are_limited(site, script, over):
    where = os.path.join(site.daemon.run_dir, "dynolog.sock") if over == "unix" else site.port
    before = site.daemon.counter("rpc_over_limit")
    flood = script("flood.py", "connections", over, where, uid=ALICE)
    held = flood.hear()["held"]
    until("the connections over the limit to be turned away", lambda: site.daemon.counter(
        "rpc_over_limit") >= before + held - LIMIT_OF_USER)
    everybody_else_is_served(site.daemon, site.port)
    assert flood.tell("count")["open"] == LIMIT_OF_USER
    flood.close()
    answer = site.daemon.dyno("ps", "--json", uid=ALICE)
    assert answer.code == 0, answer


def test_connections_of_subordinate_uids_are_one_users(daemon, script):
    own = daemon("--noenable_ipc_monitor", "--no_tcp", "--rpc_max_connections=100",
                 "--rpc_max_connections_per_uid=40")
    flood = script("flood.py", "connections", "unix", os.path.join(own.run_dir, "dynolog.sock"),
                   "--user-namespace", ALICE)
    assert flood.hear()["held"] == 400
    everybody_else_is_served(own)
    assert flood.tell("count")["open"] == 40
    assert own.counter("rpc_over_limit") == 360


def test_subordinate_uids_over_tcp_lock_nobody_out_of_the_unix_socket(daemon, script):
    """Whose they are is not looked for over TCP: they can fill TCP, and no more than that."""
    own = daemon("--noenable_ipc_monitor", "--port=0", "--rpc_max_connections=100")
    bob = script("flood.py", "connections", "unix", os.path.join(own.run_dir, "dynolog.sock"), 40,
                 uid=BOB)
    assert bob.hear()["held"] == 40
    flood = script("flood.py", "connections", "tcp", tcp_port(own), "--user-namespace", ALICE)
    assert flood.hear()["held"] == 400
    everybody_else_is_served(own)
    assert bob.tell("count")["open"] == 40, "held before, and none of them gave way"
    assert flood.tell("count")["open"] <= 60
    everybody_else_is_served(own)


@pytest.mark.parametrize("over", ["unix", "tcp"])
def test_connections_that_come_and_go_delay_nobody(site, script, over):
    where = os.path.join(site.daemon.run_dir, "dynolog.sock") if over == "unix" else site.port
    before = site.daemon.counter("rpc_malformed")
    flood = script("flood.py", "churn", over, where, uid=ALICE)
    assert flood.hear()["begun"]
    for _ in range(2):
        everybody_else_is_served(site.daemon, site.port)
    assert flood.tell("end")["made"] > 0
    until("half requests to be counted", lambda: site.daemon.counter("rpc_malformed") > before)


def polls_answered(poller, count):
    return [poller.tell("poll")["reply"] for _ in range(count)].count("")


def test_flooded_directory_waits_and_others_are_all_answered(site, script):
    """Each user a directory of his own: only the flooded one is left waiting."""
    honest = script("poller.py", site.bob, uid=BOB)
    honest.hear()
    assert honest.tell("poll")["reply"] == ""
    before = site.daemon.counter("kineto_paused")
    floods = [script("flood.py", "datagrams", site.alice, uid=ALICE) for _ in range(2)]
    for flood in floods:
        assert flood.hear()["begun"]
    until("the flooded directory to be paused",
          lambda: site.daemon.counter("kineto_paused") > before)
    assert polls_answered(honest, 10) == 10
    everybody_else_is_served(site.daemon, site.port)
    if not places.sanitized():  # the reader's work stays under 5 % of a core
        realtime, = site.daemon.feature("kineto:realtime")
        assert "flooded" not in realtime["reason"], realtime
    for flood in floods:
        assert flood.tell("end")["sent"] > 0
    # The flooder's own directory is served again, too.
    own = script("poller.py", site.alice, uid=ALICE)
    own.hear()
    assert until("a poll of the flooder's user to be answered",
                 lambda: own.tell("poll")["reply"] == "")


# What becomes of a poll of a process that is not known yet; each raises one of these.
OUTCOMES = ("kineto_polls", "kineto_vanished", "kineto_reply_failed")


def outcomes(daemon):
    counters = daemon.counters()
    return sum(counters[name] for name in OUTCOMES)


def test_processes_that_come_and_go_delay_nobody(site, script):
    honest = script("poller.py", site.bob, uid=BOB)
    honest.hear()
    assert honest.tell("poll")["reply"] == ""
    before = outcomes(site.daemon)
    flood = script("flood.py", "processes", site.alice, uid=ALICE)
    assert flood.hear()["begun"]
    assert polls_answered(honest, 5) == 5
    everybody_else_is_served(site.daemon, site.port)
    made = flood.tell("end")["made"]
    assert made > 0
    until("each of them to be counted", lambda: outcomes(site.daemon) >= before + 5 + made)


def kineto_thread_policy(pid):
    for thread in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{thread}/comm") as file:
            if file.read().strip() == "kineto":
                return os.sched_getscheduler(int(thread)) & ~os.SCHED_RESET_ON_FORK
    raise AssertionError("no thread named kineto")


def real_time_is_permitted():
    """Asked of the kernel: a daemon that does not take it must not make its own test skip."""
    try:
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    except OSError:
        return False
    os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    return True


def test_flood_of_the_abstract_name_costs_its_priority_and_is_said(network, unstarted_daemon,
                                                                    script):
    """Everybody shares this name, so that a flood of it can only be survived."""
    daemon = unstarted_daemon("--no_tcp", namespace=network).start()
    pid = int(daemon.status()["pid"])
    first, = daemon.feature("kineto:realtime")
    if not real_time_is_permitted():
        pytest.skip(f"no real-time priority here: {first}")
    assert first["state"] == "ok", first
    assert kineto_thread_policy(pid) == os.SCHED_RR
    floods = [script("flood.py", "datagrams", "abstract", uid=None, namespace=network,
                     wrap=as_user(ALICE)) for _ in range(2)]
    for flood in floods:
        assert flood.hear()["begun"]

    def left():
        feature, = daemon.feature("kineto:realtime")
        return feature["state"] == "degraded" and "flooded" in feature["reason"]
    until("real-time priority to be left", left)
    assert kineto_thread_policy(pid) == os.SCHED_OTHER
    assert daemon.dyno("ps", "--json").code == 0
    for flood in floods:
        assert flood.tell("end")["sent"] > 0
    assert until("a poll after the flood to be answered", lambda: served_in(network))


def as_user(uid):
    """Only root enters a network namespace; the command becomes the user within."""
    return lambda command: ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups",
                            "--", *command]


def served_in(network):
    code = ("import sys; sys.path.insert(0, sys.argv[1])\n"
            "from harness import datagrams\n"
            "sys.exit(0 if datagrams.is_served() else 1)\n")
    here = os.path.dirname(os.path.abspath(__file__))
    done = network.run(places.plain_python(), "-c", code, here, timeout=30)
    return done.returncode == 0
