"""A process that speaks Kineto's datagrams as standard input tells it, one JSON line a reply."""

import ctypes
import json
import os
import select
import signal
import socket
import struct
import sys
import time

IDLE = 3


def request(pid):
    return (struct.pack("<Q", 20) + b"req".ljust(32, b"\0") + struct.pack("<iiq", IDLE, 1, 0) +
            struct.pack("<i", pid))


def receive(endpoint, seconds=2.0):
    readable, _, _ = select.select([endpoint], [], [], seconds)
    return endpoint.recv(1 << 20)[40:].decode() if readable else None


def say(**fields):
    print(json.dumps(fields), flush=True)


def enter_user_namespace(first_uid):
    """0 and 1 inside are `first_uid` and the next one; the parent, still root, writes the maps."""
    entered, enter = os.pipe()
    mapped, map_done = os.pipe()
    child = os.getpid()
    helper = os.fork()
    if helper == 0:
        os.read(entered, 1)
        for name in ("uid_map", "gid_map"):
            with open(f"/proc/{child}/{name}", "w") as file:
                file.write(f"0 {first_uid} 2\n")
        os.write(map_done, b"x")
        os._exit(0)
    CLONE_NEWUSER = 0x10000000
    if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWUSER) != 0:
        raise OSError(ctypes.get_errno(), "unshare")
    os.write(enter, b"x")
    os.read(mapped, 1)
    os.waitpid(helper, 0)
    os.setgroups([])
    os.setgid(0)
    os.setuid(0)


class Poller:
    def __init__(self, directory):
        self.directory = directory
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.path = os.path.join(directory, f"dynoconfigclient{os.urandom(6).hex()}")
        self.socket.bind(self.path)
        os.chmod(self.path, 0o666)
        self.last = 0.0

    def send(self, ancillary=()):
        # The daemon answers an endpoint once in 250 ms, as a real client's period is 1 s or more.
        wait = self.last + 0.3 - time.monotonic()
        if wait > 0:
            select.select([], [], [], wait)
        self.last = time.monotonic()
        self.socket.sendmsg([request(os.getpid())], ancillary, 0,
                            os.path.join(self.directory, "dynolog"))
        return receive(self.socket)

    def obey(self, words):
        verb, *rest = words
        if verb == "poll":
            say(reply=self.send())
        elif verb == "forge":
            forged = struct.pack("iII", os.getpid(), int(rest[0]), int(rest[0]))
            say(reply=self.send([(socket.SOL_SOCKET, 2, forged)]))
        elif verb == "become":
            os.setgroups([])
            os.setgid(int(rest[0]))
            os.setuid(int(rest[0]))
            say(uid=os.getuid())
        elif verb == "link":
            os.unlink(self.path)
            os.symlink(rest[0], self.path)
            say(linked=True)


def call(**fields):
    body = json.dumps(fields).encode()
    with socket.create_connection(("127.0.0.1", 1778)) as rpc:
        rpc.sendall(struct.pack("<i", len(body)) + body)
        size, = struct.unpack("<i", rpc.recv(4, socket.MSG_WAITALL))
        return json.loads(rpc.recv(size, socket.MSG_WAITALL))


def stage(log_file):
    config = f"ACTIVITIES_LOG_FILE={log_file}\nACTIVITIES_DURATION_MSECS=100"
    reply = call(fn="setKinetOnDemandRequest", config=config, job_id=0, pids=[os.getpid()],
                 process_limit=3)
    if reply.get("activityProfilersTriggered") != [os.getpid()]:
        raise SystemExit(f"not triggered: {reply}")


def dropped():
    """How many polls came too late so far, and how many answers could not be sent."""
    counters = call(fn="daemonStatus")["counters"]
    return counters["kineto_late"], counters["kineto_reply_failed"]


def stop(pid):
    """Until none of its threads runs any more."""
    os.kill(pid, signal.SIGSTOP)
    while True:
        states = set()
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/stat") as file:
                states.add(file.read().rpartition(")")[2].split()[0])
        if states == {"T"}:
            return


def abstract_rebind(daemon, log_file):
    """A traced process asks and goes; its name is another's before the daemon has looked."""
    name = b"\0dynoconfigclient" + os.urandom(6).hex().encode() + b"\0"
    tracee = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    tracee.bind(name)
    tracee.sendto(request(os.getpid()), b"\0dynolog\0")
    if receive(tracee) != "":
        raise SystemExit("no answer to the first poll")
    stage(log_file)
    select.select([], [], [], 0.3)
    late, failed = dropped()
    thief = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    # It stands still for less than the 40 ms after which it would not answer at all.
    stop(daemon)
    tracee.sendto(request(os.getpid()), b"\0dynolog\0")
    tracee.close()
    thief.bind(name)
    os.kill(daemon, signal.SIGCONT)
    # A second process's poll is answered after the first was dealt with.
    other = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    other.bind(b"\0dynoconfigclient" + os.urandom(6).hex().encode() + b"\0")
    other.sendto(request(os.getpid()), b"\0dynolog\0")
    heard = {"other": receive(other), "thief": receive(thief, 0)}
    now_late, now_failed = dropped()
    say(late=now_late - late, failed=now_failed - failed, **heard)


def burst_client(directory, start):
    """One process of the burst: the number of the poll that was answered, or 0."""
    path = os.path.join(directory, f"dynoconfigclient{os.urandom(6).hex()}")
    endpoint = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    endpoint.bind(path)
    os.read(start, 1)
    for poll in range(1, 13):
        endpoint.sendto(request(os.getpid()), os.path.join(directory, "dynolog"))
        readable, _, _ = select.select([endpoint], [], [], 1)
        if readable and len(endpoint.recv(1 << 20)) == 40:
            break
    else:
        poll = 0
    os.unlink(path)
    return poll


def burst(directory, count):
    """All at once; who is not answered in a second asks again, as a real client would."""
    start, starter = os.pipe()
    children = []
    for _ in range(count):
        children.append(os.fork())
        if children[-1] == 0:
            os.close(starter)
            os._exit(burst_client(directory, start))
    os.close(starter)
    polls = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    say(answered=[polls.count(number) for number in range(1, 13)])


if sys.argv[1] == "abstract-rebind":
    abstract_rebind(int(sys.argv[2]), sys.argv[3])
elif "--burst" in sys.argv:
    burst(sys.argv[1], int(sys.argv[-1]))
else:
    if "--user-namespace" in sys.argv:
        enter_user_namespace(int(sys.argv[-1]))
    poller = Poller(sys.argv[1])
    say(pid=os.getpid(), path=poller.path)
    for line in sys.stdin:
        poller.obey(line.split())
    if os.path.lexists(poller.path):
        os.unlink(poller.path)
