"""A rank of a job on the page, from its first words to its end: who it is, what it uses, and what
the page does not say of it."""

import os
import pwd

import pytest

from harness import page
from harness.waiting import until

OWNER = pwd.getpwnam("games")  # a user with a name, whom nobody else is
RANK = {"SLURM_JOB_ID": "4711", "SLURM_STEP_ID": "0", "RANK": "3", "LOCAL_RANK": "1",
        "WORLD_SIZE": "16"}


def of_ranks(families):
    """name -> [(labels, value)] of what the page has by rank."""
    return {name: [(dict(key), value) for (_, key), value in family.series.items()]
            for name, family in families.items()
            if name == "dynolog_job_info" or name.startswith("dynolog_process_")}


def resident(pid):
    with open(f"/proc/{pid}/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")


@pytest.mark.parametrize("flags,user", [((), ""), (("--job_labels=user",), OWNER.pw_name)])
def test_a_rank_from_its_first_words_to_its_end(daemon, kineto_job_here, shared_directory, flags,
                                                user):
    served = daemon("--noenable_ipc_monitor", "--no_tcp", "--prometheus_port=0",
                    f"--kineto_socket_dir={shared_directory}", *flags)
    job = kineto_job_here(uid=OWNER.pw_uid, env=RANK)
    served.wait_for(job.pid, rank=3)
    url = page.page_url(served)

    def rank():
        ranks = of_ranks(page.page_of(url))
        return ranks if ranks.get("dynolog_job_info") else None

    found = until("the rank on the page", rank)
    [(labels, value)] = found.pop("dynolog_job_info")
    process = labels.pop("process")
    assert value == 1
    assert labels == {"job_id": "4711", "scheduler": "slurm", "step": "0", "rank": "3",
                      "local_rank": "1", "world_size": "16", "gpu": "", "cgroup": "slurm/4711/0",
                      "user": user}
    assert {labels["process"] for series in found.values() for labels, _ in series} == {process}

    [(_, memory)] = found["dynolog_process_resident_memory_bytes"]
    assert memory / 2 < resident(job.pid) < memory * 2
    [(_, threads)] = found["dynolog_process_threads"]
    assert threads == 1
    assert {labels["mode"] for labels, _ in found["dynolog_process_cpu_seconds_total"]} == {
        "user", "system"}

    says_nobody_who_not_asked(page.page_of(url), job, user)
    job.kill()
    until("the rank to be gone", lambda: not any(of_ranks(page.page_of(url)).values()))


def says_nobody_who_not_asked(families, job, user):
    labels = {pair for family in families.values() for _, key in family.series for pair in key}
    # Numbers of other families are those of CPUs and the like.
    values = {value for series in of_ranks(families).values() for each, _ in series
              for value in each.values()}
    assert str(job.pid) not in values
    assert (OWNER.pw_name in values) == bool(user)
    assert str(OWNER.pw_uid) not in values
    assert not {name for name, _ in labels} & {"pid", "uid", "username", "comm", "command"}
    # Nor anywhere what the process is called, as the processes of `dyno top` are.
    values = {value for _, value in labels}
    assert (OWNER.pw_name in values) == bool(user)
    with open(f"/proc/{job.pid}/comm") as file:
        assert file.read().strip() not in values
    assert not [value for value in values if "kineto_job" in value]
