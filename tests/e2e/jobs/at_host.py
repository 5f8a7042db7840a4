"""Runs a command on a recorded host: in a mount namespace of its own, in which /proc has the host's
files in the place of this machine's, and /sys is the host's.

What the running kernel has no file of cannot be put there: it stays missing. The process keeps its
pid, and /proc/self its own files.
"""

import ctypes
import os
import pathlib
import sys
import tempfile

CLONE_NEWNS, MS_BIND, MS_REC, MS_PRIVATE = 0x20000, 0x1000, 0x4000, 0x40000
libc = ctypes.CDLL(None, use_errno=True)


def must(result, doing):
    if result != 0:
        raise OSError(ctypes.get_errno(), doing)


def mount(source, target, flags):
    must(libc.mount(os.fsencode(source), os.fsencode(target), None, flags, None), f"at {target}")


def put(source, target):
    if os.path.exists(target):
        mount(source, target, MS_BIND)


def put_proc(proc):
    for entry in proc.iterdir():
        if entry.name == "net":  # of the process, and the same for its threads
            put(entry, "/proc/self/net")
        elif entry.name == "sys":
            for path in entry.rglob("*"):
                if path.is_file():
                    put(path, f"/proc/{path.relative_to(proc)}")
        elif entry.name != "self" and not entry.name.isdigit():
            put(entry, f"/proc/{entry.name}")


def main():
    host, *command = sys.argv[1:]
    host = pathlib.Path(host)
    must(libc.unshare(CLONE_NEWNS), "a mount namespace")
    mount("none", "/", MS_REC | MS_PRIVATE)
    if (host / "proc").exists():
        put_proc(host / "proc")
    nothing = tempfile.mkdtemp(prefix="dyn-nothing-")
    put(host / "sys" if (host / "sys").exists() else nothing, "/sys")
    put(nothing, "/run/udev")
    os.rmdir(nothing)
    os.execvp(command[0], command)


main()
