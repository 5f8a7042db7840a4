"""Where the programs and the Python with PyTorch are, and short temporary directories."""

import atexit
import functools
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

REPOSITORY = pathlib.Path(__file__).resolve().parents[3]


def binary_directory():
    """What is tested: DYNOLOG_BIN_DIR, or the build of DYNOLOG_PRESET (asan, ...); else release."""
    preset = os.environ.get("DYNOLOG_PRESET", "release")
    return pathlib.Path(os.environ.get("DYNOLOG_BIN_DIR", REPOSITORY / "build" / preset / "bin"))


@functools.cache
def program(name):
    """A copy that every user can run, wherever the checkout lies; a rebuild does not disturb it."""
    path = binary_directory() / name
    if not path.exists():
        raise FileNotFoundError(f"{path} is not built (DYNOLOG_BIN_DIR names another directory)")
    return published(path)


@functools.cache
def sanitized():
    """Whether the programs are built with a sanitizer, whose cost is then part of theirs."""
    with open(program("dynolog"), "rb") as file:
        return b"__asan_init" in file.read()


@functools.cache
def published(path):
    target = os.path.join(_published_directory(), os.path.basename(path))
    shutil.copy(path, target)
    os.chmod(target, 0o755)
    return target


@functools.cache
def _published_directory():
    path = short_directory()
    atexit.register(remove, path)
    return path


def conformance_client():
    """The Kineto client of our own."""
    return test_program("kineto-client", os.environ.get("DYNOLOG_KINETO_CLIENT"))


def test_program(name, named=None):
    """A program for tests only, which release builds do not have; None when it is not built."""
    candidates = [named] if named else [
        binary_directory() / name,
        REPOSITORY / "build/asan/bin" / name,
        REPOSITORY / "build/dev/bin" / name,
    ]
    for path in candidates:
        if path and os.access(path, os.X_OK):
            return str(path)
    return None


def venv():
    """The virtual environment with PyTorch, or None."""
    named = os.environ.get("DYNOLOG_VENV")
    own = REPOSITORY / ".venv"
    candidates = [pathlib.Path(named)] if named else [own, pathlib.Path(sys.prefix)]
    for path in candidates:
        if (path / "bin/python").exists() and list(path.glob("lib/python3*/site-packages/torch")):
            return path
    return None


def torch_python(uid=0):
    """(argv prefix, environment) of a Python with PyTorch that this user can run.

    The interpreter behind a virtual environment may lie in a home directory that other users cannot
    enter; the system's interpreter of the same version then reads the same packages.
    """
    home = venv()
    packages = next(home.glob("lib/python3*/site-packages"))
    version = packages.parent.name
    own = str(home / "bin/python")
    if uid == os.geteuid() or _runs(own, uid):
        return [own], {}
    for candidate in (f"/usr/bin/{version}", f"/usr/local/bin/{version}"):
        if os.path.exists(candidate):
            return [candidate], {"PYTHONPATH": str(packages), "PYTHONDONTWRITEBYTECODE": "1"}
    raise FileNotFoundError(f"no {version} that uid {uid} can run")


@functools.cache
def plain_python(uid=0):
    """An interpreter that this user can run; the standard library is all it needs."""
    for candidate in (sys.executable, "/usr/bin/python3", "/usr/local/bin/python3"):
        if os.path.exists(candidate) and (uid == os.geteuid() or _runs(candidate, uid)):
            return candidate
    raise FileNotFoundError(f"no python3 that uid {uid} can run")


def _runs(python, uid):
    try:
        subprocess.run([python, "-c", "import random"], user=uid, group=uid, extra_groups=[],
                       cwd="/", check=True, capture_output=True, timeout=30)
        return True
    except (OSError, subprocess.CalledProcessError):
        return False


def short_directory(mode=0o755, owner=None):
    """A directory of its own in /tmp: socket paths have little room."""
    path = tempfile.mkdtemp(prefix="dyn-", dir="/tmp")
    os.chmod(path, mode)
    if owner is not None:
        os.chown(path, owner, owner)
    return path


def remove(path):
    shutil.rmtree(path, ignore_errors=True)


def listed(path):
    """What lies in a directory of traces, but for the records beside them."""
    return sorted(name for name in os.listdir(path) if name != ".dynolog")
