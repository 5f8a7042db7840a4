"""Names that users plant where sockets lie, and users who pose as the daemon.

docs/hostile-input.md says which test is for which attack.
"""

import os
import signal
import stat
import subprocess
import types

import pytest

from harness import datagrams, places
from harness.daemon import Daemon
from harness.waiting import PATIENCE, until

ALICE = 20001
BOB = 20002


@pytest.fixture
def site():
    """A daemon, and a socket directory that belongs to Alice, who does there what she likes."""
    daemon = Daemon("--noenable_ipc_monitor", "--no_tcp").start()
    directories = {}
    for uid in (ALICE, BOB):
        assert daemon.dyno("env", uid=uid).code == 0
        directories[uid] = os.path.join(daemon.run_dir, "u", str(uid))
    yield types.SimpleNamespace(daemon=daemon, alice=directories[ALICE], bob=directories[BOB])
    daemon.close()


def has_directory(daemon, uid):
    return "KINETO_IPC_SOCKET_DIR" in daemon.dyno("env", uid=uid).out


def bob_is_served(site, script):
    honest = script("poller.py", site.bob, uid=BOB)
    honest.hear()
    assert honest.tell("poll")["reply"] == ""
    honest.close()


@pytest.fixture
def treasure():
    """What a planted name may lead to: a directory of root's with a file in it."""
    path = places.short_directory(0o700)
    with open(os.path.join(path, "file"), "w") as file:
        file.write("untouched")
    yield os.path.join(path, "file")
    assert os.listdir(path) == ["file"]
    with open(os.path.join(path, "file")) as file:
        assert file.read() == "untouched"
    places.remove(path)


@pytest.mark.parametrize("kind", ["file", "link", "fifo", "directory", "live"])
def test_planted_in_place_of_the_daemons_socket(site, script, treasure, kind):
    """Told to its user and left as it is; others are served; once it goes, all is well."""
    planter = script("planter.py", site.alice, uid=ALICE)
    answer = planter.tell("plant", kind, "dynolog", treasure)
    assert answer == {"planted": kind}
    # A prolog evaluates this: it does not fail, and says why there is no directory.
    answer = site.daemon.dyno("env", uid=ALICE)
    assert answer.code == 0 and "# no socket directory of your own: " in answer.out, answer
    assert "KINETO_IPC_SOCKET_DIR" not in answer.out, answer
    feature, = site.daemon.feature("kineto:user directories")
    assert feature["state"] == "degraded" and "1 of 2" in feature["reason"], feature
    bob_is_served(site, script)
    path = os.path.join(site.alice, "dynolog")
    assert os.lstat(path).st_uid == ALICE, "still Alice's own"
    assert planter.tell("clear")["cleared"]
    until("Alice's directory to be served again", lambda: has_directory(site.daemon, ALICE))
    own = script("poller.py", site.alice, uid=ALICE)
    own.hear()
    assert own.tell("poll")["reply"] == ""


def test_socket_that_nobody_holds_is_replaced(site, script):
    planter = script("planter.py", site.alice, uid=ALICE)
    assert planter.tell("plant", "dead", "dynolog") == {"planted": "dead"}
    until("the daemon's own socket to be back", lambda: has_directory(
        site.daemon, ALICE) and os.stat(os.path.join(site.alice, "dynolog")).st_uid == 0)
    own = script("poller.py", site.alice, uid=ALICE)
    own.hear()
    assert own.tell("poll")["reply"] == ""


def test_thousands_of_planted_client_names(site, script, treasure):
    """The daemon tidies after dead clients: in bounds, sockets only, following no links."""
    planter = script("planter.py", site.alice, uid=ALICE)
    assert planter.tell("many", 3000, "dynoconfigclient")["planted"] == "3000"
    assert planter.tell("plant", "link", "dynoconfigclientx", treasure)["planted"]
    # The socket is gone: the daemon opens the directory anew, and sweeps.
    os.unlink(os.path.join(site.alice, "dynolog"))
    until("Alice's directory to be served again", lambda: has_directory(site.daemon, ALICE))
    bob_is_served(site, script)
    kinds = [stat.S_IFMT(os.lstat(os.path.join(site.alice, name)).st_mode)
             for name in os.listdir(site.alice) if name.startswith("dynoconfigclient")]
    assert kinds.count(stat.S_IFLNK) == 1001 and kinds.count(stat.S_IFREG) == 1000


def test_directory_of_a_user_replaced_as_a_whole(site, script):
    """Its parent is the daemon's: the user can neither move nor remove it."""
    code = ("import os, sys\n"
            "for act in (lambda: os.rename(sys.argv[1], sys.argv[1] + 'x'),\n"
            "            lambda: os.rmdir(sys.argv[1]), lambda: os.mkdir(sys.argv[2])):\n"
            "  try: act()\n"
            "  except OSError: continue\n"
            "  sys.exit(9)\n")
    done = subprocess.run([places.plain_python(ALICE), "-c", code, site.alice,
                           os.path.join(site.daemon.run_dir, "u", "20003")],
                          user=ALICE, group=ALICE, extra_groups=[], cwd="/")
    assert done.returncode == 0
    bob_is_served(site, script)


def test_shared_directory_whose_name_a_user_took_first(unstarted_daemon, script,
                                                       shared_directory):
    """Whoever shares a directory may be first there. The daemon says so, and takes nobody's."""
    planter = script("planter.py", shared_directory, uid=ALICE)
    assert planter.tell("plant", "live", "dynolog")["planted"]
    daemon = unstarted_daemon("--noenable_ipc_monitor", "--no_tcp",
                              f"--kineto_socket_dir={shared_directory}").start()
    feature, = daemon.feature(f"kineto:{shared_directory}")
    assert feature["state"] == "degraded" and str(ALICE) in feature["reason"], feature
    assert os.stat(os.path.join(shared_directory, "dynolog")).st_uid == ALICE
    answer = daemon.dyno("doctor", "--json")
    assert answer.code == 1 and str(ALICE) in answer.out, answer
    # Looking whether somebody is there sends nothing that could be taken for an answer.
    assert planter.tell("heard")["heard"] == 0
    assert planter.tell("clear")["cleared"]
    until("the directory to be served",
          lambda: daemon.feature(f"kineto:{shared_directory}")[0]["state"] == "ok")
    assert datagrams.is_served(shared_directory)


def test_client_names_of_others_are_not_connected(daemon, script, shared_directory):
    """A poll from a name that Alice made to lead elsewhere reaches nobody else's socket."""
    served = daemon("--noenable_ipc_monitor", "--no_tcp", f"--kineto_socket_dir={shared_directory}")
    victim = script("planter.py", shared_directory, uid=BOB)
    assert victim.tell("plant", "live", "bobs")["planted"]
    liar = script("poller.py", shared_directory, uid=ALICE)
    liar.hear()
    before = served.counter("kineto_bad_sender")
    assert liar.tell("link", os.path.join(shared_directory, "bobs"))["linked"]
    assert liar.tell("poll")["reply"] is None
    assert served.counter("kineto_bad_sender") == before + 1
    assert victim.tell("heard")["heard"] == 0
    assert datagrams.is_served(shared_directory)


@pytest.mark.parametrize("what", ["theirs", "link", "file", "open"])
def test_run_directory_that_is_not_the_daemons(unstarted_daemon, scratch, what):
    """One sentence and an end, instead of a socket in somebody else's hands."""
    path = os.path.join(scratch, "r")
    if what == "link":
        os.symlink("/run", path)
    elif what == "file":
        open(path, "w").close()
    else:
        os.mkdir(path)
        os.chmod(path, 0o777 if what == "open" else 0o755)
        if what == "theirs":
            os.chown(path, ALICE, ALICE)
    daemon = unstarted_daemon("--noenable_ipc_monitor", "--no_tcp", run_dir=path)
    code = daemon.launch().process.wait(PATIENCE)
    daemon.process = None
    assert code == 1 and f"cannot start: {path}" in daemon.log(), daemon.log()


def test_dyno_does_not_believe_in_another_users_daemon(unstarted_daemon):
    """Alice's daemon where Bob's would be: no socket of hers gets Bob's requests."""
    place = f"/tmp/dynolog-{BOB}"
    assert not os.path.lexists(place), "left by an earlier run"
    os.mkdir(place, 0o755)
    os.chown(place, ALICE, ALICE)
    try:
        posing = unstarted_daemon("--noenable_ipc_monitor", "--no_tcp", uid=ALICE, run_dir=place)
        posing.launch()
        until("Alice's daemon", lambda: os.path.exists(os.path.join(place, "dynolog.sock")))
        os.chmod(place, 0o755)
        answer = posing.dyno("status", uid=BOB, env={"XDG_RUNTIME_DIR": None}, where=[])
        assert answer.code == 6 and "not trusted" in answer.err, answer
        posing.stop()
    finally:
        places.remove(place)


def test_socket_of_another_user_at_a_systems_path(scratch):
    """Whoever is told by --run-dir to ask there is at least not given control characters."""
    path = os.path.join(scratch, "dynolog.sock")
    code = ("import json, os, socket, struct, sys\n"
            "s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1])\n"
            "os.chmod(sys.argv[1], 0o777); s.listen(); print('up', flush=True)\n"
            "for _ in range(int(sys.argv[2])):\n"
            "  c, _ = s.accept(); c.recv(4096)\n"
            "  b = {'code': 'x\\x1b]0;x\\x07', 'message': '\\x1b[2J\\x9b1m'}\n"
            "  b = json.dumps({'error': b})\n"
            "  b = b.encode(); c.sendall(struct.pack('<i', len(b)) + b); c.close()\n")
    os.chmod(scratch, 0o1777)
    verbs = (["status"], ["ps"], ["doctor"], ["traces", "list"], ["env"], ["version"])
    posing = subprocess.Popen([places.plain_python(ALICE), "-c", code, path, str(len(verbs))],
                              stdout=subprocess.PIPE, user=ALICE, group=ALICE, extra_groups=[])
    assert posing.stdout.readline() == b"up\n"
    for verb in verbs:
        done = subprocess.run([places.program("dyno"), f"--run-dir={scratch}", *verb],
                              capture_output=True, timeout=30, cwd="/")
        assert done.returncode != 0, (verb, done)
        assert not any(byte in done.stdout + done.stderr for byte in b"\x1b\x07\x9b"), (verb, done)
    posing.kill()
    posing.wait()
    posing.stdout.close()


# --- the daemon's own files: what it writes as root goes where nobody else has said ---

LINES = ("--noenable_ipc_monitor", "--no_tcp", "--use_JSON", "--json_interval_s=1")


def hang_up(daemon):
    """SIGHUP to a daemon that logs to stderr, and back when it has done what that asks for."""
    before = daemon.log().count("SIGHUP: ")
    daemon.process.send_signal(signal.SIGHUP)
    until("the reload's line", lambda: daemon.log().count("SIGHUP: ") > before)


def problem(daemon, name):
    """Of a feature that is degraded; "" of one that is well, or has no line of its own then."""
    return next((f["reason"] for f in daemon.feature(name)
                 if f["name"] == name and f["state"] == "degraded"), "")


def readings(daemon):
    return next(c for c in daemon.status()["collectors"] if c["name"] == "cpu")["successes"]


@pytest.mark.parametrize("option, feature", [("log_file", "log"), ("json_file", "json:{path}")])
@pytest.mark.parametrize("owner, mode", [(ALICE, 0o755), (0, 0o1777)])
def test_a_users_link_in_place_of_the_daemons_log_or_lines(daemon, script, treasure, option,
                                                           feature, owner, mode):
    """In a directory of the user's own, and in one like /tmp where the user was first."""
    place = places.short_directory(mode, owner)
    path = os.path.join(place, "lines")
    feature = feature.format(path=path)
    try:
        planter = script("planter.py", place, uid=ALICE)
        assert planter.tell("plant", "link", "lines", treasure) == {"planted": "link"}
        served = daemon(*LINES, f"--{option}={path}")
        for _ in range(2):
            said = problem(served, feature)
            assert path in said and (f"uid {ALICE}" in said or "link" in said), said
            read = readings(served)
            until("lines to be due", lambda: readings(served) > read + 2)
            hang_up(served)
        assert os.path.islink(path)
        os.unlink(path)
        served.process.send_signal(signal.SIGHUP)
        if owner == 0:
            until("the file to be had", lambda: not problem(served, feature))
            until("something in it", lambda: os.path.getsize(path) > 0)
        served.stop()
        # Alice's own directory stays one that Alice says all about.
        assert os.listdir(place) == ([] if owner == ALICE else ["lines"])
    finally:
        places.remove(place)


def test_a_users_link_in_place_of_a_log_that_was_rotated(daemon, script, treasure):
    place = places.short_directory(0o1777)
    path = os.path.join(place, "lines")
    try:
        planter = script("planter.py", place, uid=ALICE)
        served = daemon(*LINES, f"--log_file={path}")
        os.rename(path, path + ".1")
        assert planter.tell("plant", "link", "lines", treasure) == {"planted": "link"}
        served.process.send_signal(signal.SIGHUP)
        said = until("the link to be seen", lambda: problem(served, "log"))
        assert path in said and "link" in said, said
        os.unlink(path)
        served.process.send_signal(signal.SIGHUP)
        until("the log to be its own again", lambda: not problem(served, "log"))
        served.stop()
        with open(path) as log:
            assert "SIGHUP" in log.read()
    finally:
        places.remove(place)
