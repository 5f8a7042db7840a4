"""What the jobs of the tests have in common: a process with a directory, that says how it is."""

import os

from harness.waiting import until


class Speaking:
    """Needs `process`, `directory` and `output_path`."""

    @property
    def pid(self):
        return self.process.pid

    def output(self):
        with open(self.output_path, errors="replace") as file:
            return file.read()

    def wait_ready(self):
        def look():
            if self.process.poll() is not None:
                raise AssertionError(f"the job ended with {self.process.returncode}:\n"
                                     f"{self.output()}")
            return "training" in self.output()
        until("the job to train", look)
        return self

    def file(self, name):
        return os.path.join(self.directory, name)
