"""What a local user runs against the daemon: a script of its own process, told through pipes."""

import json
import os
import subprocess

from harness import places
from harness.daemon import environment, identity

JOBS = os.path.join(os.path.dirname(os.path.dirname(__file__)), "jobs")


class Script:
    """jobs/NAME with these arguments; says one JSON line at a time, and ends with its input."""

    def __init__(self, name, *arguments, uid=None, namespace=None, env=None, wrap=None):
        command = [places.plain_python(0 if uid is None else uid),
                   places.published(os.path.join(JOBS, name)), *map(str, arguments)]
        if wrap:
            command = wrap(command)
        if namespace:
            command = namespace.inside(command)
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True, cwd="/", env=environment(env), **identity(uid))
        self.pid = self.process.pid

    def hear(self):
        """The next line that it says."""
        line = self.process.stdout.readline()
        assert line, f"the script ended with {self.process.wait(10)}"
        return json.loads(line)

    def tell(self, *words):
        self.process.stdin.write(" ".join(map(str, words)) + "\n")
        self.process.stdin.flush()
        return self.hear()

    def close(self):
        self.process.stdin.close()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()
