#!/usr/bin/env python3
"""Reads every shell script of the tree as its shell would, without running it. Looks whether
`scripts/test full` runs every part that its help names."""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = (".ci", "packaging", "scripts", "tests")


def shell_of(path):
    """bash or sh; None for what is no shell script."""
    with path.open("rb") as file:
        first = file.readline(200).decode(errors="replace")
    if first.startswith("#!"):
        shell = first.split()[-1].rsplit("/", 1)[-1]
        return shell if shell in ("bash", "sh") else None
    return "bash" if path.suffix == ".sh" else None  # those that are sourced


def parts_left_out():
    """Of `full`; layering is a part of unit."""
    text = (ROOT / "scripts/test").read_text()
    usage = text.split("Usage:")[1].split("END")[0]
    named = set(re.findall(r"^  ([a-z0-9]+)  +\S", usage, re.M)) - {"full", "layering"}
    full = re.search(r"^  full\)\n.*?run_parts ([^\n]+)", text, re.M | re.S).group(1).split()
    if len(named) < 8:
        sys.exit(f"the help of scripts/test names too few parts: {sorted(named)}")
    return sorted(named - set(full))


def main():
    scripts = {path: shell_of(path) for folder in FOLDERS for path in (ROOT / folder).rglob("*")
               if path.is_file() and "corpus" not in path.parts and "fixtures" not in path.parts}
    scripts = {path: shell for path, shell in scripts.items() if shell}
    wrong = [path for path, shell in sorted(scripts.items())
             if subprocess.run([shell, "-n", path], check=False).returncode != 0]
    print(f"{len(scripts)} scripts, {len(wrong)} that their shell cannot read")
    left_out = parts_left_out()
    print(f"parts that `scripts/test full` leaves out: {', '.join(left_out) or 'none'}")
    if wrong or left_out or not scripts:
        sys.exit(1)


if __name__ == "__main__":
    main()
