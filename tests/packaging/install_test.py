#!/usr/bin/env python3
"""What `cmake --install` lays down: the tree, the unit file, the configuration, the directories.

Usage: install_test.py BUILD_FOLDER [unittest arguments]
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest



def may_mount():
    probe = ["unshare", "--mount", "mount", "-t", "tmpfs", "none", "/mnt"]
    return os.geteuid() == 0 and subprocess.run(probe, capture_output=True).returncode == 0


SOURCE = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(sys.argv.pop(1)).resolve()

FILES = {
    "etc/dynolog/dynolog.toml", "etc/libkineto.conf", "usr/bin/dyno", "usr/bin/dynolog",
    "usr/lib/systemd/system/dynolog.service", "usr/lib/sysusers.d/dynolog.conf",
    "usr/lib/tmpfiles.d/dynolog.conf", "usr/share/bash-completion/completions/dyno",
    "usr/share/dynolog/apptainer/dynolog.conf", "usr/share/dynolog/enroot/50-dynolog.fstab",
    "usr/share/dynolog/enroot/50-dynolog.sh", "usr/share/dynolog/slurm/task-prolog",
    "usr/share/dynolog/unprivileged/service.conf", "usr/share/dynolog/unprivileged/tmpfiles.conf",
    "usr/share/fish/vendor_completions.d/dyno.fish", "usr/share/man/man1/dyno.1",
    "usr/share/man/man8/dynolog.8", "usr/share/zsh/site-functions/_dyno",
}
DOCUMENTS = {"README.md", "CHANGELOG.md", "SECURITY.md", "ARCHITECTURE.md", "CONTRIBUTING.md",
             "copyright"} | {f"docs/{page.name}" for page in (SOURCE / "docs").glob("*.md")}

# They would delay the answers to jobs, hide jobs, files, devices or counters, or make the socket
# directories anew.
FORBIDDEN = {
    "CPUQuota", "PrivateNetwork", "PrivateUsers", "PrivateTmp", "ProtectHome", "PrivateDevices",
    "DevicePolicy", "DeviceAllow", "ProtectClock", "ProtectKernelTunables", "ProtectKernelLogs",
    "ProtectProc", "ProcSubset", "ProtectControlGroups", "RestrictRealtime", "RuntimeDirectory",
    "RootDirectory", "TemporaryFileSystem", "InaccessiblePaths", "DynamicUser", "IPAddressDeny",
}


def install(prefix, destination):
    return subprocess.run(
        ["cmake", "--install", BUILD, "--component", "dynolog", "--prefix", prefix],
        env={**os.environ, "DESTDIR": str(destination)}, check=True, capture_output=True, text=True)


def lay_out_tarball(place):
    """As cpack's tarball has it: folders at the root, with install.sh beside them."""
    for component in ("dynolog", "tarball"):
        subprocess.run(["cmake", "--install", BUILD, "--component", component, "--prefix", place],
                       check=True, capture_output=True, env={**os.environ, "DESTDIR": ""})


def settings(path):
    """[(name, value, the comment right above or None)] of a unit file."""
    found, comment = [], None
    for line in path.read_text().replace("\\\n", " ").splitlines():
        if line.startswith("#"):
            comment = line
        elif "=" in line:
            name, value = line.split("=", 1)
            found.append((name, value, comment))
            comment = None
        else:
            comment = None
    return found


def with_name(path, name):
    return [value for key, value, _ in settings(path) if key == name]


class Installed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory(prefix="dynolog-install-")
        cls.root = pathlib.Path(cls.temporary.name) / "usr-prefix"
        os.umask(0o022)
        install("/usr", cls.root)
        cls.unit = cls.root / "usr/lib/systemd/system/dynolog.service"
        cls.drop_in = cls.root / "usr/share/dynolog/unprivileged/service.conf"

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def dynolog(self, *arguments):
        return subprocess.run([self.root / "usr/bin/dynolog", *arguments], capture_output=True,
                              text=True)


class Tree(Installed):
    def test_nothing_is_missing_and_nothing_else_is_there(self):
        found = {str(path.relative_to(self.root)) for path in self.root.rglob("*")
                 if not path.is_dir()}
        documents = {f"usr/share/doc/dynolog/{name}" for name in DOCUMENTS}
        self.assertEqual(found, FILES | documents)

    def test_the_links_of_the_read_me_lead_somewhere(self):
        page = self.root / "usr/share/doc/dynolog/README.md"
        links = re.findall(r"\]\(([^):#]+)\)", page.read_text())
        self.assertGreater(len(links), 10)
        for link in links:
            self.assertTrue((page.parent / link).exists(), link)

    def test_modes(self):
        for path in self.root.rglob("*"):
            mode = path.stat().st_mode & 0o7777
            program = path.is_dir() or "bin" in path.parts[-2] or path.name in (
                "50-dynolog.sh", "task-prolog")
            self.assertEqual(mode, 0o755 if program else 0o644, path)

    def test_nothing_names_the_staging_or_build_folder(self):
        for path in self.root.rglob("*"):
            if path.is_file() and "bin" not in path.parts[-2]:
                text = path.read_bytes()
                self.assertNotIn(str(self.root).encode(), text, path)
                self.assertNotIn(str(BUILD).encode(), text, path)
                self.assertIsNone(re.search(rb"@\w+@", text), path)

    def test_completions_are_what_dyno_prints(self):
        for shell, path in (("bash", "usr/share/bash-completion/completions/dyno"),
                            ("zsh", "usr/share/zsh/site-functions/_dyno"),
                            ("fish", "usr/share/fish/vendor_completions.d/dyno.fish")):
            printed = subprocess.run([self.root / "usr/bin/dyno", "completion", shell], check=True,
                                     capture_output=True, text=True).stdout
            self.assertIn("gputrace", printed)
            self.assertEqual((self.root / path).read_text(), printed)

    def test_what_is_there_is_left_as_it_is(self):
        for name in ("libkineto.conf", "dynolog/dynolog.toml"):
            (self.root / "etc" / name).write_text("# the site's own\n")
        said = install("/usr", self.root).stdout
        for name in ("libkineto.conf", "dynolog/dynolog.toml"):
            self.assertEqual((self.root / "etc" / name).read_text(), "# the site's own\n")
            self.assertIn(f"Left as it is: {self.root}/etc/{name}", said)

    def test_another_prefix_is_named_where_it_counts(self):
        root = pathlib.Path(self.temporary.name) / "opt-prefix"
        said = install("/opt/x", root).stdout
        self.assertIn("copy it there", said)
        unit = root / "opt/x/lib/systemd/system/dynolog.service"
        self.assertEqual(with_name(unit, "ExecStart"),
                         ["/opt/x/bin/dynolog --config=/opt/x/etc/dynolog/dynolog.toml"])
        self.assertTrue((root / "opt/x/etc/dynolog/dynolog.toml").exists())
        self.assertFalse((root / "etc").exists())


class Configuration(Installed):
    path = SOURCE / "packaging/dynolog.toml"

    def check(self, text):
        with tempfile.NamedTemporaryFile("w", suffix=".toml") as file:
            file.write(text)
            file.flush()
            return self.dynolog(f"--config={file.name}", "--flagfile=", "--check_config")

    def test_it_is_good(self):
        answer = self.check(self.path.read_text())
        self.assertEqual((answer.returncode, answer.stderr), (0, ""))

    def test_what_is_commented_out_are_the_defaults_and_none_is_missing(self):
        text = self.path.read_text()
        uncommented = re.sub(r"(?m)^# (?=[A-Za-z_]+ = )", "", text)
        self.assertEqual(self.check(uncommented).returncode, 0, self.check(uncommented).stderr)
        defaults = self.dynolog("--config=", "--flagfile=", "--print_config").stdout
        line = re.compile(r"(?m)^(\w+) = (.*)$")
        shown, real = dict(line.findall(uncommented)), dict(line.findall(defaults))
        # Decided by mode, and set by the package.
        real["enable_ipc_monitor"] = "true"
        real["kineto_socket_dir"] = '["/run/dynolog/kineto"]'
        self.assertEqual(shown, real, "packaging/dynolog.toml shows each option with its default")

    def test_a_wrong_key_would_be_seen(self):
        self.assertEqual(self.check(self.path.read_text() + "\nprt = 1\n").returncode, 2)

    def test_kineto_takes_its_file(self):
        lines = [line for line in (SOURCE / "packaging/libkineto.conf").read_text().splitlines()
                 if line and not line.startswith("#")]
        self.assertEqual(lines, ["ON_DEMAND_CONFIG_UPDATE_INTERVAL_SECS=1"])


class Unit(Installed):
    def test_forbidden_settings(self):
        for path in (self.unit, self.drop_in):
            names = {name for name, _, _ in settings(path)}
            self.assertFalse(names & FORBIDDEN, path)
            self.assertNotIn("strict", with_name(path, "ProtectSystem"))

    def test_each_capability_has_a_reason(self):
        lines = [entry for entry in settings(self.unit) if entry[0] == "CapabilityBoundingSet"]
        self.assertGreater(len(lines), 1)
        for _, value, comment in lines:
            self.assertTrue(comment, value)

    def test_capabilities_are_those_that_doctor_asks_for(self):
        doctor = (SOURCE / "src/daemon/host_diagnosis.cpp").read_text()
        asked = set(re.findall(r'Needed\{CAP_\w+, "(CAP_\w+)"', doctor))
        given = set(" ".join(with_name(self.unit, "CapabilityBoundingSet")).split())
        self.assertTrue(asked)
        self.assertEqual(given, asked)

    def test_room_for_jobs_and_limits(self):
        value = {name: text for name, text, _ in settings(self.unit)}
        self.assertEqual((value["Type"], value["NotifyAccess"]), ("notify", "main"))
        self.assertEqual(value["WatchdogSec"], "30")
        # As many as the Kineto thread takes endpoints.
        limit = re.search(r"kMaxEndpoints = (\d+)",
                          (SOURCE / "src/ipc/kineto_server.cpp").read_text())
        self.assertEqual(value["FileDescriptorStoreMax"], limit[1])
        self.assertGreaterEqual(int(value["LimitNOFILE"]), 16384)
        for name in ("CPUWeight", "Delegate"):
            self.assertIn(name, value)
        self.assertEqual(value["OOMPolicy"], "continue")
        self.assertEqual(value["LimitRTPRIO"], "1")
        self.assertEqual(value["ExecReload"], "/bin/kill -HUP $MAINPID")
        self.assertEqual(value["ExecStart"], "/usr/bin/dynolog")

    def test_workers_meet_their_own_limit_before_the_service_meets_one(self):
        """Above MemoryHigh the kernel slows down the daemon as well."""
        def mebibytes(name):
            number, unit = re.fullmatch(r"(\d+)([MG])", *with_name(self.unit, name)).groups()
            return int(number) * {"M": 1, "G": 1024}[unit]
        printed = self.dynolog("--config=", "--flagfile=", "--print_config").stdout
        workers = int(re.search(r"(?m)^worker_memory_mb = (\d+)$", printed)[1])
        daemon = 64
        self.assertLess(workers + daemon, mebibytes("MemoryHigh"))
        self.assertLess(mebibytes("MemoryHigh"), mebibytes("MemoryMax"))

    def test_drop_in_has_good_options_and_no_capability(self):
        start = with_name(self.drop_in, "ExecStart")
        self.assertEqual(start[0], "")  # resets
        arguments = start[1].split()[1:]
        # Places of which whoever runs this test may have none.
        others = ("--config=", "--run_dir=", "--state_dir=")
        arguments = [word for word in arguments if not word.startswith(others)]
        with tempfile.TemporaryDirectory(dir="/var/tmp") as places:
            answer = self.dynolog(*arguments, f"--config={SOURCE}/packaging/dynolog.toml",
                                  f"--run_dir={places}/run", f"--state_dir={places}/state",
                                  "--check_config")
        self.assertEqual((answer.returncode, answer.stderr), (0, ""))
        self.assertIn("--run_dir=/run/dynolog", start[1].split())
        self.assertIn("--state_dir=/var/lib/dynolog", start[1].split())
        # What root's daemon finds by itself.
        self.assertIn("--config=/etc/dynolog/dynolog.toml", start[1].split())
        self.assertIn("--flagfile=-/etc/dynolog.gflags", start[1].split())
        self.assertEqual(with_name(self.drop_in, "CapabilityBoundingSet"), [""])
        self.assertEqual(with_name(self.drop_in, "User"), ["dynolog"])

    @unittest.skipUnless(shutil.which("systemd-analyze"), "systemd-analyze is not installed")
    def test_systemd_understands_every_line(self):
        with tempfile.TemporaryDirectory() as directory:
            unit = pathlib.Path(directory) / "dynolog.service"
            unit.write_text(self.unit.read_text().replace("/usr/bin/dynolog", "/bin/true"))
            drop_in = pathlib.Path(directory) / "dynolog.service.d"
            drop_in.mkdir()
            for lines in ("", self.drop_in.read_text().replace("/usr/bin/dynolog", "/bin/true")):
                (drop_in / "site.conf").write_text(lines)
                answer = subprocess.run(["systemd-analyze", "verify", "--man=no", unit],
                                        capture_output=True, text=True)
                # It exits with 0 even for a key that it does not know.
                about_us = [line for line in answer.stderr.splitlines() if "dynolog" in line]
                self.assertEqual((answer.returncode, about_us), (0, []))

    @unittest.skipUnless(shutil.which("systemd-analyze"), "systemd-analyze is not installed")
    def test_exposure(self):
        answer = subprocess.run(["systemd-analyze", "security", "--offline=yes", "--threshold=55",
                                 self.unit], capture_output=True, text=True,
                                env={**os.environ, "LC_ALL": "C.UTF-8"})
        last = answer.stdout.strip().splitlines()[-1:]
        self.assertIn("Overall exposure level", str(last), answer.stderr)
        self.assertEqual(answer.returncode, 0, last)


class Directories(Installed):
    @unittest.skipUnless(shutil.which("systemd-tmpfiles") and os.geteuid() == 0,
                         "needs systemd-tmpfiles and root")
    def test_they_are_made_once(self):
        root = pathlib.Path(self.temporary.name) / "tmpfiles"
        (root / "run").mkdir(parents=True)
        shutil.copytree(self.root / "usr/lib/tmpfiles.d", root / "usr/lib/tmpfiles.d")
        (root / "etc").mkdir()
        shutil.copy("/etc/passwd", root / "etc/passwd")
        shutil.copy("/etc/group", root / "etc/group")

        def make():
            subprocess.run(["systemd-tmpfiles", f"--root={root}", "--create", "--remove", "--clean",
                            "dynolog.conf"], check=True, capture_output=True)
            return {name: (root / "run/dynolog" / name).stat() for name in (".", "kineto", "u")}

        first = make()
        modes = [oct(status.st_mode & 0o7777) for status in first.values()]
        self.assertEqual(modes, ["0o755", "0o1777", "0o711"])
        (root / "run/dynolog/kineto/dynolog").touch()
        again = make()
        for name, status in first.items():
            self.assertEqual(status.st_ino, again[name].st_ino)
        self.assertTrue((root / "run/dynolog/kineto/dynolog").exists())

    def test_no_line_removes_or_ages(self):
        for path in (self.root / "usr/lib/tmpfiles.d/dynolog.conf",
                     self.root / "usr/share/dynolog/unprivileged/tmpfiles.conf"):
            for line in path.read_text().splitlines():
                if line.startswith("#"):
                    continue
                words = line.split()
                self.assertIn(words[0], ("d", "z", "Z"))
                self.assertEqual(words[5:], ["-"] if words[0] == "d" else words[5:])


class Jobs(Installed):
    """What gives jobs their variables, with a `dyno` that prints what the real one does."""

    def run_script(self, name, **environment):
        directory = pathlib.Path(self.temporary.name) / "fake"
        directory.mkdir(exist_ok=True)
        dyno = directory / "dyno"
        dyno.write_text("#!/bin/sh\nprintf '%s\\n' \"export KINETO_USE_DAEMON=1\" "
                        "\"export KINETO_IPC_SOCKET_DIR='/run/dynolog/u/1 0'\" 'secret=x'\n"
                        "test -z \"$DYNO_FAILS\"\n")
        dyno.chmod(0o755)
        return subprocess.run(
            [self.root / "usr/share/dynolog" / name], capture_output=True, text=True,
            env={"PATH": f"{directory}:/usr/bin:/bin", **environment})

    def test_task_prolog(self):
        answer = self.run_script("slurm/task-prolog")
        self.assertEqual((answer.returncode, answer.stdout, answer.stderr),
                         (0, "export KINETO_USE_DAEMON=1\n"
                             "export KINETO_IPC_SOCKET_DIR=/run/dynolog/u/1 0\n", ""))

    def test_task_prolog_leaves_a_job_that_chose(self):
        self.assertEqual(self.run_script("slurm/task-prolog", KINETO_USE_DAEMON="1").stdout, "")

    def test_task_prolog_never_fails_a_task(self):
        (pathlib.Path(self.temporary.name) / "fake").mkdir(exist_ok=True)
        answer = subprocess.run([self.root / "usr/share/dynolog/slurm/task-prolog"],
                                capture_output=True, text=True, env={"PATH": "/usr/bin:/bin"})
        self.assertEqual(answer.returncode, 0)

    def test_enroot_hook(self):
        environ = pathlib.Path(self.temporary.name) / "environ"
        environ.write_text("A=1\n")
        answer = self.run_script("enroot/50-dynolog.sh", ENROOT_ENVIRON=str(environ))
        self.assertEqual((answer.returncode, answer.stderr), (0, ""))
        self.assertEqual(environ.read_text(), "A=1\nKINETO_USE_DAEMON=1\n"
                                              "KINETO_IPC_SOCKET_DIR=/run/dynolog/u/1 0\n")

    def test_mounts_of_containers_have_one_path_on_both_sides(self):
        text = (self.root / "usr/share/dynolog/enroot/50-dynolog.fstab").read_text()
        mounts = [line.split() for line in text.splitlines() if not line.startswith("#")]
        self.assertEqual([mount[0] for mount in mounts], ["/run/dynolog", "/etc/libkineto.conf"])
        binds = with_name(self.root / "usr/share/dynolog/apptainer/dynolog.conf", "bind path ")
        self.assertEqual([bind.strip() for bind in binds], [mount[0] for mount in mounts])
        for source, target, kind, options in mounts:
            self.assertEqual((source, kind), (target, "none"))
            self.assertLessEqual({"bind", "nofail", "nosuid"}, set(options.split(",")))


class Tarball(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory(prefix="dynolog-tarball-")
        cls.base = pathlib.Path(cls.temporary.name)
        cls.base.chmod(0o755)
        lay_out_tarball(cls.base / "unpacked")

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def run_script(self, *arguments, **options):
        environment = {"PATH": "/usr/bin:/bin", **options.pop("env", {})}
        return subprocess.run([self.base / "unpacked/install.sh", *arguments], text=True,
                              capture_output=True, env=environment, **options)

    @unittest.skipUnless(os.geteuid() == 0, "needs root")
    def test_onto_a_host(self):
        host = self.base / "host"
        (host / "etc").mkdir(parents=True)
        (host / "etc/libkineto.conf").write_text("# the site's\n")
        for _ in range(2):
            answer = self.run_script("--prefix", "/opt/dynolog", env={"DESTDIR": str(host)})
            self.assertEqual((answer.returncode, answer.stderr), (0, ""))
        self.assertIn(f"left as it is: {host}/etc/libkineto.conf", answer.stdout)
        self.assertEqual((host / "etc/libkineto.conf").read_text(), "# the site's\n")
        self.assertTrue((host / "etc/dynolog/dynolog.toml").exists())
        units = host / "opt/dynolog/lib/systemd/system/dynolog.service"
        self.assertEqual(with_name(units, "ExecStart"), ["/opt/dynolog/bin/dynolog"])
        drop_in = host / "opt/dynolog/share/dynolog/unprivileged/service.conf"
        start = with_name(drop_in, "ExecStart")
        self.assertEqual(start[0], "")
        self.assertTrue(start[1].startswith("/opt/dynolog/bin/dynolog --run_dir="), start)
        self.assertIn("--config=/etc/dynolog/dynolog.toml", start[1])
        for path in (host / "opt").rglob("*"):
            if path.is_file() and path.parent.name != "bin":
                self.assertNotIn(str(self.base).encode(), path.read_bytes(), path)
        self.assertEqual([path for path in host.rglob("*.new")], [])
        links = {f"/etc/{path.relative_to(host / 'etc')}": os.readlink(path)
                 for path in (host / "etc").rglob("*") if path.is_symlink()}
        self.assertEqual(links, {f"/etc/{name}": f"/opt/dynolog/lib/{name}" for name in (
            "systemd/system/dynolog.service", "tmpfiles.d/dynolog.conf",
            "sysusers.d/dynolog.conf")})
        version = subprocess.run([host / "opt/dynolog/bin/dyno", "--version"], check=True)
        self.assertEqual(version.returncode, 0)

        answer = self.run_script("--remove", "--prefix", "/opt/dynolog", env={"DESTDIR": str(host)})
        self.assertEqual(answer.returncode, 0, answer.stderr)
        self.assertEqual([path for path in (host / "opt").rglob("*") if path.is_file()], [])
        self.assertEqual([path for path in (host / "etc").rglob("*") if path.is_symlink()], [])
        self.assertTrue((host / "etc/dynolog/dynolog.toml").exists())

    @unittest.skipUnless(may_mount() and shutil.which("systemd-tmpfiles") and
                         shutil.which("systemd-sysusers") and shutil.which("systemctl"),
                         "needs root that may mount, and systemd's programs")
    def test_onto_a_host_with_systemd(self):
        for prefix in ("/usr/local", "/opt/dynolog", "/opt/dynolog/"):
            answer = subprocess.run(
                ["unshare", "--mount", SOURCE / "tests/packaging/host_with_systemd.sh",
                 self.base / "unpacked", prefix], capture_output=True, text=True)
            self.assertEqual((answer.returncode, answer.stdout.splitlines()[-1:]),
                             (0, ["all passed"]), answer.stdout + answer.stderr)

    def test_into_a_home(self):
        home = self.base / "home"
        home.mkdir()
        identity = {}
        if os.geteuid() == 0:
            os.chown(home, 20001, 20001)
            identity = {"user": 20001, "group": 20001, "extra_groups": []}
        answer = self.run_script(env={"HOME": str(home)}, **identity)
        self.assertEqual((answer.returncode, answer.stderr), (0, ""))
        self.assertIn(f"{home}/.local/bin is not in PATH", answer.stdout)
        found = {str(path.relative_to(home / ".local")) for path in home.rglob("*")
                 if path.is_file()}
        self.assertLessEqual({"bin/dyno", "bin/dynolog", "share/man/man8/dynolog.8",
                              "share/dynolog/libkineto.conf"}, found)
        self.assertFalse([name for name in found if name.startswith(("lib/", "etc/"))])

    def test_wrong_options(self):
        for arguments in (["--prefix"], ["--prefix", "relative"], ["--what"]):
            self.assertEqual(self.run_script(*arguments, env={"HOME": "/nowhere"}).returncode, 1)


if __name__ == "__main__":
    unittest.main()
