#!/usr/bin/env python3
"""The compiler's flags of packages give the same object from every folder, with ccache and without.

Usage: same_bytes_test.py COMPILER [unittest arguments]. It compiles a file of its own that names
itself, as assertions do; `scripts/check-packages same` does so with everything.
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
COMPILER = sys.argv.pop(1)


def package_preset():
    presets = json.loads((SOURCE / "CMakePresets.json").read_text())["configurePresets"]
    return next(preset for preset in presets if preset["name"] == "package")["cacheVariables"]


class SameBytes(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory(prefix="dynolog-same-")
        self.addCleanup(self.temporary.cleanup)
        self.base = pathlib.Path(self.temporary.name).resolve()

    def compile(self, folder, flags, ccache=False):
        """As CMake does: in build/package, every path an absolute one."""
        root = self.base / folder
        build = root / "build/package"
        (root / "src").mkdir(parents=True, exist_ok=True)
        build.mkdir(parents=True, exist_ok=True)
        (root / "src/names.h").write_text("inline const char* header() { return __FILE__; }\n")
        (root / "src/names.cpp").write_text(
            '#include "names.h"\nconst char* name() { return header()[0] ? __FILE__ : 0; }\n')
        words = [word.replace("${sourceDir}", str(root)) for word in flags]
        environment = {**os.environ, "CCACHE_BASEDIR": str(root), "CCACHE_NOHASHDIR": "1",
                       "CCACHE_DIR": str(self.base / "cache")}
        subprocess.run([*(["ccache"] if ccache else []), COMPILER, *words, f"-I{root}/src", "-o",
                        "names.o", "-c", root / "src/names.cpp"], cwd=build, env=environment,
                       check=True)
        return (build / "names.o").read_bytes()

    def flags(self):
        preset = package_preset()
        return (preset["CMAKE_CXX_FLAGS"] + " "
                + preset["CMAKE_CXX_FLAGS_RELWITHDEBINFO"]).split()

    def test_from_two_folders(self):
        made = self.compile("a", self.flags())
        self.assertIn(b"src/names.cpp", made)
        self.assertNotIn(str(self.base).encode(), made)
        self.assertEqual(self.compile("b/and deeper", self.flags()), made)

    @unittest.skipUnless(shutil.which("ccache"), "ccache is not installed")
    def test_with_ccache_as_without(self):
        made = self.compile("a", self.flags())
        for folder in ("a", "b"):  # a miss, then a hit
            self.assertEqual(self.compile(folder, self.flags(), ccache=True), made, folder)

    def test_without_these_flags_it_would_differ(self):
        self.assertNotEqual(self.compile("a", ["-O2"]), self.compile("b", ["-O2"]))


if __name__ == "__main__":
    unittest.main()
