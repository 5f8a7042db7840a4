"""bench/growth.py: it runs, and finds no growth over few polls and calls. `./scripts/test growth`
runs it with a million."""

import os
import shutil
import subprocess
import sys

import pytest

from harness import places
from harness.waiting import PATIENCE


@pytest.mark.skipif(not shutil.which("valgrind"), reason="needs valgrind")
def test_few_polls_and_calls_leave_nothing_behind():
    if places.sanitized():
        pytest.skip("valgrind does not run programs with a sanitizer")
    done = subprocess.run([sys.executable, "-B", places.REPOSITORY / "bench/growth.py", "4000",
                           "1000"], env=os.environ, capture_output=True, text=True,
                          timeout=4 * PATIENCE)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "10 of 10" in done.stdout and "after the first tenth" in done.stdout, done.stdout
