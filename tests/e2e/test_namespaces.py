"""Containers: equal pids in two namespaces; the abstract name in a network namespace."""

import os

from harness import places, traces
from harness.namespaces import child_of, own_pids_and_network
from harness.waiting import until


def test_two_trainers_with_pid_1_stay_two_processes(daemon, job, shared_directory, scratch):
    served = daemon("--noenable_ipc_monitor", "--no_tcp", f"--kineto_socket_dir={shared_directory}")
    jobs = [job(socket_dir=shared_directory, wrap=own_pids_and_network) for _ in range(2)]
    pids = [until("the trainer", lambda j=j: child_of(j.pid)) for j in jobs]
    for each in jobs:
        each.wait_ready()
    rows = [served.wait_for(pid, state="idle") for pid in pids]
    assert [row["namespace_pid"] for row in rows] == [1, 1]
    assert len(served.processes()) == 2

    answer = served.dyno("gputrace", "--log-file", os.path.join(scratch, "t.json"), "--json")
    assert answer.code == 0, answer
    updates = answer.json["processes"]
    assert {u["pid"] for u in updates} == set(pids)
    assert len({u["file"] for u in updates}) == 2, updates
    for update in updates:
        traces.assert_good(update["file"], update)
    assert len(places.listed(scratch)) == 2


def test_abstract_name_with_default_polls(network, daemon, job, scratch):
    """As most jobs run: no socket directory, polls every 5 s, and the RPC on its usual port."""
    served = daemon(namespace=network)
    trained = job(namespace=network, every=None).wait_ready()
    row = served.wait_for(trained.pid, state="idle")
    assert row["endpoint"] == "abstract"
    answer = served.dyno("gputrace", "--log-file", os.path.join(scratch, "t.json"), "--json",
                         where=["--port", "1778"])
    assert answer.code == 0, answer
    traces.assert_good(answer.json["processes"][0]["file"], answer.json["processes"][0])


HOLD = """
import socket, sys
held = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
held.bind(b"\\0dynolog\\0")
print("held", flush=True)
sys.stdin.read()
"""


def test_abstract_name_of_another_process(network, daemon):
    """Degraded, with who holds it; taken as soon as it is free."""
    import subprocess
    import sys
    holder = subprocess.Popen(network.inside([sys.executable, "-c", HOLD]), stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE)
    try:
        assert holder.stdout.readline() == b"held\n"
        served = daemon("--no_tcp", namespace=network)
        (feature,) = served.feature("kineto:abstract")
        assert feature["state"] == "degraded", feature
        assert str(holder.pid) in feature["reason"] and "python" in feature["reason"], feature
        assert feature["reason"].split(".")[0][:20] in served.log()
    finally:
        holder.stdin.close()
        holder.wait()
        holder.stdout.close()
    until("the name to be taken",
          lambda: served.feature("kineto:abstract")[0]["state"] == "ok")
