"""Which processes of a job are traced: those that do the work, each of them, no others."""

import os
import subprocess
import sys

import pytest

from harness import places
from harness.daemon import environment
from harness.job import job_environment
from harness.waiting import until

LOADER = '''
import sys, time, torch
from torch.utils.data import DataLoader, Dataset

class Numbers(Dataset):
    def __len__(self): return 10 ** 9
    def __getitem__(self, i):
        time.sleep(0.01)
        return torch.tensor(float(i))

def main():
    loader = DataLoader(Numbers(), batch_size=2, num_workers=2,
                        multiprocessing_context=sys.argv[1])
    weight = torch.nn.Parameter(torch.ones(1))
    optimizer = torch.optim.SGD([weight], lr=0.1)
    for n, batch in enumerate(loader):
        optimizer.zero_grad()
        (weight * batch).sum().backward()
        optimizer.step()
        if n == 2:
            print("training", flush=True)

if __name__ == "__main__":
    main()
'''


@pytest.fixture
def loader_job(hall, scratch):
    """A job whose data loader has processes of its own."""
    started = []

    def start(context):
        script = os.path.join(scratch, "loader.py")
        with open(script, "w") as file:
            file.write(LOADER)
        python, extra = places.torch_python()
        output = open(os.path.join(scratch, "out"), "w+")
        process = subprocess.Popen([*python, script, context], stdin=subprocess.DEVNULL,
                                   stdout=output, stderr=subprocess.STDOUT, cwd=scratch,
                                   env=job_environment(scratch, hall, 1, extra),
                                   start_new_session=True)
        started.append(process)
        until("the job to train",
              lambda: "training" in open(os.path.join(scratch, "out")).read())
        return process
    yield start
    for process in started:
        os.killpg(process.pid, 9)
        process.wait()


def test_data_loaders_are_shown_and_left_out(loader_job, main_daemon, scratch):
    """Spawned loaders import torch, so they register as well."""
    process = loader_job("spawn")
    main_daemon.wait_for(process.pid)
    rows = until("the loaders to register", lambda: [
        row for row in main_daemon.processes()
        if row["role"] == "data_loader"] or None)
    answer = main_daemon.dyno("gputrace", "--cmd", "loader.py", "--duration-ms", 200, "--log-file",
                              os.path.join(scratch, "t.json"), "--json")
    assert answer.code == 0, answer
    assert [row["pid"] for row in answer.json["planned"]] == [process.pid], answer
    loaders = {row["pid"] for row in rows}
    skipped = {row["pid"]: row["reason"] for row in answer.json["skipped"]}
    assert loaders <= set(skipped), (loaders, skipped)
    assert all(str(process.pid) in skipped[pid] for pid in loaders), skipped


def test_ranks_and_coverage(kineto_job, main_daemon, scratch):
    jobs = [kineto_job(env={"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": "4",
                            "SLURM_JOB_ID": "777001"}) for rank in (0, 1, 3)]
    for rank, job in zip((0, 1, 3), jobs):
        main_daemon.wait_for(job.pid, rank=rank)
    answer = main_daemon.dyno("gputrace", "--job-id", "777001", "--duration-ms", 100, "--output",
                              scratch, "--json")
    assert answer.code == 0, answer
    assert [row["rank"] for row in answer.json["planned"]] == [0, 1, 3]
    assert answer.json["coverage"] == "3 of 4 ranks here; rank 2 is missing or elsewhere"
    assert len(places.listed(scratch)) == 3
    # As `dyno ps` shows them.
    lines = main_daemon.dyno("ps").out.splitlines()
    job, rank = lines[0].split().index("JOB"), lines[0].split().index("RANK")
    (shown,) = [line.split() for line in lines[1:] if line.split()[0] == str(jobs[2].pid)]
    assert shown[rank] == "3/4", shown
    answer = main_daemon.dyno("gputrace", "--job-id", shown[job], "--rank", shown[rank],
                              "--duration-ms", 100, "--output", scratch, "--json")
    assert answer.code == 0, answer
    assert [row["pid"] for row in answer.json["planned"]] == [jobs[2].pid]
    answer = main_daemon.dyno("gputrace", "--job-id", shown[job], "--rank", "3/8",
                              "--duration-ms", 100, "--output", os.path.join(scratch, "none"))
    assert answer.code == 3, answer
    assert "no process here is rank 3 of 8" in answer.out + answer.err, answer
    assert "there is a rank 3 of 4" in answer.out + answer.err, answer


def test_missing_rank_is_named(kineto_job, main_daemon, scratch):
    job = kineto_job(env={"RANK": "0", "WORLD_SIZE": "2", "SLURM_JOB_ID": "777002"})
    main_daemon.wait_for(job.pid, rank=0)
    answer = main_daemon.dyno("gputrace", "--job-id", "777002", "--rank", "0,1", "--duration-ms",
                              100, "--output", scratch, "--json")
    assert answer.code == 4, answer
    assert any("rank 1" in sentence for sentence in answer.json["unmatched"]), answer


def test_skipped_processes_are_named_with_the_reason(kineto_job, main_daemon, scratch):
    jobs = [kineto_job(env={"RANK": str(rank), "WORLD_SIZE": "3", "SLURM_JOB_ID": "777003"})
            for rank in range(3)]
    for rank, job in enumerate(jobs):
        main_daemon.wait_for(job.pid, rank=rank)
    answer = main_daemon.dyno("gputrace", "--job-id", "777003", "--process-limit", 2,
                              "--duration-ms", 100, "--output", scratch)
    assert answer.code == 0, answer
    said = answer.out + answer.err
    assert str(jobs[2].pid) in said and "limit" in said, answer


def test_no_such_gpu_and_no_such_container(main, scratch):
    daemon, _ = main
    for option, value, said in (("--gpu", "5", "GPU 5: none of the processes"),
                                ("--container", "deadbeef1234", "container deadbeef1234: ")):
        answer = daemon.dyno("gputrace", option, value, "--output", os.path.join(scratch, "o"))
        assert answer.code == 3 and said in answer.out + answer.err, answer
    assert os.listdir(scratch) == [], "no directory is left when nothing was traced"
