"""jobs/kineto_job.py: a process that is traced, well or badly, without PyTorch."""

import os
import subprocess
import sys

from harness import places
from harness.daemon import environment, identity
from harness.speaking import Speaking

SCRIPT = os.path.join(os.path.dirname(os.path.dirname(__file__)), "jobs", "kineto_job.py")


class KinetoJob(Speaking):
    """`wrap` turns the command line into another, for example of a namespace of its own."""

    def __init__(self, socket_dir, behaviour="good", *arguments, uid=None, env=None, wrap=None,
                 cwd=None):
        self.directory = places.short_directory(0o755, uid)
        self.output_path = os.path.join(self.directory, "out")
        command = [places.plain_python(0 if uid is None else uid), places.published(SCRIPT),
                   socket_dir, "--as", behaviour, *map(str, arguments)]
        if wrap:
            command = wrap(command)
        with open(self.output_path, "wb") as output:
            self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=output,
                                            stderr=subprocess.STDOUT, env=environment(env),
                                            cwd=cwd or self.directory, **identity(uid))

    def kill(self):
        self.process.kill()
        self.process.wait()

    def close(self):
        if self.process.poll() is None:
            self.kill()
        self.process.stdin.close()
        places.remove(self.directory)
