"""`--profile-memory`: no trace but a pickle, by a thread of its own, under a name of Kineto's."""

import os
import pickle

import pytest

from harness import places
from harness.posing import PosingJob


@pytest.fixture
def gpu_job(shared_directory):
    """Factory: a process with this PyTorch, that holds a GPU."""
    made = []

    def make(version):
        made.append(PosingJob(shared_directory, version, cuda=True, gpu=True,
                              behaviour="good").wait_ready())
        return made[-1]
    yield make
    for each in made:
        each.close()


@pytest.fixture
def served(daemon, shared_directory):
    return daemon("--noenable_ipc_monitor", "--no_tcp", f"--kineto_socket_dir={shared_directory}")


def snapshot(served, job, *options):
    return served.dyno("gputrace", "--pids", job.pid, "--profile-memory", "--duration-ms", 200,
                       *options)


def test_pickle_lies_under_the_name_that_was_asked_for(served, gpu_job, scratch):
    job = gpu_job("2.9.1+cu126")
    served.wait_for(job.pid, torch_version="2.9.1+cu126", holds_gpu=True)
    answer = snapshot(served, job, "--log-file", os.path.join(scratch, "memory.json"), "--json")
    assert answer.code == 0, answer
    (update,) = answer.json["processes"]
    assert update["file"] == os.path.join(scratch, f"memory_{job.pid}.pickle"), update
    with open(update["file"], "rb") as file:
        assert pickle.load(file) == {"segments": [], "device_traces": [[]]}
    (planned,) = answer.json["planned"]
    assert any("spinning on one core" in note for note in planned["notes"]), planned
    assert places.listed(scratch) == [f"memory_{job.pid}.pickle"], "no temporary stays"


def test_it_is_brought_like_a_trace(served, gpu_job, scratch):
    job = gpu_job("2.9.1+cu126")
    served.wait_for(job.pid, torch_version="2.9.1+cu126", holds_gpu=True)
    answer = snapshot(served, job, "--output", scratch, "--gzip", "--json")
    assert answer.code == 0, answer
    (name,) = places.listed(scratch)
    assert name.endswith(".pickle.gz"), name


def test_without_a_gpu_it_is_refused_before_anything_starts(main, scratch):
    daemon, job = main
    answer = snapshot(daemon, job, "--log-file", os.path.join(scratch, "m.json"))
    assert answer.code == 2, answer
    assert "needs a process that holds a GPU" in answer.out + answer.err, answer
    assert daemon.process_of(job.pid)["state"] == "idle"
