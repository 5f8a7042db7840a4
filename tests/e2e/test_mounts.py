"""File systems as the page shows them: beside statvfs(), with odd names, and when one of them does
not answer any more."""

import ctypes
import os
import re
import struct
import subprocess
import threading

import pytest

from harness import page, places
from harness.daemon import Daemon
from harness.memory_fuse import need_fuse
from harness.waiting import PATIENCE, until

INIT, STATFS, GETATTR = 26, 17, 3
libc = ctypes.CDLL(None, use_errno=True)


def must(result, doing):
    if result != 0:
        raise OSError(ctypes.get_errno(), f"{doing}: {os.strerror(ctypes.get_errno())}")


class Mounted:
    """A mount of the test's own, gone with it."""

    def __init__(self, source, place, kind, options=""):
        os.makedirs(place, exist_ok=True)
        must(libc.mount(source.encode(), place.encode(), kind.encode(), 0, options.encode()),
             f"mounting {place}")
        self.place = place

    def close(self):
        must(libc.umount2(self.place.encode(), 2), f"unmounting {self.place}")  # MNT_DETACH


class HangingFuse:
    """A FUSE file system whose answers to statfs come when the test lets them."""

    def __init__(self, place):
        self.fuse = os.open("/dev/fuse", os.O_RDWR)
        self.mount = Mounted("hanging", place, "fuse",
                             f"fd={self.fuse},rootmode=40000,user_id=0,group_id=0,allow_other")
        self.waiting, self.answers = threading.Event(), threading.Event()
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def serve(self):
        while True:
            try:
                request = os.read(self.fuse, 1 << 20)
            except OSError:
                return  # unmounted
            _, opcode, unique, _ = struct.unpack_from("<IIQQ", request)
            body = None
            if opcode == INIT:
                body = struct.pack("<4I2H2I2HI7I", 7, 31, 0, 0, 1, 1, 4096, 1, 1, 0, 0, *[0] * 7)
            elif opcode == STATFS:
                self.waiting.set()
                self.answers.wait()
                body = struct.pack("<5Q4I6I", 1000, 600, 500, 70, 30, 4096, 255, 4096, 0, *[0] * 6)
            head = struct.pack("<IiQ", 16 + len(body or b""), 0 if body else -38, unique)
            try:
                os.write(self.fuse, head + (body or b""))
            except OSError:
                pass  # who asked has gone

    def close(self):
        self.answers.set()
        self.mount.close()
        os.close(self.fuse)


def room(url, point):
    """What the page says of one mount point: family -> value."""
    found = {}
    for name, family in page.page_of(url).items():
        if name.startswith("node_filesystem_"):
            for (_, key), value in family.series.items():
                if dict(key)["mountpoint"] == point:
                    found[name.removeprefix("node_filesystem_")] = value
    return found


@pytest.fixture
def directory():
    made = places.short_directory(0o755)
    yield made
    places.remove(made)


def daemon_with_page(*flags):
    return Daemon("--noenable_ipc_monitor", "--no_tcp", "--prometheus_port=0", *flags).start()


def test_values_are_those_of_statvfs(directory):
    odd = f"{directory}/a b\\c\t\"d"
    mounts = [Mounted("odd source", odd, "tmpfs", "size=1m"),
              Mounted("under", f"{directory}/over", "tmpfs", "size=2m"),
              Mounted("over", f"{directory}/over", "tmpfs", "size=3m")]
    daemon = None
    try:
        daemon = daemon_with_page()
        url = page.page_url(daemon)
        shown = "".join(c if c.isprintable() else "\ufffd" for c in odd).replace(
            "\\", "\\\\").replace('"', '\\"')
        until("the odd mount", lambda: room(url, shown))
        values, truth = room(url, shown), os.statvfs(odd)
        assert values["size_bytes"] == truth.f_blocks * truth.f_bsize == 1 << 20
        assert values["files"] == truth.f_files
        assert values["device_error"] == values["readonly"] == 0
        # Of two at one place only the upper one can be asked.
        assert room(url, f"{directory}/over")["size_bytes"] == 3 << 20
        sizes = page.page_of(url)["node_filesystem_size_bytes"].series
        assert not [key for _, key in sizes if ("device", "under") in key]
        assert room(url, "/") and not room(url, "/proc")
    finally:
        if daemon:
            daemon.close()
        for mount in reversed(mounts):
            mount.close()


def test_hundreds_of_mounts(directory):
    mounts = [Mounted(f"t{i}", f"{directory}/{i}", "tmpfs", "size=64k") for i in range(300)]
    daemon = None
    try:
        daemon = daemon_with_page()
        url = page.page_url(daemon)
        until("the last mount", lambda: room(url, f"{directory}/299"))
        sizes = page.page_of(url)["node_filesystem_size_bytes"].series
        assert len([key for _, key in sizes if directory in dict(key)["mountpoint"]]) == 300
        daemon.stop()
    finally:
        if daemon:
            daemon.close()
        for mount in reversed(mounts):
            mount.close()


def test_a_mount_that_does_not_answer(directory):
    """Its figures are absent and everything else goes on; it is told once, and when it is over."""
    need_fuse()
    hanging = HangingFuse(f"{directory}/nfs")
    daemon = None
    try:
        daemon = daemon_with_page("--collector_interval=filesystem=2")
        url = page.page_url(daemon)
        assert hanging.waiting.wait(PATIENCE)
        until("the other mounts", lambda: room(url, "/"))
        values = room(url, f"{directory}/nfs")
        assert values == {"device_error": 1, "readonly": 0}
        assert room(url, "/")["size_bytes"] > 0

        def feature():
            found = daemon.feature("mounts")
            return found and found[0]["state"] == "degraded" and found[0]
        assert f"{directory}/nfs" in until("the status to say so", feature)["reason"]
        ticks = page.page_of(url)["dynolog_sink_frames_total"].series
        until("the page to go on", lambda: page.page_of(url)["dynolog_sink_frames_total"].series
              != ticks)
        # One thread of one worker waits for it, however often it is looked at.
        workers = subprocess.run(["pgrep", "-P", str(daemon.pid), "-f", "worker=mounts"],
                                 capture_output=True, text=True).stdout.split()
        assert len(workers) == 1
        assert len(os.listdir(f"/proc/{workers[0]}/task")) <= 3
        hanging.answers.set()
        until("its figures", lambda: room(url, f"{directory}/nfs").get("size_bytes")
              == 1000 * 4096)
        assert room(url, f"{directory}/nfs")["device_error"] == 0
        assert len(re.findall("mount .* does not answer$", daemon.log(), re.M)) == 1
        until("the status to be well", lambda: not feature())
        daemon.stop()
    finally:
        if daemon:
            daemon.close()
        hanging.close()


def test_the_end_does_not_wait_for_it(directory):
    need_fuse()
    hanging = HangingFuse(f"{directory}/nfs")
    try:
        daemon = daemon_with_page()
        try:
            assert hanging.waiting.wait(PATIENCE)
            daemon.stop()  # within 5 s
        finally:
            daemon.close()
    finally:
        hanging.close()


def test_text_files_come_and_go(directory):
    daemon = daemon_with_page(f"--textfile_directory={directory}",
                              "--collector_interval=textfile=1")
    try:
        url = page.page_url(daemon)

        def families():
            return page.page_of(url)
        until("no error", lambda: families().get("node_textfile_scrape_error"))
        with open(f"{directory}/x.prom", "w") as file:
            file.write("# TYPE x counter\nx{a=\"b\"} 5\n")
        until("the file's metric", lambda: "x" in families())
        assert families()["x"].type == "counter"
        with open(f"{directory}/bad.prom", "w") as file:
            file.write("half a li")
        until("an error", lambda: list(
            families()["node_textfile_scrape_error"].series.values()) == [1])
        assert "x" in families(), "a bad file costs itself only"
        until("the line in the log", lambda: "bad.prom: line 1" in daemon.log())
        success = families()["node_scrape_collector_success"].series
        assert {value for (_, key), value in success.items()
                if dict(key)["collector"] == "textfile"} <= {1}, "as node_exporter has it"
        stage = next(each for each in daemon.status()["collectors"] if each["name"] == "textfile")
        assert "bad.prom: line 1" in stage["last_error"]
        for name in ("x", "bad"):
            os.remove(f"{directory}/{name}.prom")
        until("it is gone", lambda: "x" not in families())
        daemon.stop()
    finally:
        daemon.close()
