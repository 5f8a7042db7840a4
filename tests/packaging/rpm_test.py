#!/usr/bin/env python3
"""The rpm's spec: what it asks for to build, and the rpm that it makes of an installed tree.

Usage: rpm_test.py BUILD_FOLDER [unittest arguments]. Nothing is compiled: rpmbuild packs what
`cmake --install` lays down (scripts/package rpm does all of it).
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(sys.argv.pop(1)).resolve()
SPEC = SOURCE / "packaging/rpm/dynolog.spec"
VERSION = re.search(r"project\(dynolog VERSION (\S+)", (SOURCE / "CMakeLists.txt").read_text())[1]

# What the build takes, as Debian and as Fedora call it. ccache is not needed for building.
NAMES = {
    "g++": "gcc-c++", "cmake": "cmake", "ninja-build": "ninja-build", "libboost-dev": "boost-devel",
    "libfmt-dev": "fmt-devel", "libspdlog-dev": "spdlog-devel", "nlohmann-json3-dev": "json-devel",
    "libcli11-dev": "cli11-devel", "libtomlplusplus-dev": "tomlplusplus-devel",
    "zlib1g-dev": "zlib-devel", "rapidjson-dev": "rapidjson-devel",
    "libsystemd-dev": "systemd-devel", "libssl-dev": "openssl-devel",
    "libsqlite3-dev": "sqlite-devel", "libzstd-dev": "libzstd-devel",
    "libprotozero-dev": "protozero-devel", "libncurses-dev": "ncurses-devel",
}


def packages_to_build_with():
    command = "source scripts/lib/say.sh; source scripts/lib/packages.sh; packages_for build"
    words = subprocess.run(["bash", "-ec", command], cwd=SOURCE, check=True, capture_output=True,
                           text=True).stdout.split()
    return {re.sub(r"^libboost[\d.]*-dev$", "libboost-dev", word) for word in words} - {"ccache"}


class BuildRequirements(unittest.TestCase):
    def test_each_package_of_the_debian_build_is_asked_for(self):
        lines = re.findall(r"(?m)^BuildRequires: (.*)$", SPEC.read_text())
        asked = {word.split()[0] for line in lines for word in line.split(", ")}
        self.assertEqual(asked, {NAMES.get(name, f"Fedora's name of {name}")
                                 for name in packages_to_build_with()})


@unittest.skipUnless(shutil.which("rpmbuild"), "rpmbuild is not installed (Debian: rpm)")
class Built(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory(prefix="dynolog-rpm-")
        top = pathlib.Path(cls.temporary.name)
        tree = top / "BUILDROOT"
        (top / "BUILD" / f"dynolog-{VERSION}").mkdir(parents=True)
        subprocess.run(["cmake", "--install", BUILD, "--component", "dynolog", "--prefix", "/usr"],
                       env={**os.environ, "DESTDIR": str(tree)}, check=True, capture_output=True)
        # rpmbuild removes the tree.
        cls.installed = {"/" + str(path.relative_to(tree))
                         for path in tree.rglob("*") if not path.is_dir()}
        answer = subprocess.run(
            ["rpmbuild", "--define", f"_topdir {top}", "--define", f"dynolog_version {VERSION}",
             "--define", "_binary_payload w0.gzdio", "--buildroot", tree, "--nodeps",
             "--short-circuit", "-bb", SPEC],
            text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        made = list(top.glob("RPMS/*/*.rpm"))
        assert answer.returncode == 0 and len(made) == 1, answer.stdout
        cls.rpm = made[0]

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def query(self, *arguments):
        return subprocess.run(["rpm", "-qp", *arguments, self.rpm], check=True, text=True,
                              capture_output=True).stdout

    def test_it_holds_what_is_installed(self):
        lines = self.query("--qf", "[%{FILEMODES:octal} %{FILEUSERNAME} %{FILENAMES}\\n]")
        held = {}
        for line in lines.splitlines():
            mode, user, path = line.split(" ", 2)
            self.assertEqual(user, "root", path)
            # Some rpms compress manual pages.
            held[re.sub(r"(/man/.*)\.gz$", r"\1", path)] = mode
        self.assertEqual(self.installed - set(held), set())
        self.assertIn("/usr/share/zsh/site-functions/_dyno", held)
        self.assertEqual(held["/usr/bin/dynolog"], "100755")
        self.assertEqual(held["/etc/dynolog/dynolog.toml"], "100644")

    def test_configuration_is_the_sites(self):
        self.assertEqual(self.query("-c").split(),
                         ["/etc/dynolog/dynolog.toml", "/etc/libkineto.conf"])
        # 16: noreplace.
        flags = self.query("--qf", "[%{FILEFLAGS} %{FILENAMES}\\n]")
        for path in self.query("-c").split():
            self.assertRegex(flags, rf"(?m)^17 {path}$")

    def test_its_scripts_can_be_read_by_sh_and_never_stop_the_service_on_upgrade(self):
        scripts = {name: self.query("--qf", f"%{{{name}}}")
                   for name in ("POSTIN", "PREUN", "POSTUN")}
        for name, text in scripts.items():
            subprocess.run(["sh", "-n"], input=text, text=True, check=True)
            for line in text.splitlines():
                if re.search(r"systemctl .*(stop|--now)", line):
                    self.assertEqual(name, "PREUN", line)
        self.assertIn('"$1" -eq 0', scripts["PREUN"])  # at removal alone


if __name__ == "__main__":
    unittest.main()
