"""Floods the daemon until standard input ends, or the number of tries is used up.

`connections unix PATH | tcp PORT [N]`: holds N connections, says how many of them stay open.
With `--user-namespace UID` it is root and becomes that user, in a user namespace of its own: each
connection comes from another of the user's subordinate uids.
`churn ...`: connects, half a request, closes, again and again.
`datagrams DIRECTORY | abstract`: polls as fast as the socket takes them, and never reads.
`processes DIRECTORY`: a new process for each poll.
"""

import ctypes
import json
import os
import select
import socket
import struct
import sys

CONNECTIONS = 400
FIRST_SUBORDINATE_UID = 200_000
CHURNS = 20_000
DATAGRAMS = 5_000_000
PROCESSES = 400


def say(**fields):
    print(json.dumps(fields), flush=True)


def told_to_end():
    readable, _, _ = select.select([sys.stdin], [], [], 0)
    return bool(readable)


def finish(**fields):
    """Only when asked, also where the tries were used up before."""
    sys.stdin.readline()
    say(**fields)


def connect(how, where):
    """Needs no module that is not loaded yet: who it is then may not be let in where they lie."""
    over_unix = how == "unix"
    made = socket.socket(socket.AF_UNIX if over_unix else socket.AF_INET, socket.SOCK_STREAM)
    made.settimeout(10)
    made.connect(where if over_unix else ("127.0.0.1", int(where)))
    return made


def is_open(connection):
    connection.setblocking(False)
    try:
        return connection.recv(4096, socket.MSG_PEEK) != b""
    except BlockingIOError:
        return True
    except OSError:
        return False


def turned_away(connection):
    """An answer without a request is the daemon's refusal."""
    connection.setblocking(False)
    try:
        return b"exhausted" in connection.recv(4096, socket.MSG_PEEK)
    except BlockingIOError:
        return False
    except OSError:
        return True


def enter_user_namespace(owner):
    """Becomes root in it, over uids that a helper maps which stays root outside, as newuidmap."""
    entered, enter = os.pipe()
    child = os.getpid()
    helper = os.fork()
    if helper == 0:
        os.read(entered, 1)
        for name in ("uid_map", "gid_map"):
            with open(f"/proc/{child}/{name}", "w") as file:
                file.write(f"0 {FIRST_SUBORDINATE_UID} {CONNECTIONS + 1}\n")
        os._exit(0)
    os.setgroups([])
    os.setresgid(owner, owner, owner)
    os.setresuid(owner, owner, owner)
    CLONE_NEWUSER = 0x10000000
    if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWUSER) != 0:
        raise OSError(ctypes.get_errno(), "unshare")
    os.write(enter, b"x")
    if os.waitpid(helper, 0)[1] != 0:
        raise SystemExit("the uids could not be mapped")
    os.setresgid(0, 0, 0)
    os.setresuid(0, 0, 0)


def connect_as(uid, how, where):
    os.seteuid(uid)
    try:
        return connect(how, where)
    finally:
        os.seteuid(0)


def connections(how, where, *options):
    if options[:1] == ("--user-namespace",):
        enter_user_namespace(int(options[1]))
        held = [connect_as(uid, how, where) for uid in range(1, CONNECTIONS + 1)]
    else:
        count = int(options[0]) if options else CONNECTIONS
        held = [connect(how, where) for _ in range(count)]
    say(held=len(held))
    sys.stdin.readline()  # `count`: by now the daemon has accepted them all
    say(open=sum(is_open(one) and not turned_away(one) for one in held))
    sys.stdin.read()


def churn(how, where):
    say(begun=True)
    made = 0
    while made < CHURNS and not told_to_end():
        for _ in range(50):
            try:
                with connect(how, where) as one:
                    one.sendall(b"\x20\0")
            except OSError:
                pass
            made += 1
    finish(made=made)


def message():
    body = struct.pack("<iiqi", 3, 1, 0, os.getpid())
    return struct.pack("<Q", len(body)) + b"req".ljust(32, b"\0") + body


def bound(directory):
    endpoint = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    name = f"dynoconfigclient{os.urandom(6).hex()}"
    if directory == "abstract":
        endpoint.bind(b"\0" + name.encode() + b"\0")
        return endpoint, b"\0dynolog\0"
    endpoint.bind(os.path.join(directory, name))
    return endpoint, os.path.join(directory, "dynolog")


def datagrams(directory):
    endpoint, daemon = bound(directory)
    poll = message()
    say(begun=True)
    sent = 0
    while sent < DATAGRAMS and not told_to_end():
        for _ in range(2000):
            endpoint.sendto(poll, daemon)  # blocks while the queue is full: the worst rate there is
            sent += 1
    finish(sent=sent)


def processes(directory):
    say(begun=True)
    made = 0
    while made < PROCESSES and not told_to_end():
        child = os.fork()
        if child == 0:
            endpoint, daemon = bound(directory)
            endpoint.sendto(message(), daemon)
            os._exit(0)
        os.waitpid(child, 0)
        made += 1
    finish(made=made)


globals()[sys.argv[1]](*sys.argv[2:])
