"""systemd's side of sd_notify(3), as the daemon sees it: words, and descriptors that are kept."""

import array
import os
import socket
import sys

from harness import places
from harness.daemon import Daemon
from harness.waiting import until

# Gives descriptors the numbers that sd_listen_fds(3) expects, then becomes the daemon.
_LAUNCH = """
import fcntl, os, sys
count = int(sys.argv[1])
given = [int(word) for word in sys.argv[2].split(",") if word]
moved = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 200) for fd in given]
for fd in set(given):
    os.close(fd)
for i, fd in enumerate(moved):
    os.dup2(fd, 3 + i)
if count:
    os.environ.update(LISTEN_FDS=str(count), LISTEN_PID=str(os.getpid()))
os.execv(sys.argv[3], sys.argv[3:])
"""


class ServiceManager:
    """Keeps what it is sent over daemons' lives, as the service manager's descriptor store does."""

    def __init__(self):
        self.directory = places.short_directory(0o755)
        self.path = os.path.join(self.directory, "notify")
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(self.path)
        self.socket.setblocking(False)
        self.said = []  # dictionaries, in order
        self.store = []  # (name, descriptor)
        self.removed = []

    def listen(self):
        """Takes in what has come so far."""
        while True:
            try:
                data, ancillary, _, _ = self.socket.recvmsg(4096, socket.CMSG_SPACE(64))
            except BlockingIOError:
                return self
            fields = dict(line.split("=", 1) for line in data.decode().splitlines())
            received = array.array("i")
            for _, kind, content in ancillary:
                if kind == socket.SCM_RIGHTS:
                    received.frombytes(content)
            self._take(fields, list(received))

    def _take(self, fields, received):
        self.said.append(fields)
        name = fields.get("FDNAME", "stored")
        if "FDSTORE" in fields:
            assert len(received) == 1 and fields.get("FDPOLL") == "0", fields
            self.store.append((name, received[0]))
        elif "FDSTOREREMOVE" in fields:
            self.removed.append(name)
            for entry in [entry for entry in self.store if entry[0] == name]:
                os.close(entry[1])
                self.store.remove(entry)

    def names(self):
        return sorted(name for name, _ in self.listen().store)

    def words(self, key):
        return [fields[key] for fields in self.listen().said if key in fields]

    def wait_for(self, key, what=None):
        def look():
            return [word for word in self.words(key) if what is None or what in word]
        return until(f"{key} {what or ''} to be told", look)[-1]

    def forget_words(self):
        self.listen().said.clear()

    def close(self):
        for _, fd in self.listen().store:
            os.close(fd)
        self.socket.close()
        places.remove(self.directory)


class ManagedDaemon(Daemon):
    def __init__(self, manager, *flags, watchdog_usec=None, **options):
        super().__init__(*flags, **options)
        self.manager = manager
        self.env["NOTIFY_SOCKET"] = manager.path
        if watchdog_usec:
            self.env["WATCHDOG_USEC"] = str(watchdog_usec)
        self.handed = None  # a test's own [(name, descriptor)], in place of what is kept
        self.count = None  # and how many it says these are

    def command(self):
        command = super().command()
        stored = self.manager.listen().store if self.handed is None else self.handed
        self.pass_fds = tuple(fd for _, fd in stored)
        count = len(stored) if self.count is None else self.count
        self.env["LISTEN_FDNAMES"] = ":".join(name for name, _ in stored)
        launch = [sys.executable, "-c", _LAUNCH, str(count),
                  ",".join(str(fd) for fd in self.pass_fds)]
        at = next(i for i, word in enumerate(command) if word == places.program("dynolog"))
        return [*command[:at], *launch, *command[at:]]

    def start(self):
        self.manager.forget_words()
        self.launch()
        until("READY=1", self._is_ready)
        return self

    def _is_ready(self):
        if self.process.poll() is not None:
            raise AssertionError(f"the daemon ended with {self.process.returncode}:\n{self.log()}")
        return self.manager.words("READY")
