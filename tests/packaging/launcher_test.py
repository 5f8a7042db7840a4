#!/usr/bin/env python3
"""The tarball's launcher: which C library it takes, and what it says where it can take none.

Usage: launcher_test.py LAUNCHER [unittest arguments]. LAUNCHER looks for the host's C library in
host/lib and host/lib64 below the working directory; there and in the installation stand scripts.
"""

import os
import pathlib
import platform
import shutil
import subprocess
import sys
import tempfile
import unittest

LAUNCHER = pathlib.Path(sys.argv.pop(1)).resolve()
LOADER = {"x86_64": "ld-linux-x86-64.so.2", "aarch64": "ld-linux-aarch64.so.1"}[platform.machine()]
NEEDED = b"GLIBC_2.34\0"


def libc_of_this_host():
    with open("/proc/self/maps") as maps:
        paths = {line.split()[-1] for line in maps if line.rstrip().endswith("libc.so.6")}
    return pathlib.Path(paths.pop())


class Launcher(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory(prefix="dynolog-launcher-")
        self.addCleanup(self.temporary.cleanup)
        self.base = pathlib.Path(self.temporary.name).resolve()
        self.prefix = self.base / "a home/with spaces"
        self.libraries = self.prefix / "lib/dynolog/glibc"
        for name in ("dynolog", "dyno"):
            self.put(self.prefix / "bin" / name, LAUNCHER)
            self.script(self.prefix / "lib/dynolog/programs" / name, "host")
        self.script(self.libraries / LOADER, "bundled")

    def put(self, path, source):
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, path)

    def script(self, path, word):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/sh\nprintf '%s\\n' {word} \"$0\" \"$@\"\n")
        path.chmod(0o755)

    def make_host(self, folder="lib", libc=None, libgcc=True):
        place = self.base / "host" / folder
        place.mkdir(parents=True)
        libc = libc_of_this_host().read_bytes() if libc is None else libc
        (place / "libc.so.6").write_bytes(libc)
        if libgcc:
            (place / "libgcc_s.so.1").touch()

    def run_it(self, *arguments, program="dyno", code=0, **environment):
        path = program if isinstance(program, pathlib.Path) else self.prefix / "bin" / program
        answer = subprocess.run([path, *arguments], cwd=self.base, text=True, capture_output=True,
                                env={"PATH": "/usr/bin:/bin", **environment})
        self.assertEqual(answer.returncode, code, answer.stderr)
        self.said = answer.stderr
        return answer.stdout.splitlines()

    def assertTakes(self, word, **options):
        self.assertEqual(self.run_it(**options)[:1], [word], options)
        self.assertEqual(self.said, "")

    def test_a_new_host_runs_the_program_itself(self):
        self.make_host()
        for name in ("dyno", "dynolog"):
            self.assertEqual(self.run_it("a b", "", "--c=d", program=name),
                             ["host", str(self.prefix / "lib/dynolog/programs" / name), "a b", "",
                              "--c=d"])

    def test_the_second_folder_counts_where_the_first_has_none(self):
        self.make_host("lib64")
        self.assertTakes("host")

    def test_an_old_host_gets_the_loader_with_everything_it_needs(self):
        self.make_host(libc=libc_of_this_host().read_bytes().replace(NEEDED, b"GLIBC_2.3x\0"))
        program = self.prefix / "lib/dynolog/programs/dyno"
        self.assertEqual(self.run_it("a b", "", "--c=d"),
                         ["bundled", str(self.libraries / LOADER), "--argv0",
                          str(self.prefix / "bin/dyno"), "--library-path", str(self.libraries),
                          str(program), "a b", "", "--c=d"])

    def test_other_hosts_get_it_too(self):
        self.assertTakes("bundled")  # no C library where distributions have it: musl, NixOS
        for libc in (b"", b"GROUP ( /lib/libc.so.6 )\n", libc_of_this_host().read_bytes()[:5000]):
            self.make_host(libc=libc)
            self.assertTakes("bundled")
            shutil.rmtree(self.base / "host")
        self.make_host(libgcc=False)
        self.assertTakes("bundled")

    def test_a_host_without_the_usual_loader_gets_it_too(self):
        self.make_host()
        program = self.prefix / "lib/dynolog/programs/dyno"
        program.write_text("#!/nowhere/ld.so\n")  # as a missing PT_INTERP: ENOENT
        self.assertTakes("bundled")
        self.assertEqual(self.run_it(code=126, DYNOLOG_LIBC="host"), [])

    def test_the_choice_can_be_made_for_it(self):
        self.assertTakes("host", DYNOLOG_LIBC="host")
        self.make_host()
        self.assertTakes("bundled", DYNOLOG_LIBC="bundled")
        self.assertTakes("host", DYNOLOG_LIBC="")
        self.assertEqual(self.run_it(code=126, DYNOLOG_LIBC="musl"), [])
        self.assertIn("neither host nor bundled, but musl", self.said)

    def test_through_a_link_in_path(self):
        self.make_host()
        links = self.base / "links"
        links.mkdir()
        (links / "once").symlink_to("../a home/with spaces/bin/dyno")
        (links / "twice").symlink_to("once")
        self.assertTakes("host", program=links / "twice")
        self.assertTakes("bundled", program=links / "twice", DYNOLOG_LIBC="bundled")

    def test_says_what_is_wrong_with_the_installation(self):
        shutil.rmtree(self.libraries)
        self.assertEqual(self.run_it(code=126), [])
        self.assertIn("older than GLIBC_2.34", self.said)
        self.assertIn(f"{self.libraries / LOADER}: No such file", self.said)
        shutil.rmtree(self.prefix / "lib")
        self.assertEqual(self.run_it(code=126), [])
        self.assertIn("lib/dynolog/programs/dyno: unpack the whole tarball", self.said)

    def test_a_path_that_the_loader_would_split_is_refused(self):
        moved = self.base / "a:b"
        self.prefix.rename(moved)
        self.assertEqual(self.run_it(code=126, program=moved / "bin/dyno"), [])
        self.assertIn("a path with ':' or ';'; move it", self.said)
        self.make_host()
        self.assertTakes("host", program=moved / "bin/dyno")


if __name__ == "__main__":
    unittest.main()
