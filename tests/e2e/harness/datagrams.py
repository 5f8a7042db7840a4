"""Kineto's datagrams as raw bytes: a client that says whatever a test wants it to say."""

import array
import os
import select
import socket
import struct

DAEMON = b"\0dynolog\0"
IDLE = 3
BUSY = 1


def message(kind, body, size=None, name=None):
    kind = name if name is not None else kind.encode().ljust(32, b"\0")
    return struct.pack("<Q", len(body) if size is None else size) + kind + body


def request(pids, bits=IDLE, job=0, n=None):
    body = struct.pack("<iiq", bits, len(pids) if n is None else n, job)
    return message("req", body + b"".join(struct.pack("<i", pid) for pid in pids))


def context(pid, job=0, gpu=0):
    return message("ctxt", struct.pack("<iiq", gpu, pid, job))


class Client:
    """Bound as Kineto binds: abstract, or in the socket directory."""

    def __init__(self, directory=None, name=None, bind=True):
        self.directory = directory
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        name = name or f"dynoconfigclient{os.urandom(8).hex()}"
        self.path = os.path.join(directory, name) if directory else None
        self.address = self.path if directory else b"\0" + name.encode() + b"\0"
        if bind:
            self.socket.bind(self.address)
            if self.path:
                os.chmod(self.path, 0o666)
        self.daemon = os.path.join(directory, "dynolog") if directory else DAEMON

    def send(self, data, rights=(), credentials=None):
        ancillary = []
        if rights:
            ancillary.append((socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", rights)))
        if credentials:
            ancillary.append((socket.SOL_SOCKET, 2, struct.pack("iII", *credentials)))
        return self.socket.sendmsg([data], ancillary, 0, self.daemon)

    def receive(self, seconds=5.0):
        """The next reply, or None when none comes in time."""
        readable, _, _ = select.select([self.socket], [], [], seconds)
        return self.socket.recv(1 << 20) if readable else None

    def poll(self, pids=None, bits=IDLE, seconds=5.0, **send):
        """One poll: the text of the reply, or None without one."""
        self.send(request(pids or [os.getpid()], bits), **send)
        reply = self.receive(seconds)
        if reply is None:
            return None
        size, = struct.unpack_from("<Q", reply)
        assert len(reply) == 40 + size, (len(reply), size)
        return reply[40:].decode()

    def close(self):
        self.socket.close()
        if self.path and os.path.lexists(self.path):
            os.unlink(self.path)


def in_a_process_of_its_own(act):
    """Runs `act` in a child and gives what it answers: 1 for True, 0 for False."""
    child = os.fork()
    if child == 0:
        answer = 2
        try:
            answer = int(bool(act()))
        finally:
            os._exit(answer)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def is_served(directory=None):
    """Is a client that polls for the first time answered?"""
    def poll():
        one = Client(directory)
        served = one.poll() == ""
        one.close()
        return served
    return in_a_process_of_its_own(poll) == 1
