"""A user's own names in a directory of sockets: puts there what standard input says.

`plant KIND NAME [TARGET]`: file, link, fifo, directory, live (a socket with somebody behind it),
dead (a socket without). `many COUNT PREFIX`. `clear`. `heard`: did anybody send to a live one?
"""

import json
import os
import select
import shutil
import socket
import sys

directory = sys.argv[1]
live = []


def say(**fields):
    print(json.dumps(fields), flush=True)


def remove(path):
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path)
    elif os.path.lexists(path):
        os.unlink(path)


def bound(path):
    made = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    made.bind(path)
    os.chmod(path, 0o666)
    return made


def plant(kind, name, target=None):
    path = os.path.join(directory, name)
    try:
        remove(path)
    except OSError as error:
        return say(error=error.strerror)
    if kind == "file":
        open(path, "w").close()
    elif kind == "link":
        os.symlink(target, path)
    elif kind == "fifo":
        os.mkfifo(path)
    elif kind == "directory":
        os.mkdir(path)
    elif kind == "live":
        live.append(bound(path))
    elif kind == "dead":
        bound(path).close()
    say(planted=kind)


def many(count, prefix):
    """Sockets with nobody behind them, links and files by turns."""
    bound(os.path.join(directory, "one")).close()
    for number in range(int(count)):
        path = os.path.join(directory, f"{prefix}{number}")
        if number % 3 == 0:
            os.link(os.path.join(directory, "one"), path)
        elif number % 3 == 1:
            os.symlink("/etc/passwd", path)
        else:
            open(path, "w").close()
    say(planted=count)


def clear():
    for name in os.listdir(directory):
        remove(os.path.join(directory, name))
    for one in live:
        one.close()
    live.clear()
    say(cleared=True)


def heard():
    readable, _, _ = select.select(live, [], [], 0)
    say(heard=len(readable))


for line in sys.stdin:
    verb, *rest = line.split()
    globals()[verb](*rest)
