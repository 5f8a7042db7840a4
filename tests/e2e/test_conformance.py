"""The Kineto client of our own in each version's manner, against the real daemon."""

import collections
import json
import os
import subprocess

import pytest

from harness import places

CLIENT = places.conformance_client()
# A run that is meant to prove something fails here instead: the client is asked for by its name.
pytestmark = pytest.mark.skipif(
    CLIENT is None and not os.environ.get("CI"),
    reason="kineto-client is not built: a preset with unit tests has it "
           "(DYNOLOG_KINETO_CLIENT names another)")


def polls(*arguments, namespace=None):
    command = [CLIENT, *map(str, arguments)]
    if namespace:
        command = namespace.inside(command)
    done = subprocess.run(command, capture_output=True, text=True, timeout=90)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def assert_answered(answers, at_least):
    """What waited longer than 40 ms on a busy machine is rightly not answered: the next poll is."""
    assert len(answers) >= at_least, len(answers)
    assert len({answer["pid"] for answer in answers if answer.get("answered")}) == 20, answers
    assert sum(bool(answer.get("answered")) for answer in answers) >= 0.9 * len(answers), answers
    for answer in answers:
        assert answer.get("config", "") == "" and "would_terminate" not in answer, answer


@pytest.mark.parametrize("version", ["2.0", "2.7", "2.14"])
def test_each_version_is_answered_in_a_directory(daemon, shared_directory, version):
    daemon("--noenable_ipc_monitor", "--no_tcp", f"--kineto_socket_dir={shared_directory}")
    answers = polls("--dir", shared_directory, "--version", version, "--count", 20,
                    "--period-ms", 500, "--seconds", 2)
    assert_answered(answers, 60)


@pytest.mark.parametrize("version", ["2.0", "2.7", "2.14"])
def test_each_version_is_answered_at_the_abstract_name(daemon, network, version):
    daemon("--no_tcp", namespace=network)
    answers = polls("--version", version, "--count", 20, "--period-ms", 500, "--seconds", 2,
                    namespace=network)
    assert_answered(answers, 60)


def test_busy_clients_are_shown_busy(daemon, shared_directory):
    served = daemon("--noenable_ipc_monitor", "--no_tcp", f"--kineto_socket_dir={shared_directory}")
    client = subprocess.Popen([CLIENT, "--dir", shared_directory, "--busy", "--seconds", "30"],
                              stdout=subprocess.DEVNULL)
    try:
        served.wait_for(client.pid, state="busy")
    finally:
        client.kill()
        client.wait()


def test_five_hundred_processes_at_once(daemon, shared_directory):
    """All start together: none waits in vain, none is left a reply behind."""
    served = daemon("--noenable_ipc_monitor", "--no_tcp", f"--kineto_socket_dir={shared_directory}")
    answers = polls("--dir", shared_directory, "--count", 500, "--period-ms", 2000,
                    "--seconds", 14)
    by_pid = collections.defaultdict(list)
    for answer in answers:
        by_pid[answer["pid"]].append(answer["answered"])
    assert len(by_pid) == 500
    # What waited longer than 40 ms on a busy machine is rightly not answered; a later poll is.
    assert all(any(polls) for polls in by_pid.values()), served.status()["counters"]
    assert served.counter("kineto_behind") == 0
