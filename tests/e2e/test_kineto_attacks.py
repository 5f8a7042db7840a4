"""Hostile and broken Kineto clients: nobody becomes somebody else, nobody else waits."""

import json
import os
import signal
import socket
import struct
import subprocess
import sys

import pytest

from harness import datagrams, frames, places
from harness.daemon import tcp_port
from harness.datagrams import Client
from harness.waiting import until

ALICE = 20001
BOB = 20002

# A process of any user that polls when told to: `poll`, `send HEX`, `rename NEW`, `link TARGET`.
ACTOR = os.path.join(os.path.dirname(__file__), "jobs", "poller.py")


class Actor:
    def __init__(self, directory, uid=None, *arguments):
        python, env = places.torch_python(uid or 0)
        self.process = subprocess.Popen(
            [*python, places.published(ACTOR), directory, *arguments], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True, cwd="/", env={**os.environ, **env},
            **({"user": uid, "group": uid, "extra_groups": []} if uid else {}))
        self.pid = self.process.pid
        self.ready = json.loads(self.process.stdout.readline())

    def tell(self, *words):
        self.process.stdin.write(" ".join(words) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def close(self):
        self.process.stdin.close()
        self.process.wait(10)
        self.process.stdout.close()


@pytest.fixture
def actor():
    made = []

    def create(*arguments):
        made.append(Actor(*arguments))
        return made[-1]
    yield create
    for each in made:
        each.close()


@pytest.fixture
def client():
    made = []

    def create(*arguments, **options):
        made.append(Client(*arguments, **options))
        return made[-1]
    yield create
    for each in made:
        each.close()


@pytest.fixture
def served(daemon, shared_directory):
    """A daemon on a directory that everybody may write to, with TCP."""
    made = daemon("--noenable_ipc_monitor", "--port=0", f"--kineto_socket_dir={shared_directory}")
    made.shared = shared_directory
    return made


# --- who a poller is ---

def test_root_that_forges_a_uid_stays_root(served, actor):
    forger = actor(served.shared)
    assert forger.tell("forge", str(ALICE))["reply"] == ""
    row = served.wait_for(forger.pid)
    assert row["uid"] == 0, row
    assert served.processes(uid=ALICE) == []


def test_forged_uid_from_a_user_namespace(served, actor):
    """With CAP_SETUID over subordinate uids a credential may carry another mapped uid."""
    forger = actor(served.shared, None, "--user-namespace", str(ALICE))
    assert forger.tell("forge", "1")["reply"] == "", "inside, 1 is Bob"
    row = served.wait_for(forger.pid)
    assert row["uid"] == ALICE, row
    assert served.processes(uid=BOB) == []


def test_uid_that_changes_after_the_request_gets_nothing(served, actor):
    """Root's process asks, is to be traced, and becomes another user's before its next poll."""
    changer = actor(served.shared)
    assert changer.tell("poll")["reply"] == ""
    served.wait_for(changer.pid)
    directory = places.short_directory()
    try:
        reply = frames.call(tcp_port(served), frames.existing_trace_request(
            os.path.join(directory, "t.json"), pids=str(changer.pid)))
        assert json.loads(reply)["activityProfilersTriggered"] == [changer.pid], reply
        changer.tell("become", str(ALICE))
        assert "ACTIVITIES" not in (changer.tell("poll")["reply"] or "")
    finally:
        places.remove(directory)


def test_pid_of_the_message_is_not_believed(served, client):
    liar = client(served.shared)
    assert liar.poll(pids=[1]) == ""
    row = served.wait_for(os.getpid())
    assert row["pid"] == os.getpid() and len(served.processes()) == 1


# --- names in a shared directory ---

def ask_for_trace(daemon, pid, directory):
    reply = json.loads(frames.call(tcp_port(daemon), frames.existing_trace_request(
        os.path.join(directory, "t.json"), pids=str(pid))))
    assert reply["activityProfilersTriggered"] == [pid], reply


def test_link_in_place_of_its_socket_is_not_followed(served, actor, client):
    private = places.short_directory(0o700, BOB)
    victim = client(private, name="inbox")
    os.chown(victim.path, BOB, BOB)
    attacker = actor(served.shared, ALICE)
    before = served.counter("kineto_bad_sender")
    assert attacker.tell("link", victim.path)["linked"]
    assert attacker.tell("poll")["reply"] is None
    honest = client(served.shared)
    assert honest.poll() == "", "everybody else is served"
    assert victim.receive(0) is None
    assert served.counter("kineto_bad_sender") == before + 1
    places.remove(private)


def test_socket_of_another_user_is_not_answered(served, actor, client):
    """Bob's live socket under the name that Alice polls from."""
    victim = client(served.shared)
    os.chown(victim.path, BOB, BOB)
    attacker = actor(served.shared, ALICE)
    # Root stands for a kernel without fs.protected_hardlinks, which Alice would need.
    os.unlink(attacker.ready["path"])
    os.link(victim.path, attacker.ready["path"])
    with served.counting(kineto_bad_sender=1):
        assert attacker.tell("poll")["reply"] is None
    assert datagrams.is_served(served.shared)
    assert victim.receive(0) is None


def test_re_bound_name_gets_no_configuration(served, actor, client, scratch):
    tracee = actor(served.shared)
    assert tracee.tell("poll")["reply"] == ""
    served.wait_for(tracee.pid)
    # Root stands for whoever may write in the directory: the name now is another socket's.
    name = os.path.basename(tracee.ready["path"])
    os.unlink(tracee.ready["path"])
    thief = client(served.shared, name=name)
    ask_for_trace(served, tracee.pid, scratch)
    reply = tracee.tell("poll")["reply"]
    assert thief.receive(0) is None, "the new holder of the name gets nothing"
    assert reply is None or "ACTIVITIES_LOG_FILE" in reply


def rebind_abstract_name(network, served, scratch):
    done = network.run(sys.executable, places.published(ACTOR), "abstract-rebind",
                       str(served.pid), os.path.join(scratch, "t.json"), capture_output=True,
                       text=True, timeout=60)
    assert done.returncode == 0, done
    return json.loads(done.stdout)


def test_re_bound_abstract_name_gets_no_configuration(network, daemon, scratch):
    """Within a namespace of its own: the abstract name is one for all."""
    served = daemon("--port=1778", namespace=network)
    for _ in range(50):
        result = rebind_abstract_name(network, served, scratch)
        assert result["thief"] is None, result
        # What waited for over 40 ms was dropped, and proves nothing.
        if result["late"] == 0:
            break
    assert result["late"] == 0, "each round was too slow"
    assert result["failed"] == 1, "the answer was for the socket that had asked and is closed"
    assert result["other"] is not None, result


# --- broken datagrams ---

HEADER = 40


def broken_datagrams():
    me = os.getpid()
    good = datagrams.request([me])
    yield "empty", b""
    yield "one byte", b"x"
    yield "short header", good[:8]
    yield "header only", good[:HEADER]
    for size in (2**60, 2**63, 2**64 - 1, 1 << 30, 20 << 30, 100, 4, 0):
        yield f"size {size}", struct.pack("<Q", size) + good[8:]
    yield "req of 4 bytes", datagrams.message("req", b"\1\0\0\0")
    for n in (-1, 0, 12, 1000, 1_000_000, 2**30, 2**31 - 1):
        yield f"n {n}", datagrams.request([me], n=n)
    yield "type without NUL", datagrams.message("", good[HEADER:], name=b"r" * 32)
    yield "unknown type", datagrams.message("abcd", good[HEADER:])
    yield "ctxt of 4 bytes", datagrams.message("ctxt", b"\1\0\0\0")
    yield "ctxt of no bytes", datagrams.message("ctxt", b"")
    yield "64 KiB", datagrams.message("req", b"\1" * 65000)


def test_broken_datagrams_are_dropped(served, client):
    before = served.counter("kineto_malformed")
    sent = 0
    for what, data in broken_datagrams():
        one = client(served.shared)
        one.send(data)
        sent += 1
        assert datagrams.is_served(served.shared), f"after {what}"
        one.close()
    assert served.counter("kineto_malformed") == before + sent
    assert served.process.poll() is None


def test_senders_without_a_proper_name(served, client, scratch):
    before = served.counter("kineto_bad_sender")
    unbound = client(served.shared, bind=False)
    unbound.send(datagrams.request([os.getpid()]))
    elsewhere = client(scratch)
    elsewhere.daemon = os.path.join(served.shared, "dynolog")
    elsewhere.send(datagrams.request([os.getpid()]))
    abstract = client()
    abstract.daemon = os.path.join(served.shared, "dynolog")
    abstract.send(datagrams.request([os.getpid()]))
    assert datagrams.is_served(served.shared)
    assert served.counter("kineto_bad_sender") == before + 3
    assert elsewhere.receive(0) is None and abstract.receive(0) is None


def test_context_message_is_answered(served, client):
    asking = client(served.shared)
    asking.send(datagrams.context(os.getpid()))
    reply = asking.receive()
    assert reply is not None and len(reply) == 44, reply
    assert reply[8:12] == b"ctxt"


def test_client_that_never_reads_delays_nobody(served, client):
    deaf = client(served.shared)
    before = served.counter("kineto_behind")

    def has_fallen_behind():
        deaf.send(datagrams.request([os.getpid()]))
        return served.counter("kineto_behind") >= before + 3
    until("its polls to go unanswered", has_fallen_behind)
    assert datagrams.is_served(served.shared)
    assert deaf.receive(0) is not None and deaf.receive(0) is None, "one reply at a time"


def test_client_that_is_gone_before_the_reply(served, client):
    def ask_and_go():
        gone = client(served.shared)
        gone.send(datagrams.request([os.getpid()]))
        gone.close()
        return True
    for _ in range(20):
        assert datagrams.in_a_process_of_its_own(ask_and_go) == 1
    assert datagrams.is_served(served.shared)
    # Some that are gone for certain when the daemon comes to read; a queue may hold only ten.
    with served.counting(kineto_vanished=8):
        served.pause()
        for _ in range(8):
            assert datagrams.in_a_process_of_its_own(ask_and_go) == 1
        served.process.send_signal(signal.SIGCONT)
    until("others to be answered", lambda: datagrams.is_served(served.shared))


def send_a_lingering_socket(shared, port):
    """Runs in a process of its own, whose end leaves the daemon the last to hold the socket."""
    lingering = socket.create_connection(("127.0.0.1", port))
    lingering.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 7))
    lingering.setblocking(False)
    try:
        while True:
            lingering.send(b"x" * 65536)
    except BlockingIOError:
        pass
    try:
        Client(shared).send(datagrams.request([os.getpid()]), rights=[lingering.fileno()])
    except PermissionError:
        pass  # newer kernels let the receiver refuse descriptors
    os._exit(0)  # at once: closing the socket ourselves would block us


def test_descriptors_sent_along_stop_nothing(served, client):
    """A TCP socket that lingers with unsent data blocks whoever closes it last, for 7 s here."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        pid = os.fork()
        if pid == 0:
            try:
                send_a_lingering_socket(served.shared, listener.getsockname()[1])
            finally:
                os._exit(1)
        assert os.waitpid(pid, 0)[1] == 0
        assert client(served.shared).poll(seconds=3) == ""
        assert served.dyno("status", "--json", "--timeout", 3).code == 0


def test_second_poll_at_once_is_answered_once(served, client):
    hasty = client(served.shared)
    with served.counting(kineto_doubled=1):
        assert hasty.poll() == ""
        assert hasty.poll(seconds=0.3) is None


def test_five_hundred_clients_at_once(served):
    done = subprocess.run([sys.executable, places.published(ACTOR), served.shared, "--burst",
                           "500"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    answered = json.loads(done.stdout)["answered"]
    # A busy machine may make some late, and a late reply is rightly not sent: the next poll counts.
    assert sum(answered) == 500, answered
