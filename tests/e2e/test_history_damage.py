"""A history's file to which something has happened: the daemon runs all the same, keeps a history,
and says in a line what became of the old one."""

import os
import random
import shutil
import sqlite3
import subprocess
import tempfile

import pytest

from harness.daemon import Daemon
from test_history import FLAGS, start_with_disk, state, wait_for_values

ANEW = "is begun anew"


@pytest.fixture(scope="module")
def kept():
    """A file that a daemon wrote, without its log, and the time of its first value."""
    daemon = Daemon(*FLAGS)
    try:
        start_with_disk(daemon)
        wait_for_values(daemon, 4)
        daemon.stop()
        with tempfile.NamedTemporaryFile(suffix=".db") as file:
            path = os.path.join(daemon.state_dir, "history", "history.db")
            database = sqlite3.connect(path)
            database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            first_ms = database.execute("SELECT min(begin_ms) FROM block").fetchone()[0]
            database.close()
            shutil.copy(path, file.name)
            assert os.path.getsize(file.name) > 8 * 4096
            yield file.name, first_ms
    finally:
        daemon.close()


@pytest.fixture
def daemon(kept):
    """With a copy of that file in its place, not started yet."""
    made = Daemon(*FLAGS)
    made.history = os.path.join(made.state_dir, "history", "history.db")
    os.makedirs(os.path.dirname(made.history))
    os.chmod(made.state_dir, 0o755)
    shutil.copy(kept[0], made.history)
    yield made
    made.close()


def oldest(daemon):
    return daemon.dyno("metrics", "list", "memory.limit", "--json").json["raw_since_ms"]


def cut(path, share):
    os.truncate(path, int(os.path.getsize(path) * share))


def change_bytes(path, begin, step):
    """One byte of each `step`, as a disk does that forgets."""
    random_ = random.Random(1)
    with open(path, "r+b") as file:
        for at in range(begin, os.path.getsize(path), step):
            file.seek(at)
            file.write(random_.randbytes(1))


def test_nothing_happened(daemon, kept):
    start_with_disk(daemon)
    wait_for_values(daemon, 6)
    assert oldest(daemon) == kept[1]
    daemon.stop()


@pytest.mark.parametrize("damage", [
    pytest.param(lambda path: cut(path, 0.5), id="half of it"),
    pytest.param(lambda path: cut(path, 0.777), id="cut within a page"),
    pytest.param(lambda path: os.truncate(path, 100), id="hundred bytes"),
    pytest.param(lambda path: change_bytes(path, 0, 7), id="changed from the start on"),
    pytest.param(lambda path: change_bytes(path, 4096, 97), id="changed in the middle"),
])
def test_a_damaged_file_is_set_aside(daemon, kept, damage):
    damage(daemon.history)
    start_with_disk(daemon)
    wait_for_values(daemon, 3)
    assert daemon.log().count(ANEW) == 1
    with open(daemon.log_path, encoding="utf-8") as file:
        assert "\x1b" not in file.read()  # what was in the file is not in the log
    assert os.path.exists(daemon.history + ".unreadable")
    assert oldest(daemon) > kept[1]
    daemon.stop(expect_clean=False)  # it was said, and as an error: this one is meant
    daemon.start()
    wait_for_values(daemon, 5)
    assert daemon.log().count(ANEW) == 1, "the new one is whole"
    daemon.stop(expect_clean=False)


def test_an_empty_file_is_a_new_one(daemon, kept):
    os.truncate(daemon.history, 0)
    start_with_disk(daemon)
    wait_for_values(daemon, 3)
    assert oldest(daemon) > kept[1]
    assert ANEW not in daemon.log()
    daemon.stop()


def test_a_log_of_garbage_is_left_out(daemon, kept):
    with open(daemon.history + "-wal", "wb") as file:
        file.write(random.Random(1).randbytes(200_000))
    start_with_disk(daemon)
    wait_for_values(daemon, 3)
    assert oldest(daemon) == kept[1]
    daemon.stop()


def test_a_directory_in_its_place_is_left_there(daemon):
    os.unlink(daemon.history)
    os.mkdir(daemon.history)
    daemon.start()
    wait_for_values(daemon, 3)
    assert state(daemon)["state"] == "degraded"
    assert "history.db is not a file of the daemon's own: remove it" in state(daemon)["reason"]
    assert os.path.isdir(daemon.history)
    daemon.stop()


def test_one_that_cannot_be_written_is_left_as_it_is(daemon):
    if subprocess.run(["chattr", "+i", daemon.history], capture_output=True).returncode != 0:
        pytest.skip("no file can be made immutable here")
    try:
        daemon.start()
        wait_for_values(daemon, 3)
        assert state(daemon)["state"] == "degraded"
        assert "history.db: Operation not permitted" in state(daemon)["reason"]
        daemon.stop()
    finally:
        subprocess.run(["chattr", "-i", daemon.history], check=True)


def test_of_two_daemons_on_one_directory_the_first_has_it(daemon):
    start_with_disk(daemon)
    wait_for_values(daemon, 3)
    second = Daemon(*FLAGS, f"--history_dir={os.path.dirname(daemon.history)}").start()
    try:
        wait_for_values(second, 3)
        assert state(second)["state"] == "degraded"
        assert "another process has the history's file open" in state(second)["reason"]
        second.stop()
    finally:
        second.close()
    daemon.kill()
    third = Daemon(*FLAGS, f"--history_dir={os.path.dirname(daemon.history)}")
    try:
        start_with_disk(third)
        third.stop()
    finally:
        third.close()
