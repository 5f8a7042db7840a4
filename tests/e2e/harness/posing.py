"""Processes with a PyTorch in them that is none: any version, with or without CUDA and a GPU."""

import os

from harness import places
from harness.kineto_job import KinetoJob

SCRIPT = os.path.join(os.path.dirname(os.path.dirname(__file__)), "jobs", "posing_job.py")
# On a private /dev, so that the host has no such device afterwards.
PRIVATE_DEV = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs none /dev && exec "$@"', "sh"]


def fake_torch(directory, version, cuda, names=()):
    """The files by which a version is told, below `directory`; gives the libraries."""
    libraries = os.path.join(directory, "torch", "lib")
    os.makedirs(libraries)
    with open(os.path.join(directory, "torch", "version.py"), "w") as file:
        file.write(f"__version__ = '{version}'\n")
    made = []
    for name in ["libtorch_cpu.so"] + (["libtorch_cuda.so"] if cuda else []):
        made.append(os.path.join(libraries, name))
        with open(made[-1], "wb") as file:
            file.write(b"\0".join([b"\x7fELF", *(each.encode() for each in names), b""]))
    return made


class PosingJob(KinetoJob):
    """`behaviour` None: it never calls a daemon; else it is traced as jobs/kineto_job.py has it."""

    def __init__(self, socket_dir, version, *, cuda=False, gpu=False, names=(), behaviour=None,
                 env=None, uid=None):
        self.torch = places.short_directory()
        mapped = fake_torch(self.torch, version, cuda, names)

        def wrap(command):
            python, *script = command
            posing = [python, places.published(SCRIPT)]
            for path in mapped:
                posing += ["--map", path]
            if gpu:
                posing = [*PRIVATE_DEV, *posing, "--hold", "/dev/nvidia0"]
            return posing + (script if behaviour else [])

        # Without a base configuration, whatever the host has.
        own = {"KINETO_USE_DAEMON": "1", "KINETO_IPC_SOCKET_DIR": socket_dir,
               "KINETO_CONFIG": "/none", **(env or {})}
        super().__init__(socket_dir, behaviour or "good", uid=uid, wrap=wrap, env=own)

    def close(self):
        super().close()
        places.remove(self.torch)
