#!/usr/bin/env python3
"""What the tarball for many distributions holds, and what its programs ask of a host.

Usage: tarball_test.py TARBALL [unittest arguments]. It needs readelf; the programs are not started
(tests/packaging/try_tarball.sh does that), so that they may be another processor's.
"""

import hashlib
import os
import pathlib
import re
import subprocess
import sys
import tarfile
import tempfile
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
TARBALL = pathlib.Path(sys.argv.pop(1)).resolve()
PROGRAMS = ("lib/dynolog/programs/dynolog", "lib/dynolog/programs/dyno")
LAUNCHERS = ("bin/dynolog", "bin/dyno")
LOADER = {"amd64": "ld-linux-x86-64.so.2", "arm64": "ld-linux-aarch64.so.1"}
FILES = {
    "install.sh", "LICENSE", *LAUNCHERS, *PROGRAMS,
    "etc/dynolog/dynolog.toml", "etc/libkineto.conf", "lib/systemd/system/dynolog.service",
    "lib/sysusers.d/dynolog.conf", "lib/tmpfiles.d/dynolog.conf",
    "lib/dynolog/glibc/libc.so.6", "lib/dynolog/glibc/libm.so.6",
    "lib/dynolog/glibc/libgcc_s.so.1", "lib/dynolog/glibc/libpthread.so.0",
    "lib/dynolog/glibc/libdl.so.2", "lib/dynolog/glibc/librt.so.1",
    "lib/dynolog/glibc/libresolv.so.2", "lib/dynolog/glibc/libnss_dns.so.2",
    "lib/dynolog/glibc/libnss_files.so.2", "share/bash-completion/completions/dyno",
    "share/zsh/site-functions/_dyno", "share/fish/vendor_completions.d/dyno.fish",
    "share/man/man1/dyno.1", "share/man/man8/dynolog.8", "share/dynolog/slurm/task-prolog",
    "share/dynolog/unprivileged/service.conf", "share/doc/dynolog/docs/install.md",
    "share/doc/dynolog/licenses/README", "share/doc/dynolog/licenses/libssl-dev",
}


class Tarball(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory(prefix="dynolog-tarball-")
        with tarfile.open(TARBALL) as tar:
            cls.members = tar.getmembers()
            tar.extractall(cls.temporary.name)
        cls.name = TARBALL.name.removesuffix(".tar.gz")
        cls.root = pathlib.Path(cls.temporary.name) / cls.name

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()


class Contents(Tarball):
    def test_one_folder_of_the_tarballs_name(self):
        self.assertRegex(self.name, r"^dynolog-\d+\.\d+\.\d+\.linux-(amd64|arm64)$")
        self.assertEqual({member.name.split("/")[0] for member in self.members}, {self.name})

    def test_nothing_that_people_look_for_is_missing(self):
        found = {str(path.relative_to(self.root)) for path in self.root.rglob("*")
                 if path.is_file()}
        self.assertEqual(FILES - found, set())
        self.assertIn("lib/dynolog/glibc/" + LOADER[self.name.rsplit("-", 1)[1]], found)

    def test_nothing_tells_who_packed_it_and_when(self):
        self.assertEqual({(member.uid, member.gid, member.uname, member.gname)
                          for member in self.members}, {(0, 0, "", "")})
        self.assertEqual(len({member.mtime for member in self.members}), 1)
        names = [member.name for member in self.members]
        self.assertEqual(names, sorted(names, key=lambda name: name.split("/")))
        self.assertEqual(TARBALL.read_bytes()[4:8], b"\0\0\0\0", "gzip's header has a time")

    def test_modes(self):
        for member in self.members:
            self.assertTrue(member.isdir() or member.isreg(), member.name)
            name = member.name.removeprefix(self.name + "/")
            program = (member.isdir() or name in LAUNCHERS + PROGRAMS or "/ld-linux" in name
                       or name.endswith((".sh", "task-prolog")))
            self.assertEqual(oct(member.mode), oct(0o755 if program else 0o644), name)

    def test_nothing_names_a_build_folder(self):
        for path in self.root.rglob("*"):
            if path.is_file():
                self.assertNotIn(str(SOURCE).encode() + b"/", path.read_bytes(), path)

    def test_each_linked_package_has_its_licence_and_a_version(self):
        place = self.root / "share/doc/dynolog/licenses"
        readme = (place / "README").read_text()
        self.assertTrue((place / "texts/LGPL-2.1").exists())
        for path in filter(pathlib.Path.is_file, place.iterdir()):
            self.assertGreater(path.stat().st_size, 100, path)
            if path.name != "README":
                self.assertRegex(readme, rf"(?m)^{re.escape(path.name)} \S+, source \S+ \S+$")

    def test_the_sum_beside_it(self):
        beside = TARBALL.with_name(TARBALL.name + ".sha256").read_text()
        self.assertEqual(beside, f"{hashlib.sha256(TARBALL.read_bytes()).hexdigest()}  "
                                 f"{TARBALL.name}\n")

    def test_size(self):
        self.assertLess(TARBALL.stat().st_size, 16 << 20)


class Libraries(Tarball):
    def readelf(self, option, path):
        return subprocess.run(["readelf", "--wide", option, path], check=True, text=True,
                              capture_output=True, env={**os.environ, "LC_ALL": "C"}).stdout

    def needed(self, path):
        return set(re.findall(r"\(NEEDED\).*\[(.*)\]", self.readelf("-d", path)))

    def test_programs_leave_glibc_and_libgcc_to_the_host_and_nothing_else(self):
        loader = LOADER[self.name.rsplit("-", 1)[1]]
        for name in PROGRAMS:
            self.assertLessEqual(self.needed(self.root / name),
                                 {"libc.so.6", "libm.so.6", "libgcc_s.so.1", loader}, name)
            self.assertIn("libc.so.6", self.needed(self.root / name))

    def test_programs_ask_for_no_newer_glibc_than_the_launcher_looks_for(self):
        launcher = (self.root / LAUNCHERS[0]).read_bytes()
        self.assertIn(b"GLIBC_2.34\0", launcher)
        for name in PROGRAMS:
            versions = re.findall(r"Name: GLIBC_(\d+)\.(\d+)", self.readelf("-V", self.root / name))
            newest = max((int(major), int(minor)) for major, minor in versions)
            self.assertLessEqual(newest, (2, 34), name)
            others = set(re.findall(r"Name: (?!GLIBC_)(\S+)", self.readelf("-V", self.root / name)))
            # All of them are in the libgcc_s of 2001 to 2010.
            self.assertLessEqual(others, {"GCC_3.0", "GCC_3.3", "GCC_3.3.1", "GCC_3.4",
                                          "GCC_4.2.0", "GCC_4.3.0", "GCC_4.0.0", "GCC_4.5.0"},
                                 name)

    def test_launchers_need_nothing(self):
        for name in LAUNCHERS:
            self.assertEqual(self.needed(self.root / name), set())
            self.assertNotIn("INTERP", self.readelf("-l", self.root / name))

    def test_the_c_library_is_whole(self):
        place = self.root / "lib/dynolog/glibc"
        there = {path.name for path in place.iterdir()}
        for path in place.iterdir():
            self.assertLessEqual(self.needed(path), there, path)
            self.assertIn(path.name, self.readelf("-d", path))  # its SONAME

    def test_all_are_of_one_processor(self):
        machine = {"amd64": "X86-64", "arm64": "AArch64"}[self.name.rsplit("-", 1)[1]]
        files = [*(self.root / "lib/dynolog/glibc").iterdir(),
                 *(self.root / name for name in LAUNCHERS + PROGRAMS)]
        for path in files:
            self.assertRegex(self.readelf("-h", path), rf"Machine: .*{machine}", path)


if __name__ == "__main__":
    unittest.main()
