"""Homes that root may not enter (sshfs, Kerberos, root_squash) and that run out of room: a FUSE
file system that is one user's own stands for them."""

import errno
import os

import pytest

from harness import places, traces
from harness.memory_fuse import MemoryFuse, need_fuse
from harness.waiting import until

ALICE = 20001


@pytest.fixture
def home(scratch):
    """Factory: Alice's home, with so much room."""
    made = []

    def mount(room=1 << 40, error=errno.EDQUOT):
        need_fuse()
        path = os.path.join(scratch, "home")
        os.mkdir(path)
        os.chown(path, ALICE, ALICE)
        made.append(MemoryFuse(path, ALICE, room, error))
        return made[-1]
    yield mount
    for each in made:
        each.close()


def trace_to(daemon, job, log_file, *options, uid=ALICE):
    return daemon.dyno("gputrace", "--pids", job.pid, "--duration-ms", 200, "--log-file", log_file,
                       "--json", *options, uid=uid)


@pytest.mark.parametrize("uid", [ALICE, None])
def test_trace_into_a_home_that_root_cannot_enter(kineto_job, main_daemon, home, uid):
    own = home()
    job = kineto_job("good", "--megabytes", 1, uid=ALICE)
    main_daemon.wait_for(job.pid)
    with pytest.raises(PermissionError):
        os.listdir(own.place)
    answer = trace_to(main_daemon, job, os.path.join(own.place, "t.json"), uid=uid)
    assert answer.code == 0, answer
    (update,) = answer.json["processes"]
    assert update["checked"] and update["whole"] and update["ours"], update
    name = f"t_{job.pid}.json"
    assert update["file"] == os.path.join(own.place, name), update
    assert sorted(own.files()) == [f".dynolog/{name}.json", name], "and nothing else is left"
    assert update["trace_id"].encode() in own.files()[name]


def kept(update):
    """The trace that could not be brought is where the sentence says."""
    file = update["file"]
    try:
        assert file in update["sentence"], update
        assert traces.read(file)["trace_id"] == update["trace_id"]
    finally:
        if os.path.exists(file):
            os.unlink(file)


@pytest.mark.parametrize("error, said, other", [
    (errno.EDQUOT, f"over the disk quota of uid {ALICE}", "no room"),
    (errno.ENOSPC, "no room", "quota"),
])
def test_quota_is_told_apart_from_a_full_disk(kineto_job, main_daemon, home, error, said, other):
    own = home(3 << 20, error)
    own.mkdir("lr=1")  # not a name for Kineto: the file is copied here
    job = kineto_job("good", "--megabytes", 8, uid=ALICE)
    main_daemon.wait_for(job.pid)
    answer = trace_to(main_daemon, job, os.path.join(own.place, "lr=1/t.json"))
    assert answer.code == 4, answer
    (update,) = answer.json["processes"]
    assert update["state"] == "undelivered", update
    assert said in update["sentence"] and other not in update["sentence"], update
    assert own.files() == {}, "a partial copy is no trace"
    kept(update)


@pytest.mark.parametrize("error", [errno.EDQUOT, errno.ENOSPC])
@pytest.mark.parametrize("every", [1, None])
def test_pytorch_itself_runs_out_of_room(job, main_daemon, hall, home, error, every):
    """Nothing tells, but that it is idle again without a file; between two slow polls not even
    that it was busy."""
    own = home(20_000, error)
    training = job(socket_dir=hall, uid=ALICE, every=every).wait_ready()
    main_daemon.wait_for(training.pid, state="idle")
    answer = trace_to(main_daemon, training, os.path.join(own.place, "t.json"))
    assert answer.code == 4, answer
    (update,) = answer.json["processes"]
    assert not update.get("whole"), update
    assert "quota" in update["sentence"] and "room" in update["sentence"], update
    main_daemon.wait_for(training.pid, state="idle")

    def noted():
        shown = main_daemon.dyno("traces", "show", answer.json["session"], "--json", uid=ALICE).json
        return " ".join(shown["sessions"][0]["traces"][0]["notes"])
    if update["may_still_write"]:  # as far as anybody can tell: PyTorch keeps the file open
        until("that to be said", lambda: "unfinished: a process has it open" in noted())
        assert len(own.files()) == 1
        training.close()
    until("what PyTorch left unfinished to be taken away", lambda: own.files() == {})
    until("that to be said", lambda: "the unfinished file that it left is removed" in noted())


def test_output_over_quota_stays_with_the_daemon(kineto_job, main_daemon, home):
    own = home(3 << 20)
    job = kineto_job("good", "--megabytes", 8, uid=ALICE)
    main_daemon.wait_for(job.pid)
    answer = main_daemon.dyno("gputrace", "--pids", job.pid, "--duration-ms", 200, "--output",
                              own.place, "--json", uid=ALICE)
    assert answer.code == 4, answer
    (update,) = answer.json["processes"]
    assert "over your disk quota" in update["fetch"]["problem"], update
    assert own.files() == {}
    session = answer.json["session"]
    assert f"traces fetch {session}" in answer.err, answer
    directory = places.short_directory(0o755, ALICE)
    try:
        fetched = main_daemon.dyno("traces", "fetch", session, "--output", directory, uid=ALICE)
        assert fetched.code == 0, fetched
        (name,) = places.listed(directory)
        assert traces.read(os.path.join(directory, name))["trace_id"] == update["trace_id"]
    finally:
        places.remove(directory)
