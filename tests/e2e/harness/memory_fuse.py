"""A FUSE file system in memory that is one user's own, as sshfs is, and that runs out of room when
its test says so: a full disk or a quota that is used up, as the kernel gives them to who writes.
"""

import ctypes
import errno
import os
import stat
import struct
import threading

import pytest

LOOKUP, FORGET, GETATTR, SETATTR, MKDIR, UNLINK, RMDIR, RENAME = 1, 2, 3, 4, 9, 10, 11, 12
OPEN, READ, WRITE, STATFS, RELEASE, FSYNC, FLUSH, INIT = 14, 15, 16, 17, 18, 20, 25, 26
OPENDIR, READDIR, RELEASEDIR, CREATE, INTERRUPT, BATCH_FORGET, RENAME2 = 27, 28, 29, 35, 36, 42, 45
BLOCK = 4096
WITHOUT_ANSWER = (FORGET, INTERRUPT, BATCH_FORGET)

libc = ctypes.CDLL(None, use_errno=True)


class Refused(Exception):
    def __init__(self, number):
        super().__init__(os.strerror(number))
        self.number = number


class Node:
    def __init__(self, mode, uid):
        self.mode, self.uid, self.time = mode, uid, 0
        self.data = bytearray()
        self.names = {}  # of a directory: name -> node


def need_fuse():
    """There may be the name without the right to it: a container's devices are listed."""
    try:
        os.close(os.open("/dev/fuse", os.O_RDWR))
    except OSError:
        pytest.skip("needs /dev/fuse")


class MemoryFuse:
    """`error` comes when more than `room` bytes are in it; it says that it has plenty."""

    def __init__(self, place, uid, room=1 << 40, error=errno.EDQUOT):
        self.place, self.room, self.error = place, room, error
        self.nodes = {1: Node(stat.S_IFDIR | 0o700, uid)}
        self.uid = uid
        self.fuse = os.open("/dev/fuse", os.O_RDWR)
        options = f"fd={self.fuse},rootmode=40000,user_id={uid},group_id={uid}"
        if libc.mount(b"memory", place.encode(), b"fuse", 0, options.encode()) != 0:
            raise OSError(ctypes.get_errno(), f"mounting {place}")
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def close(self):
        libc.umount2(self.place.encode(), 2)  # MNT_DETACH: the processes in it may live on
        self.thread.join(10)
        os.close(self.fuse)

    def mkdir(self, name):
        """Below the top: who runs the test may not enter."""
        self.add(self.nodes[1], name, Node(stat.S_IFDIR | 0o700, self.uid))

    def files(self):
        """name -> content of what lies in it, by path."""
        def below(node, prefix):
            for name, child in node.names.items():
                if stat.S_ISDIR(child.mode):
                    yield from below(child, f"{prefix}{name}/")
                else:
                    yield prefix + name, bytes(child.data)
        return dict(below(self.nodes[1], ""))

    # --- the kernel's side ---

    def serve(self):
        while True:
            try:
                request = os.read(self.fuse, (1 << 20) + BLOCK)
            except OSError:
                return  # unmounted
            _, opcode, unique, number, *_ = struct.unpack_from("<IIQQ", request)
            try:
                error, body = 0, self.answer(opcode, number, request[40:])
            except Refused as refused:
                error, body = refused.number, b""
            if opcode in WITHOUT_ANSWER:
                continue
            try:
                os.write(self.fuse, struct.pack("<IiQ", 16 + len(body), -error, unique) + body)
            except OSError:
                pass  # who asked has gone

    def answer(self, opcode, number, body):
        if opcode == INIT:
            return struct.pack("<4I2H2I2HI7I", 7, 31, 1 << 16, 0, 8, 8, 1 << 17, 1, 32, 0, 0,
                               *[0] * 7)
        if opcode == STATFS:
            return struct.pack("<5Q4I6I", 1 << 30, 1 << 29, 1 << 29, 1 << 20, 1 << 19, BLOCK, 255,
                               BLOCK, 0, *[0] * 6)
        if opcode in (*WITHOUT_ANSWER, RELEASE, RELEASEDIR, FLUSH, FSYNC):
            return b""
        node = self.nodes[number]
        handler = self.HANDLERS.get(opcode)
        if handler is None:
            raise Refused(errno.ENOSYS)
        return handler(self, node, body)

    def number_of(self, node):
        return next(number for number, one in self.nodes.items() if one is node)

    def add(self, directory, name, node):
        directory.names[name] = node
        self.nodes[max(self.nodes) + 1] = node
        return node

    def attributes(self, node):
        links = 2 if stat.S_ISDIR(node.mode) else int(any(
            node in directory.names.values() for directory in self.nodes.values()))
        size = len(node.data)
        return struct.pack("<6Q10I", self.number_of(node), size, -(-size // 512), 0, node.time, 0,
                           0, 0, 0, node.mode, links, node.uid, node.uid, 0, BLOCK, 0)

    def entry(self, node):
        return struct.pack("<4Q2I", self.number_of(node), 0, 0, 0, 0, 0) + self.attributes(node)

    def found(self, directory, name):
        if name not in directory.names:
            raise Refused(errno.ENOENT)
        return directory.names[name]

    def lookup(self, node, body):
        return self.entry(self.found(node, text_of(body)))

    def getattr(self, node, _):
        return struct.pack("<QII", 0, 0, 0) + self.attributes(node)

    def setattr(self, node, body):
        # ..., file handle, size, lock owner, times and their nanoseconds, mode
        valid, _, _, size, _, _, mtime, _, _, _, _, mode = struct.unpack_from("<II6Q4I", body)
        if valid & 1:
            node.mode = stat.S_IFMT(node.mode) | stat.S_IMODE(mode)
        if valid & 8:
            del node.data[size:]
            node.data.extend(b"\0" * (size - len(node.data)))
        if valid & 32:
            node.time = mtime
        return self.getattr(node, b"")

    def mkdir_of(self, node, body):
        mode, _ = struct.unpack_from("<II", body)
        return self.entry(self.add(node, text_of(body[8:]), Node(stat.S_IFDIR | mode, self.uid)))

    def unlink(self, node, body):
        self.found(node, text_of(body))
        del node.names[text_of(body)]
        return b""

    def rename(self, node, body):
        return self.rename_to(node, body[:8], body[8:])

    def rename_with_flags(self, node, body):
        return self.rename_to(node, body[:8], body[16:])

    def rename_to(self, node, target, names):
        (target,) = struct.unpack("<Q", target)
        old, new = (name.decode() for name in names.split(b"\0")[:2])
        self.nodes[target].names[new] = self.found(node, old)
        if (self.nodes[target], new) != (node, old):
            del node.names[old]
        return b""

    def create(self, node, body):
        _, mode, _, _ = struct.unpack_from("<4I", body)
        made = self.add(node, text_of(body[16:]), Node(stat.S_IFREG | stat.S_IMODE(mode),
                                                       self.uid))
        return self.entry(made) + self.open(made, b"")

    def open(self, _node, _body):
        return struct.pack("<QII", 0, 0, 0)

    def read(self, node, body):
        _, offset, size = struct.unpack_from("<QQI", body)
        return bytes(node.data[offset:offset + size])

    def write(self, node, body):
        _, offset, size = struct.unpack_from("<QQI", body)
        if sum(len(one.data) for one in self.nodes.values()) + size > self.room:
            raise Refused(self.error)
        node.data[offset:offset + size] = body[40:40 + size]
        return struct.pack("<II", size, 0)

    def readdir(self, node, body):
        _, offset, size = struct.unpack_from("<QQI", body)
        listed = b""
        for at, (name, child) in enumerate(list(node.names.items())[offset:], offset + 1):
            raw = name.encode()
            one = struct.pack("<QQII", self.number_of(child), at, len(raw), child.mode >> 12) + raw
            one += b"\0" * (-len(one) % 8)
            if len(listed) + len(one) > size:
                break
            listed += one
        return listed

    HANDLERS = {LOOKUP: lookup, GETATTR: getattr, SETATTR: setattr, MKDIR: mkdir_of,
                UNLINK: unlink, RMDIR: unlink, OPEN: open, READ: read, WRITE: write,
                OPENDIR: open, READDIR: readdir, CREATE: create, RENAME: rename,
                RENAME2: rename_with_flags}


def text_of(body):
    return body.split(b"\0", 1)[0].decode()
