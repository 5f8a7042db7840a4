"""A process that looks from outside like PyTorch of some version: it maps and holds files.

With a script behind its own options it then runs that; else it waits for the end of its input.
"""

import argparse
import mmap
import runpy
import sys

parser = argparse.ArgumentParser()
parser.add_argument("--map", action="append", default=[], help="a file to map, as a library is")
parser.add_argument("--hold", action="append", default=[], help="a file to make and keep open")
parser.add_argument("script", nargs=argparse.REMAINDER)
options = parser.parse_args()

mapped = []
for path in options.map:
    with open(path, "rb") as file:
        mapped.append(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
held = [open(path, "w") for path in options.hold]

if options.script:
    sys.argv = options.script
    runpy.run_path(sys.argv[0], run_name="__main__")
else:
    print("training", flush=True)
    sys.stdin.read()
