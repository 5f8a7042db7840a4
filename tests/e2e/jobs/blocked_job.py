"""A process that polls, and whose memory nobody can look at: whoever tries waits.

DIRECTORY UID. Started as root in a mount namespace of its own. One thread reads, through
/proc/self/mem, a mapped file of a FUSE file system that never answers, as a dead network mount may
do: the kernel then keeps the lock on this process's memory. A second thread wants to change the
memory, and from then on every reader of the command line or the environment waits in the queue
behind it, until standard input, and with it the file system, has ended.
"""

import ctypes
import json
import mmap
import os
import select
import socket
import struct
import sys
import tempfile
import threading

PAGE = 4096
SIZE = 1 << 16
PR_SET_DUMPABLE = 4
LOOKUP, GETATTR, OPEN, READ, INIT = 1, 3, 14, 15, 26

libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
directory, uid = sys.argv[1], int(sys.argv[2])


def attributes(node):
    mode, size = (0o40755, 0) if node == 1 else (0o100444, SIZE)
    return struct.pack("<6Q3I7I", node, size, size // 512, 0, 0, 0, 0, 0, 0, mode, 1, 0, 0, 0,
                       PAGE, 0)


def answer_to(opcode, node):
    if opcode == INIT:
        return struct.pack("<4I2H2I2HI7I", 7, 31, 0, 0, 1, 1, 4096, 1, 1, 0, 0, *[0] * 7)
    if opcode == LOOKUP:
        return struct.pack("<4Q2I", 2, 0, 3600, 3600, 0, 0) + attributes(2)
    if opcode == GETATTR:
        return struct.pack("<QII", 3600, 0, 0) + attributes(node)
    if opcode == OPEN:
        return struct.pack("<QII", 0, 0, 0)
    return None


def serve(fuse, asked):
    """Answers what an open needs, and nothing else, until standard input has ended."""
    while sys.stdin not in select.select([fuse, sys.stdin], [], [])[0]:
        request = os.read(fuse, 1 << 20)
        _, opcode, unique, node = struct.unpack_from("<IIQQ", request)
        if opcode == READ:
            os.write(asked, b"x")
            continue
        reply = answer_to(opcode, node)
        head = struct.pack("<IiQ", 16 + len(reply or b""), 0 if reply else -38, unique)
        os.write(fuse, head + (reply or b""))


def mounted():
    """The place, and what becomes readable once the file's content is waited for."""
    fuse = os.open("/dev/fuse", os.O_RDWR)
    place = tempfile.mkdtemp(prefix="dyn-fuse-", dir="/tmp")
    options = f"fd={fuse},rootmode=40000,user_id=0,group_id=0,allow_other".encode()
    if libc.mount(b"none", place.encode(), b"fuse", 0, options) != 0:
        raise SystemExit(f"mounting FUSE: {os.strerror(ctypes.get_errno())}")
    waited_for, asked = os.pipe()
    if os.fork() == 0:
        os.close(1)  # the test reads until its end
        serve(fuse, asked)
        os._exit(0)
    os.close(fuse)  # the server's end is the file system's
    return place, waited_for


def map_anything(fd=-1):
    flags = mmap.MAP_PRIVATE | (mmap.MAP_ANONYMOUS if fd < 0 else 0)
    return libc.mmap(None, ctypes.c_size_t(PAGE), mmap.PROT_READ, flags, fd, ctypes.c_long(0))


def block_readers(place, waited_for):
    address = map_anything(os.open(os.path.join(place, "file"), os.O_RDONLY))
    memory = os.open("/proc/self/mem", os.O_RDONLY)
    look, change = threading.Event(), threading.Event()

    def look_at_the_file():
        look.wait()
        try:
            os.pread(memory, 16, address)
        except OSError:
            pass  # the end

    def change_the_memory():
        change.wait()
        map_anything()
    for act in (look_at_the_file, change_the_memory):
        threading.Thread(target=act, daemon=True).start()
    look.set()
    os.read(waited_for, 1)
    change.set()


def poll(endpoint):
    body = struct.pack("<iiqi", 3, 1, 0, os.getpid())
    endpoint.sendto(struct.pack("<Q", len(body)) + b"req".ljust(32, b"\0") + body,
                    os.path.join(directory, "dynolog"))


place, waited_for = mounted()
os.setgroups([])
os.setgid(uid)
os.setuid(uid)
libc.prctl(PR_SET_DUMPABLE, 1)  # /proc/self/mem is one's own only then
endpoint = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
path = os.path.join(directory, f"dynoconfigclient{os.urandom(6).hex()}")
endpoint.bind(path)
print(json.dumps({"path": path, "mount": place}), flush=True)
block_readers(place, waited_for)
while sys.stdin not in select.select([sys.stdin], [], [], 0.5)[0]:
    poll(endpoint)
    if endpoint in select.select([endpoint], [], [], 0.1)[0]:
        endpoint.recv(1 << 16)
os.unlink(path)
os._exit(0)
