"""One dynolog daemon: started with directories of its own, asked through `dyno`, stopped by pid."""

import contextlib
import json
import os
import re
import signal
import subprocess
import tempfile

from harness import places
from harness.waiting import PATIENCE, until

_BAD_LOG = re.compile(r"Sanitizer|runtime error:|terminate called|^\S+ error ", re.M)


class Answer:
    """What one run of `dyno` gave."""

    def __init__(self, completed, arguments):
        self.code = completed.returncode
        self.out = completed.stdout
        self.err = completed.stderr
        self.arguments = arguments

    @property
    def json(self):
        return json.loads(self.out)

    def __repr__(self):
        return f"dyno {' '.join(self.arguments)} -> {self.code}\n{self.out}\n{self.err}"


class Running:
    """`dyno` running beside the test: what it says so far, and its answer at the end."""

    def __init__(self, command, uid=None, env=None, cwd="/"):
        self.command = command
        self.out = tempfile.TemporaryFile("w+")
        self.errors = tempfile.NamedTemporaryFile("w+")
        self.process = subprocess.Popen(command, stdout=self.out, stderr=self.errors,
                                        stdin=subprocess.DEVNULL, env=environment(env), cwd=cwd,
                                        **identity(uid))

    def said(self):
        with open(self.errors.name, errors="replace") as file:
            return file.read()

    def wait_until_said(self, text):
        def look():
            if self.process.poll() is not None and text not in self.said():
                raise AssertionError(f"ended without {text!r}: {self.finish()}")
            return text in self.said()
        until(f"dyno to say {text!r}", look)

    def finish(self):
        try:
            self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise AssertionError(f"dyno did not end in {PATIENCE} s; it said:\n{self.said()}")
        self.out.seek(0)
        completed = subprocess.CompletedProcess(self.command, self.process.returncode,
                                                self.out.read(), self.said())
        return Answer(completed, self.command[1:])


def environment(extra=None):
    """A small one: nothing of the developer's own settings leaks into a test."""
    made = {"PATH": os.environ["PATH"], "HOME": "/tmp", "LANG": "C.UTF-8"}
    for name, value in (extra or {}).items():
        made.pop(name, None)
        if value is not None:
            made[name] = value
    return made


def identity(uid):
    return {} if uid is None else {"user": uid, "group": uid, "extra_groups": []}


class Daemon:
    def __init__(self, *flags, directory=None, uid=None, namespace=None, env=None,
                 run_dir=None, default_run_dir=False, bare=False):
        self.directory = directory or places.short_directory(0o755, uid)
        self.owns_directory = directory is None
        self.run_dir = run_dir or os.path.join(self.directory, "r")
        self.state_dir = os.path.join(self.directory, "s")
        self.default_run_dir = default_run_dir
        self.bare = bare  # with nothing but directories of its own and its flags
        self.log_path = os.path.join(self.directory, "log")
        self.flags = list(flags)
        self.uid = uid
        self.namespace = namespace
        self.env = environment(env)
        self.process = None
        self.out = None
        self.pass_fds = ()

    # --- its life ---
    def command(self):
        places_flags = [] if self.default_run_dir else [f"--run_dir={self.run_dir}"]
        # One of many at a time: the page's port is for tests of the page.
        page = [] if any("prometheus" in flag for flag in self.flags) else ["--nouse_prometheus"]
        # So is the history for tests of the history.
        kept = [] if any("history" in flag for flag in self.flags) else ["--nouse_history"]
        quiet = [] if self.bare else [*page, *kept]
        command = [places.program("dynolog"), *places_flags, f"--state_dir={self.state_dir}",
                   *quiet, *self.flags]
        return self.namespace.inside(command) if self.namespace else command

    def launch(self):
        """Starts it without waiting for it to be ready."""
        self.log_start = os.path.getsize(self.log_path) if os.path.exists(self.log_path) else 0
        command = self.command()
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL,
                                            stdout=subprocess.DEVNULL if self.out is None
                                            else self.out,
                                            stderr=log, env=self.env, cwd="/",
                                            pass_fds=self.pass_fds,
                                            **identity(self.uid))
        return self

    def start(self):
        self.launch()
        until("the daemon to be ready", self._ready)
        return self

    def _ready(self):
        if self.process.poll() is not None:
            raise AssertionError(f"the daemon ended with {self.process.returncode}:\n{self.log()}")
        return self.dyno("status", "--json").code == 0

    @property
    def pid(self):
        return self.process.pid

    def stop(self, expect_clean=True):
        """SIGTERM; exit code 0, and nothing in the log that a bug would leave."""
        if self.process is None:
            return
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
                raise AssertionError(f"SIGTERM did not end the daemon:\n{self.log()}")
        code, self.process = self.process.returncode, None
        if expect_clean:
            assert code == 0, f"the daemon ended with {code}:\n{self.log()}"
            bad = _BAD_LOG.search(self.log())
            assert not bad, f"the daemon's log has {bad.group(0)!r}:\n{self.log()}"

    def pause(self):
        """SIGSTOP, and back when each of its threads stands still."""
        self.process.send_signal(signal.SIGSTOP)
        until("the daemon to stand still", lambda: _states(self.pid) == {"T"})

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process = None

    def close(self):
        try:
            self.stop()
        finally:
            if self.owns_directory:
                places.remove(self.directory)

    def log(self):
        with open(self.log_path, errors="replace") as log:
            return log.read()

    # --- asking it ---
    def dyno(self, *arguments, uid=None, env=None, timeout=PATIENCE, cwd="/", tcp=None, where=None,
             **popen):
        command = self.dyno_command(*arguments, tcp=tcp, where=where)
        completed = subprocess.run(command, capture_output=True, text=True, timeout=timeout,
                                   env=environment(env), cwd=cwd, stdin=subprocess.DEVNULL,
                                   **identity(uid), **popen)
        return Answer(completed, command[1:])

    def dyno_command(self, *arguments, tcp=None, where=None):
        if where is None:
            where = ["--port", str(tcp)] if tcp else [f"--run_dir={self.run_dir}"]
        command = [places.program("dyno"), *where, *map(str, arguments)]
        return self.namespace.inside(command) if self.namespace else command

    def dyno_started(self, *arguments, **options):
        return Running(self.dyno_command(*arguments, tcp=options.pop("tcp", None)), **options)

    def status(self):
        answer = self.dyno("status", "--json")
        assert answer.code == 0, answer
        return answer.json

    def counters(self):
        return dict(self.status()["counters"])

    def counter(self, name):
        found = self.counters()
        assert name in found, f"no counter {name} among {sorted(found)}"
        return found[name]

    @contextlib.contextmanager
    def counting(self, **expected):
        """What is done inside raises these counters, each by so much and no more."""
        before = self.counters()
        yield

        def risen():
            now = self.counters()
            return {name: now[name] - before[name] for name in expected}
        until(f"counters to have risen by {expected}",
              lambda: all(count >= expected[name] for name, count in risen().items()))
        assert risen() == expected

    def processes(self, uid=None, tcp=None):
        answer = self.dyno("ps", "--json", uid=uid, tcp=tcp)
        assert answer.code == 0, answer
        return answer.json["processes"]

    def process_of(self, pid, uid=None, tcp=None):
        return next((row for row in self.processes(uid, tcp) if row["pid"] == pid), None)

    def wait_for(self, pid, **fields):
        """The row of `pid` once it is there, known, and has these values."""
        def look():
            row = self.process_of(pid)
            good = row and row.get("command") and all(row.get(k) == v for k, v in fields.items())
            return row if good else None
        return until(f"process {pid} with {fields} in dyno ps", look)

    def feature(self, start):
        return [f for f in self.status()["features"] if f["name"].startswith(start)]


def _states(pid):
    """Of its threads, as ps shows them."""
    states = set()
    for thread in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{thread}/stat") as file:
            states.add(file.read().rpartition(")")[2].split()[0])
    return states


def tcp_port(daemon):
    """The port that a daemon with --port=0 took."""
    names = [f["name"] for f in daemon.status()["features"] if "tcp:127.0.0.1:" in f["name"]]
    assert names, daemon.status()["features"]
    return int(names[0].rsplit(":", 1)[1])
