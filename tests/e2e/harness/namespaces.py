"""Network namespaces of their own, held by a process that ends with the test run."""

import subprocess


class NetworkNamespace:
    def __init__(self):
        # `cat` holds the namespace until its standard input is closed, even if the tests crash.
        self.holder = subprocess.Popen(
            ["unshare", "-n", "sh", "-c", "ip link set lo up && echo ready && exec cat"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self.holder.stdout.readline() == b"ready\n"

    def inside(self, command):
        return ["nsenter", f"--net=/proc/{self.holder.pid}/ns/net", "--", *command]

    def run(self, *command, **options):
        return subprocess.run(self.inside(list(command)), **options)

    def close(self):
        self.holder.stdin.close()
        self.holder.wait(5)
        self.holder.stdout.close()


def own_pids_and_network(command):
    """The command as pid 1 of a pid namespace, with a network of its own; ends with its parent."""
    return ["unshare", "--net", "--pid", "--fork", "--kill-child", "--mount-proc", "--", *command]


def child_of(pid):
    """The host pid of the only child of `pid`, or None."""
    with open(f"/proc/{pid}/task/{pid}/children") as file:
        children = file.read().split()
    return int(children[0]) if children else None
