"""jobs/kineto_job.py under a thread name of bytes: HEX SCRIPT ARGUMENTS."""

import ctypes
import runpy
import sys

PR_SET_NAME = 15

ctypes.CDLL(None).prctl(PR_SET_NAME, bytes.fromhex(sys.argv[1]) + b"\0", 0, 0, 0)
script = sys.argv[2]
sys.argv = sys.argv[2:]
runpy.run_path(script, run_name="__main__")
