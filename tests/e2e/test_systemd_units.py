"""States of systemd's units on the page: over a real bus, with a systemd of the tests' own."""

import os
import subprocess

import pytest

from harness import page, places
from harness.daemon import Daemon
from harness.waiting import until

CONFIGURATION = """<busconfig>
  <type>system</type>
  <listen>unix:path={path}</listen>
  <policy context="default">
    <allow send_destination="*"/><allow receive_sender="*"/><allow own="*"/><allow user="*"/>
  </policy>
</busconfig>
"""
STATES = {"active", "activating", "deactivating", "inactive", "failed"}


class Bus:
    """A bus, and on it who answers for systemd what a file says."""

    def __init__(self, directory):
        self.path = f"{directory}/bus"
        self.units = f"{directory}/units"
        self.address = {"DBUS_SYSTEM_BUS_ADDRESS": f"unix:path={self.path}"}
        configuration = f"{directory}/bus.conf"
        with open(configuration, "w") as file:
            file.write(CONFIGURATION.format(path=self.path))
        self.say()
        self.bus = subprocess.Popen(["dbus-daemon", "--nofork", f"--config-file={configuration}"])
        until("the bus", lambda: os.path.exists(self.path))
        self.systemd = subprocess.Popen([places.test_program("fake-systemd"), self.units],
                                        env={**os.environ, **self.address},
                                        stdout=subprocess.PIPE, text=True)
        assert self.systemd.stdout.readline() == "ready\n"

    def say(self, **states):
        lines = [f"{name}.service loaded {state} notify" for name, state in states.items()]
        with open(self.units + ".new", "w") as file:
            file.write("\n".join([*lines, "data.mount loaded active -", ""]))
        os.rename(self.units + ".new", self.units)

    def close(self):
        for process in (self.systemd, self.bus):
            process.terminate()
            process.wait()
        self.systemd.stdout.close()


@pytest.fixture
def bus():
    directory = places.short_directory()
    made = Bus(directory)
    yield made
    made.close()
    places.remove(directory)


def daemon_asking_for(units, env):
    return Daemon("--noenable_ipc_monitor", "--no_tcp", "--prometheus_port=0",
                  f"--systemd_units={units}", "--collector_interval=systemd=1", env=env).start()


def states_of(daemon):
    """{(name, type): the states that are 1}, with all five states there."""
    family = page.page_of(page.page_url(daemon)).get("node_systemd_unit_state")
    units = {}
    for (_, key), value in (family.series.items() if family else ()):
        labels = dict(key)
        units.setdefault((labels["name"], labels.get("type", "")), {})[labels["state"]] = value
    assert all(found.keys() == STATES for found in units.values())
    return {unit: {state for state, value in found.items() if value == 1}
            for unit, found in units.items()}


def test_units_change_their_states(bus):
    bus.say(slurmd="active", munge="failed")
    daemon = daemon_asking_for("slurmd.service,munge.service,data.mount,typo.service", bus.address)
    try:
        until("the units", lambda: states_of(daemon) == {
            ("slurmd.service", "notify"): {"active"}, ("munge.service", "notify"): {"failed"},
            ("data.mount", ""): {"active"}})
        until("the problem", lambda: "typo.service is not-found" in daemon.log())
        bus.say(slurmd="reloading", munge="active")
        until("other states", lambda: states_of(daemon) == {
            ("slurmd.service", "notify"): set(), ("munge.service", "notify"): {"active"},
            ("data.mount", ""): {"active"}})
        bus.say(slurmd="active")
        until("that one is gone", lambda: ("munge.service", "notify") not in states_of(daemon))
        daemon.stop()
    finally:
        daemon.close()


def test_a_bus_that_hangs_holds_nothing_up(bus):
    bus.say(slurmd="active")
    daemon = daemon_asking_for("slurmd.service", bus.address)
    try:
        until("the unit", lambda: states_of(daemon))
        os.kill(bus.bus.pid, 19)  # SIGSTOP
        try:
            until("no states", lambda: not states_of(daemon))
            assert page.page_of(page.page_url(daemon))["node_load1"].series
        finally:
            os.kill(bus.bus.pid, 18)  # SIGCONT
        until("the unit again", lambda: states_of(daemon))
        daemon.stop()
    finally:
        daemon.close()


def test_without_a_bus_it_is_said_once():
    daemon = daemon_asking_for("slurmd.service",
                               {"DBUS_SYSTEM_BUS_ADDRESS": "unix:path=/nonexistent/bus"})
    try:
        until("the line", lambda: "the system bus" in daemon.log())
        stage = next(each for each in daemon.status()["collectors"] if each["name"] == "systemd")
        assert stage["unavailable"]
        assert daemon.log().count("the system bus") == 1
        daemon.stop()
    finally:
        daemon.close()
