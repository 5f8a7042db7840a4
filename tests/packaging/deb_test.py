#!/usr/bin/env python3
"""What the Debian package tells of where, when and by whom it was built: nothing.

Usage: deb_test.py PACKAGE [unittest arguments], with SOURCE_DATE_EPOCH as it was built. It needs
dpkg-deb and readelf; scripts/check-packages installs the package.
"""

import io
import os
import pathlib
import subprocess
import sys
import tarfile
import tempfile
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
PACKAGE = pathlib.Path(sys.argv.pop(1)).resolve()
PROGRAMS = ("./usr/bin/dynolog", "./usr/bin/dyno")


def tar_of(option):
    made = subprocess.run(["dpkg-deb", option, PACKAGE], check=True, capture_output=True)
    return tarfile.open(fileobj=io.BytesIO(made.stdout))


class Package(unittest.TestCase):
    def test_every_file_is_roots_and_of_one_date(self):
        for option in ("--fsys-tarfile", "--ctrl-tarfile"):
            members = tar_of(option).getmembers()
            self.assertGreater(len(members), 4)
            for member in members:
                self.assertEqual((member.uid, member.gid), (0, 0), member.name)
                self.assertEqual(member.mtime, int(os.environ["SOURCE_DATE_EPOCH"]), member.name)

    def test_nothing_names_the_folder_that_it_was_built_in(self):
        for option in ("--fsys-tarfile", "--ctrl-tarfile"):
            with tar_of(option) as tar:
                for member in filter(tarfile.TarInfo.isreg, tar):
                    text = tar.extractfile(member).read()
                    self.assertNotIn(str(SOURCE).encode() + b"/", text, member.name)

    def test_programs_are_stripped(self):
        with tar_of("--fsys-tarfile") as tar, tempfile.TemporaryDirectory() as place:
            for name in PROGRAMS:
                path = pathlib.Path(place) / "program"
                path.write_bytes(tar.extractfile(name).read())
                sections = subprocess.run(["readelf", "-SW", path], check=True, text=True,
                                          capture_output=True).stdout
                self.assertIn(".text", sections)
                self.assertNotIn(".debug", sections, name)
                self.assertNotIn(".symtab", sections, name)


if __name__ == "__main__":
    unittest.main()
