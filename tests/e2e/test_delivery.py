"""Where a trace ends up: under the name asked for, whole, with its record; or why not."""

import gzip
import json
import os
import shutil
import stat
import subprocess
import sys
import tempfile

import pytest

from harness import places, traces
from harness.daemon import Daemon, environment
from harness.kineto_job import SCRIPT, KinetoJob
from harness.waiting import PATIENCE, until

ALICE = 20001


@pytest.fixture
def mounted(scratch):
    """Factory: a file system of its own at a new directory; gone at the end."""
    made = []

    def mount(name, kind="tmpfs", options="size=64m,mode=1777"):
        path = os.path.join(scratch, name)
        os.makedirs(path)
        subprocess.run(["mount", "-t", kind, "-o", options, kind, path], check=True)
        made.append(path)
        return path
    yield mount
    for path in made:
        subprocess.run(["umount", "-l", path], check=True)


def trace_to(daemon, job, log_file, *options, **popen):
    return daemon.dyno("gputrace", "--pids", job.pid, "--duration-ms", 200, "--log-file", log_file,
                       "--json", *options, **popen)


def delivered(answer):
    assert answer.code == 0, answer
    (update,) = answer.json["processes"]
    assert update["state"] == "delivered", update
    assert update["checked"] and update["whole"] and update["ours"], update
    return update


# --- names ---

def with_pid(name, pid):
    """Where people look for the pid: before the suffix."""
    for suffix in (".pt.trace.json", ".json"):
        if name.endswith(suffix):
            return f"{name[:-len(suffix)]}_{pid}{suffix}"
    return f"{name}_{pid}"


@pytest.mark.parametrize("name", [
    "run=1.json", "a#b.json", "two words.json", "it's \"quoted\".json", "größe-日本.json",
    " leading and trailing .json", "no suffix", "-dash.json", "x.pt.trace.json", "%s$(id).json"])
def test_any_name_works(main, scratch, name):
    daemon, job = main
    update = delivered(trace_to(daemon, job, os.path.join(scratch, name)))
    assert update["file"] == os.path.join(scratch, with_pid(name, job.pid))
    assert places.listed(scratch) == [os.path.basename(update["file"])], "nothing else is left"
    traces.assert_good(update["file"], update)


def test_a_directory_is_no_name_of_a_file(main, scratch):
    """The name is one to which the pid is added: beside the directory, where nobody looks."""
    daemon, job = main
    path = os.path.join(scratch, "none")  # as {job} is, of a job that has no name
    os.mkdir(path)
    said = f"{path} is a directory: add the name of a file, such as {path}/trace.json"
    answer = trace_to(daemon, job, path)
    assert answer.code == 2 and said in answer.err, answer
    # With something to fill in only the daemon's worker knows, inside the process's root.
    answer = trace_to(daemon, job, os.path.join(scratch, "{job}"))
    assert answer.code == 4 and said in answer.json["planned"][0]["problem"], answer
    assert os.listdir(scratch) == ["none"] and os.listdir(path) == []
    delivered(trace_to(daemon, job, os.path.join(path, "trace.json")))


@pytest.mark.parametrize("directory", ["lr=0.1", "a#b", "two words", "x.json", "日本"])
def test_any_directory_works(main, scratch, directory):
    daemon, job = main
    path = os.path.join(scratch, directory)
    os.mkdir(path)
    update = delivered(trace_to(daemon, job, os.path.join(path, "t.json")))
    assert update["file"] == os.path.join(path, f"t_{job.pid}.json")
    traces.assert_good(update["file"], update)
    left = [name for name in os.listdir("/tmp") if "dynolog-" in name and str(job.pid) in name]
    assert left == [], "what was written elsewhere first is gone"


def test_templates_expand(main, scratch):
    daemon, job = main
    update = delivered(trace_to(daemon, job,
                                os.path.join(scratch, "{host}-r{rank}-{pid}-{time}.json")))
    name = os.path.basename(update["file"])
    assert name.startswith(os.uname().nodename) and f"-{job.pid}-" in name, name
    assert "rnone" in name and "{" not in name, name


def test_unknown_template_is_refused(main, scratch):
    daemon, job = main
    answer = trace_to(daemon, job, os.path.join(scratch, "{gpu}.json"))
    assert answer.code == 2 and "{rank}" in answer.out + answer.err, answer


def test_relative_path_is_the_callers(main, scratch):
    daemon, job = main
    update = delivered(trace_to(daemon, job, "./t.json", cwd=scratch))
    assert update["file"] == os.path.join(scratch, f"t_{job.pid}.json")


def test_an_earlier_trace_of_that_name_is_replaced(main, scratch):
    daemon, job = main
    first = delivered(trace_to(daemon, job, os.path.join(scratch, "t.json")))
    second = delivered(trace_to(daemon, job, os.path.join(scratch, "t.json")))
    assert first["file"] == second["file"] and first["trace_id"] != second["trace_id"]
    traces.assert_good(second["file"], second)
    assert traces.side_car(second["file"])["trace_id"] == second["trace_id"]


# --- what lies beside it, and in it ---

def test_record_beside_the_trace(main, scratch):
    daemon, job = main
    update = delivered(trace_to(daemon, job, os.path.join(scratch, "t.json"), "--with-stacks"))
    record = traces.side_car(update["file"])
    assert record["schema"] == 1 and record["trace_id"] == update["trace_id"]
    assert record["host"] == os.uname().nodename and record["process"]["pid"] == job.pid
    assert record["summary"]["events"] == update["summary"]["events"]
    assert record["options"]["PROFILE_WITH_STACK"] == "true", record["options"]
    assert record["process"]["torch_version"].startswith("2."), record["process"]
    verdict = record["verdict"]
    assert verdict["checked"] and verdict["whole"] and verdict["ours"] and not verdict["problem"]
    assert record["times"]["window_start"]["ns"] == update["summary"]["window_start_ns"]


def test_rank_is_put_into_the_file(kineto_job, main_daemon, scratch):
    job = kineto_job(env={"RANK": "3", "LOCAL_RANK": "1", "WORLD_SIZE": "8"})
    main_daemon.wait_for(job.pid, rank=3)
    update = delivered(trace_to(main_daemon, job, os.path.join(scratch, "r{rank}.json")))
    assert update["file"] == os.path.join(scratch, "r3.json")
    with open(update["file"]) as file:
        text = file.read()
    assert '"rank": 3' in text, "as HTA looks for it"
    info = json.loads(text)["distributedInfo"]
    assert info["rank"] == 3 and info["world_size"] == 8
    assert traces.side_car(update["file"])["job"]["rank"] == 3


def test_gzip(main, scratch):
    daemon, job = main
    update = delivered(trace_to(daemon, job, os.path.join(scratch, "t.json"), "--gzip"))
    assert update["file"].endswith(".json.gz")
    assert places.listed(scratch) == [os.path.basename(update["file"])]
    with gzip.open(update["file"], "rt") as file:
        assert json.load(file)["trace_id"] == update["trace_id"]


# --- directories ---

def test_mkdir(kineto_job, main_daemon, scratch):
    os.chmod(scratch, 0o1777)
    job = kineto_job(uid=ALICE)
    main_daemon.wait_for(job.pid)
    path = os.path.join(scratch, "new/er/t.json")
    refused = trace_to(main_daemon, job, path)
    assert refused.code == 4 and "--mkdir" in refused.out + refused.err, refused
    update = delivered(trace_to(main_daemon, job, path, "--mkdir"))
    info = os.stat(os.path.dirname(update["file"]))
    assert info.st_uid == ALICE, "made as the trace's owner"
    assert os.stat(update["file"]).st_uid == ALICE


def test_read_only_file_system(main, mounted):
    daemon, job = main
    path = mounted("ro")
    subprocess.run(["mount", "-o", "remount,ro", path], check=True)
    answer = trace_to(daemon, job, os.path.join(path, "t.json"))
    assert answer.code == 4 and "read-only" in answer.out + answer.err, answer


def test_other_file_system_is_copied(main, mounted):
    """The path does not suit Kineto, so the trace comes from /tmp."""
    daemon, job = main
    path = os.path.join(mounted("other"), "lr=1")
    os.mkdir(path)
    update = delivered(trace_to(daemon, job, os.path.join(path, "t.json")))
    traces.assert_good(update["file"], update)
    assert os.stat(path).st_dev != os.stat("/tmp").st_dev
    assert places.listed(path) == [os.path.basename(update["file"])]


def test_full_file_system_loses_nothing(kineto_job, main_daemon, mounted):
    path = os.path.join(mounted("small", options="size=3m,mode=1777"), "lr=1")
    os.mkdir(path)
    job = kineto_job("good", "--megabytes", 8)
    main_daemon.wait_for(job.pid)
    answer = trace_to(main_daemon, job, os.path.join(path, "t.json"))
    assert answer.code == 4, answer
    (update,) = answer.json["processes"]
    assert update["state"] == "undelivered", update
    assert "room" in update["sentence"] or "space" in update["sentence"], update
    assert places.listed(path) == [], "a partial copy is no trace"
    kept = update["file"]
    try:
        assert kept and kept in update["sentence"], "it says where the trace is"
        assert traces.read(kept)["trace_id"] == update["trace_id"]
    finally:
        if kept and os.path.exists(kept):
            os.unlink(kept)


def test_trace_in_memory_is_said(main, mounted):
    daemon, job = main
    answer = trace_to(daemon, job, os.path.join(mounted("mem"), "t.json"))
    delivered(answer)
    assert any("memory" in note for note in answer.json["planned"][0]["notes"]), answer


# --- attacks on the name ---

def test_target_replaced_by_a_link_meanwhile(kineto_job, main_daemon, scratch):
    victim = os.path.join(scratch, "victim")
    with open(victim, "w") as file:
        file.write("precious")
    job = kineto_job("slow", uid=ALICE)
    main_daemon.wait_for(job.pid)
    os.mkdir(job.file("d"))
    os.chown(job.file("d"), ALICE, ALICE)
    running = main_daemon.dyno_started("gputrace", "--pids", job.pid, "--log-file",
                                       job.file("d/t.json"), "--json")
    running.wait_until_said(": tracing")
    target = job.file(f"d/t_{job.pid}.json")
    os.symlink(victim, target)
    answer = running.finish()
    with open(victim) as file:
        assert file.read() == "precious"
    (update,) = answer.json["processes"]
    assert answer.code == 4 and update["state"] == "undelivered", answer
    assert "symbolic link" in update["sentence"], update
    assert os.path.islink(target), "it is the user's"
    assert traces.read(update["file"])["trace_id"] == update["trace_id"], "nothing is lost"


def test_directory_replaced_by_a_link_meanwhile(kineto_job, main_daemon, scratch):
    """The directory that was looked at is held: what takes its name gets nothing."""
    elsewhere = os.path.join(scratch, "elsewhere")
    os.mkdir(elsewhere)
    os.chmod(elsewhere, 0o1777)
    job = kineto_job("slow", uid=ALICE)
    main_daemon.wait_for(job.pid)
    os.mkdir(job.file("d"))
    os.chown(job.file("d"), ALICE, ALICE)
    running = main_daemon.dyno_started("gputrace", "--pids", job.pid, "--log-file",
                                       job.file("d/t.json"), "--json")
    running.wait_until_said(": tracing")
    os.rename(job.file("d"), job.file("moved"))
    os.symlink(elsewhere, job.file("d"))
    answer = running.finish()
    assert answer.code == 4, answer
    assert answer.json["processes"][0]["state"] != "delivered", answer
    # The client itself goes by the path, and its files have names of the daemon's choice.
    assert all(name.startswith("dynolog-") for name in os.listdir(elsewhere)), (
        "the daemon put nothing there", os.listdir(elsewhere))


def test_planted_record_directory_is_not_followed(kineto_job, main_daemon, scratch):
    victim = os.path.join(scratch, "victim")
    os.mkdir(victim)
    os.chmod(victim, 0o1777)
    job = kineto_job(uid=ALICE)
    main_daemon.wait_for(job.pid)
    os.symlink(victim, job.file(".dynolog"))
    update = delivered(trace_to(main_daemon, job, job.file("t.json")))
    assert os.listdir(victim) == []
    assert os.path.exists(update["file"])


def test_delivered_file_is_the_owners(kineto_job, main_daemon):
    job = kineto_job(uid=ALICE)
    main_daemon.wait_for(job.pid)
    update = delivered(trace_to(main_daemon, job, job.file("t.json")))
    info = os.stat(update["file"])
    assert info.st_uid == ALICE and stat.S_ISREG(info.st_mode) and info.st_nlink == 1
    record = os.path.join(job.directory, ".dynolog", os.path.basename(update["file"]) + ".json")
    assert os.stat(record).st_uid == ALICE


# --- a client that does not obey ---

def test_redirected_trace_is_found_and_moved(kineto_job, main_daemon, scratch):
    job = kineto_job("redirect")
    main_daemon.wait_for(job.pid)
    update = delivered(trace_to(main_daemon, job, os.path.join(scratch, "t.json")))
    assert update["file"] == os.path.join(scratch, f"t_{job.pid}.json")
    traces.assert_good(update["file"], update)
    assert not os.path.exists(f"/tmp/libkineto_activities_{job.pid}.json")


def test_planted_redirect_is_not_taken(kineto_job, main_daemon, scratch):
    """A file under Kineto's own name that carries another id is nobody's trace."""
    job = kineto_job("slow")
    main_daemon.wait_for(job.pid)
    planted = f"/tmp/libkineto_activities_{job.pid}.json"
    with open(planted, "w") as file:
        file.write('{"trace_id": "1", "traceEvents": []}')
    try:
        update = delivered(trace_to(main_daemon, job, os.path.join(scratch, "t.json")))
        assert traces.read(update["file"])["trace_id"] == update["trace_id"]
        assert os.path.exists(planted)
    finally:
        os.unlink(planted)


# --- mount namespaces ---

def private_mounts(*directories):
    """Commands get tmpfs of their own there: what the host has is not what they see."""
    def wrap(command):
        mounts = " && ".join(f"mount -t tmpfs -o mode=1777 tmpfs {path}" for path in directories)
        return ["unshare", "--mount", "--propagation", "private", "sh", "-c",
                f'{mounts} && exec "$@"', "sh", *command]
    return wrap


@pytest.fixture
def hidden_job(kineto_job, main_daemon):
    """A job whose /mnt is a tmpfs that nobody else sees."""
    def make(behaviour="good", *arguments):
        job = kineto_job(behaviour, *arguments, wrap=private_mounts("/mnt"))
        main_daemon.wait_for(job.pid)
        return job
    return make


def test_private_mount_stays_in_the_jobs_view(hidden_job, main_daemon):
    """The caller has no such directory: the file stays where only the job sees it."""
    job = hidden_job()
    subprocess.run(["nsenter", f"--mount=/proc/{job.pid}/ns/mnt", "mkdir", "/mnt/only-here"],
                   check=True)
    update = delivered(trace_to(main_daemon, job, "/mnt/only-here/t.json"))
    assert not os.path.exists("/mnt/only-here")
    inside = f"/proc/{job.pid}/root/mnt/only-here/t_{job.pid}.json"
    traces.assert_good(inside, update)


def test_private_mount_is_brought_into_the_callers_view(hidden_job, main_daemon):
    """Both have the directory, but it is not the same: the caller's gets the file."""
    job = hidden_job()
    try:
        answer = trace_to(main_daemon, job, "/mnt/t.json")
        update = delivered(answer)
        assert "brought" in answer.out + answer.err, answer
        assert update["location"] == "caller" and update["file"] == f"/mnt/t_{job.pid}.json"
        traces.assert_good(update["file"], update)
        left = [n for n in os.listdir(f"/proc/{job.pid}/root/tmp") if "dynolog-" in n
                and str(job.pid) in n]
        assert left == [], "what was staged is gone"
    finally:
        for name in (f"t_{job.pid}.json",):
            if os.path.exists(f"/mnt/{name}"):
                os.unlink(f"/mnt/{name}")
        shutil.rmtree("/mnt/.dynolog", ignore_errors=True)


def outside_tmp():
    """A directory of the test's that a private /tmp does not hide."""
    path = tempfile.mkdtemp(prefix="dyn-", dir="/var/tmp")
    os.chmod(path, 0o1777)
    return path


@pytest.fixture
def far():
    """A daemon and a factory of jobs whose /tmp is their own, as Slurm's job_container makes it."""
    sockets, made = outside_tmp(), []
    script = os.path.join(sockets, "kineto_job.py")
    shutil.copy(SCRIPT, script)
    daemon = Daemon("--noenable_ipc_monitor", "--no_tcp", f"--kineto_socket_dir={sockets}").start()

    def start(behaviour, *arguments):
        process = subprocess.Popen(
            private_mounts("/tmp")([os.path.realpath(sys.executable), script, sockets, "--as",
                                    behaviour, *map(str, arguments)]),
            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, cwd="/", env=environment())
        made.append(process)
        daemon.wait_for(process.pid)
        return process
    yield daemon, start
    for process in made:
        process.kill()
        process.wait()
        process.stdin.close()
    daemon.close()
    shutil.rmtree(sockets)


def test_private_tmp_of_a_living_job(far):
    """`--log-file /tmp/...` is the caller's /tmp, not the one that the job sees."""
    daemon, start = far
    job = start("good")
    update = delivered(trace_to(daemon, job, "/tmp/t.json"))
    try:
        assert update["location"] == "caller" and update["file"] == f"/tmp/t_{job.pid}.json"
        traces.assert_good(update["file"], update)
        assert not [name for name in os.listdir(f"/proc/{job.pid}/root/tmp") if "dynolog" in name]
    finally:
        if os.path.exists(f"/tmp/t_{job.pid}.json"):
            os.unlink(f"/tmp/t_{job.pid}.json")
        shutil.rmtree("/tmp/.dynolog", ignore_errors=True)


def test_private_tmp_of_a_job_that_ends_with_its_trace(far, scratch):
    """Its root and its mounts are gone by the delivery; the held directory is not."""
    daemon, start = far
    job = start("exits", "--megabytes", 8)
    answer = daemon.dyno("gputrace", "--pids", job.pid, "--duration-ms", 200, "--output", scratch,
                         "--json")
    update = delivered(answer)
    assert job.wait(PATIENCE) == 0, "it ended by itself"
    assert os.path.getsize(update["file"]) > 8e6
    traces.assert_good(update["file"], update)


# --- brought to the caller ---

def test_output_brings_the_file(main, scratch):
    daemon, job = main
    out = os.path.join(scratch, "out")
    answer = daemon.dyno("gputrace", "--pids", job.pid, "--output", out, "--json")
    update = delivered(answer)
    assert update["location"] == "caller" and os.path.dirname(update["file"]) == out
    traces.assert_good(update["file"], update)
    assert traces.side_car(update["file"])["trace_id"] == update["trace_id"]


def test_output_over_tcp(main, main_port, scratch):
    daemon, job = main
    out = os.path.join(scratch, "out")
    answer = daemon.dyno("gputrace", "--pids", job.pid, "--output", out, "--gzip", "--json",
                         tcp=main_port)
    update = delivered(answer)
    assert update["file"].endswith(".json.gz")
    assert traces.read(update["file"])["trace_id"] == update["trace_id"]


def test_output_of_another_users_process(kineto_job, main_daemon, scratch):
    """Root gets Alice's trace into a directory that Alice cannot even see."""
    os.chmod(scratch, 0o700)
    job = kineto_job("good", "--megabytes", 12, uid=ALICE)
    main_daemon.wait_for(job.pid)
    answer = main_daemon.dyno("gputrace", "--pids", job.pid, "--output",
                              os.path.join(scratch, "o"), "--json")
    update = delivered(answer)
    assert os.stat(update["file"]).st_uid == 0
    assert os.path.getsize(update["file"]) > 12e6
    traces.assert_good(update["file"], update)


def test_default_directory_for_another_users_process(kineto_job, main_daemon, scratch):
    os.chmod(scratch, 0o700)
    job = kineto_job(uid=ALICE)
    main_daemon.wait_for(job.pid)
    answer = main_daemon.dyno("gputrace", "--pids", job.pid, "--json", cwd=scratch)
    update = delivered(answer)
    (made,) = os.listdir(scratch)
    assert made.startswith("dynolog-") and update["file"].startswith(
        os.path.join(scratch, made) + "/")
    traces.assert_good(update["file"], update)


def test_caller_without_room_leaves_it_with_the_daemon(kineto_job, main_daemon, mounted):
    small = mounted("small", options="size=1m")
    job = kineto_job("good", "--megabytes", 6)
    main_daemon.wait_for(job.pid)
    answer = main_daemon.dyno("gputrace", "--pids", job.pid, "--output", small, "--json")
    assert answer.code == 4, answer
    problem = answer.json["processes"][0]["fetch"]["problem"]
    assert "room" in problem or "space" in problem, answer
    assert places.listed(small) == []
    assert "traces fetch " + answer.json["session"] in answer.err, answer


@pytest.fixture
def kept_trace(hidden_job, main_daemon):
    """(session, job) of a trace that is to be brought, and that nobody waits for."""
    job = hidden_job("good", "--megabytes", 3)
    asked = main_daemon.dyno("gputrace", "--pids", job.pid, "--log-file", "/mnt/t.json",
                             "--no-wait", "--json")
    assert asked.code == 0, asked
    session = asked.json["session"]
    until("the daemon to keep it", lambda: kept_row(main_daemon, session)["kept_bytes"])
    yield session, job
    main_daemon.dyno("traces", "delete", session)


def kept_row(daemon, session):
    listed = daemon.dyno("traces", "list", "--json")
    assert listed.code == 0, listed
    return next(row for row in listed.json["sessions"] if row["session"] == session)


def test_nobody_waits_and_the_daemon_keeps_it(kept_trace, main_daemon, scratch):
    session, job = kept_trace
    (kept,) = kept_row(main_daemon, session)["traces"]
    assert kept["state"] == "delivered" and kept["location"] == "daemon", kept
    job.kill()
    fetched = main_daemon.dyno("traces", "fetch", session, "--output", scratch, "--json")
    assert fetched.code == 0, fetched
    (name,) = places.listed(scratch)
    assert traces.read(os.path.join(scratch, name))["trace_id"] == kept["trace_id"]
    assert kept_row(main_daemon, session)["kept_bytes"] == 0, "once is enough"


def test_kept_trace_outlives_the_daemon(daemon, shared_directory, scratch):
    flags = ("--noenable_ipc_monitor", "--no_tcp", f"--kineto_socket_dir={shared_directory}")
    first = daemon(*flags)
    job = KinetoJob(shared_directory, "good", "--megabytes", 2, wrap=private_mounts("/mnt"))
    try:
        job.wait_ready()
        first.wait_for(job.pid)
        asked = first.dyno("gputrace", "--pids", job.pid, "--log-file", "/mnt/t.json", "--no-wait",
                           "--json")
        session = asked.json["session"]
        until("the daemon to keep it", lambda: kept_row(first, session)["kept_bytes"])
    finally:
        job.close()
    first.stop()
    first.start()
    fetched = first.dyno("traces", "fetch", session, "--output", scratch, "--json")
    assert fetched.code == 0, fetched
    (name,) = places.listed(scratch)
    assert len(traces.read(os.path.join(scratch, name))["traceEvents"]) > 50


def test_kept_trace_is_its_owners_only(kept_trace, main_daemon, scratch):
    session, _ = kept_trace
    os.chmod(scratch, 0o1777)
    for arguments in (["show"], ["delete"], ["fetch", "--output", scratch]):
        verb, *options = arguments
        answer = main_daemon.dyno("traces", verb, session, *options, uid=ALICE)
        assert answer.code == 3, answer
    assert main_daemon.dyno("traces", "delete", session).code == 0
    assert main_daemon.dyno("traces", "show", session).code == 3
