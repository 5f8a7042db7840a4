"""Four ranks under torchrun: who is who, and one request traces them all."""

import os

import pytest

from harness import places, traces
from harness.job import Job
from harness.waiting import until

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def ranks(hall, main_daemon):
    """{rank: row} of four processes, and the launcher's pid."""
    def under_torchrun(command):
        return [command[0], "-m", "torch.distributed.run", "--standalone",
                "--nproc-per-node", "4", *command[1:]]

    job = Job("--distributed", "--pace", "0.03", socket_dir=hall, wrap=under_torchrun)
    try:
        def four_and_launcher():
            assert job.process.poll() is None, job.output()
            rows = [r for r in main_daemon.processes()
                    if r.get("rank") is not None and r.get("world_size") == 4
                     and r["state"] == "idle"]
            launcher = main_daemon.process_of(job.pid)
            known = all(r.get("torch_version") for r in rows)
            return rows if len(rows) == 4 and known and launcher and launcher["launcher"] else None

        rows = until("four ranks and their launcher in dyno ps", four_and_launcher)
        until("all ranks to train", lambda: job.output().count("training") == 4)
        yield {row["rank"]: row for row in rows}, job.pid
    finally:
        job.close()


@pytest.fixture
def selection(ranks):
    """By job: the session's other jobs are traced by other tests."""
    rows, launcher = ranks
    return ["--cmd=--distributed"], rows, launcher


def test_ranks_are_told_apart(ranks):
    rows, launcher = ranks
    assert sorted(rows) == [0, 1, 2, 3]
    for rank, row in rows.items():
        assert row["local_rank"] == rank and row["world_size"] == 4
        assert row["rank_source"] == "environment" and not row["launcher"]
        assert row["torch_version"].startswith("2."), row
        assert row["pid"] != launcher


def test_all_ranks_are_traced_and_the_launcher_skipped(main_daemon, selection):
    chosen, rows, launcher = selection
    directory = places.short_directory()
    try:
        answer = main_daemon.dyno("gputrace", *chosen, "--log-file",
                                  os.path.join(directory, "t.json"), "--json")
        assert answer.code == 0, answer
        result = answer.json
        assert {u["rank"] for u in result["processes"]} == {0, 1, 2, 3}
        assert result["coverage"].startswith("4 of 4 ranks"), result["coverage"]
        assert [s["pid"] for s in result["skipped"]] == [launcher]
        assert len({u["file"] for u in result["processes"]}) == 4
        for update in result["processes"]:
            traces.assert_good(update["file"], update)
            assert str(rows[update["rank"]]["pid"]) in os.path.basename(update["file"])
        assert len(places.listed(directory)) == 4
    finally:
        places.remove(directory)


def test_one_rank_can_be_chosen(main_daemon, ranks, scratch):
    rows, _ = ranks
    answer = main_daemon.dyno("gputrace", "--rank", 2, "--duration-ms", 200, "--log-file",
                              os.path.join(scratch, "t.json"), "--json")
    assert answer.code == 0, answer
    assert [u["pid"] for u in answer.json["processes"]] == [rows[2]["pid"]]
