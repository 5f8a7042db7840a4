"""A training job of real PyTorch, told what to do through its standard input."""

import os
import signal
import subprocess

from harness import places
from harness.daemon import environment, identity
from harness.speaking import Speaking
from harness.waiting import until

TRAIN = os.path.join(os.path.dirname(os.path.dirname(__file__)), "jobs", "train.py")


def job_environment(directory, socket_dir=None, every=1, extra=None):
    """`every`: seconds between two polls; None leaves PyTorch's default."""
    env = {"KINETO_USE_DAEMON": "1", "OMP_NUM_THREADS": "1"}
    if every is not None:
        config = os.path.join(directory, "kineto.conf")
        with open(config, "w") as file:
            file.write(f"ON_DEMAND_CONFIG_UPDATE_INTERVAL_SECS={every}\n")
        os.chmod(config, 0o644)
        env["KINETO_CONFIG"] = config
    if socket_dir:
        env["KINETO_IPC_SOCKET_DIR"] = socket_dir
    env.update(extra or {})  # None takes a variable away
    return environment(env)


class Job(Speaking):
    """`arguments` go to jobs/train.py; `wrap` turns its command line into another."""

    def __init__(self, *arguments, socket_dir=None, uid=None, namespace=None, every=1, extra=None,
                 wrap=None):
        self.directory = places.short_directory(0o755, uid)
        self.output_path = os.path.join(self.directory, "out")
        python, python_env = places.torch_python(0 if uid is None else uid)
        env = job_environment(self.directory, socket_dir, every, {**python_env, **(extra or {})})
        command = [*python, places.published(TRAIN), *arguments]
        if wrap:
            command = wrap(command)
        if namespace:
            command = namespace.inside(command)
        with open(self.output_path, "wb") as output:
            self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=output,
                                            stderr=subprocess.STDOUT, env=env,
                                            cwd=self.directory, **identity(uid))

    def tell(self, line, reply=None):
        """Gives it a command, and waits until it has said `reply`."""
        before = self.output().count(reply) if reply else 0
        self.process.stdin.write((line + "\n").encode())
        self.process.stdin.flush()
        if reply:
            until(f"the job to say {reply}", lambda: self.output().count(reply) > before)

    def signal(self, number):
        self.process.send_signal(number)

    def close(self):
        """Ends it and whatever it started: a launcher's ranks are in sessions of their own."""
        running = self.process.poll() is None
        for pid in [self.pid, *descendants(self.pid)] if running else []:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.process.wait()
        self.process.stdin.close()
        places.remove(self.directory)


def descendants(pid):
    found = []
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children") as file:
                found += [int(child) for child in file.read().split()]
    except FileNotFoundError:
        return found
    return found + [below for child in found for below in descendants(child)]
