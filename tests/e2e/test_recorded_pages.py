"""The page of a recorded host's devices beside node_exporter's page of the same files: sensors,
power, memory errors, drives, RAID, InfiniBand. Ours is a golden that a unit test keeps fresh."""

import re
import subprocess
import sys
import types

import pytest

from harness import page, places

MAKE_HOSTS = places.REPOSITORY / "tests" / "fixtures" / "make_hosts.py"
HOST = "numa-192cpu"
GOLDEN = places.REPOSITORY / "tests" / "golden" / "numa-192cpu-devices.prom"

# node_exporter's collectors of these families, and what the number of their families is at least.
COLLECTORS = {"bonding": 2, "edac": 4, "hwmon": 30, "infiniband": 25, "mdadm": 5, "netclass": 19,
              "nvme": 1, "powersupplyclass": 12, "rapl": 2, "thermal_zone": 3, "udp_queues": 1}
ABOUT_IT = re.compile(r"^(go_|promhttp_|process_|node_exporter_build_info|node_scrape_collector_)")


@pytest.fixture(scope="module")
def theirs(tmp_path_factory):
    directory = tmp_path_factory.mktemp("hosts")
    subprocess.run([sys.executable, "-B", MAKE_HOSTS, directory], check=True)
    host = directory / HOST
    exporter = page.node_exporter(tmp_path_factory.mktemp("node_exporter"),
                                  f"--path.procfs={host}/proc", f"--path.sysfs={host}/sys")
    yield types.SimpleNamespace(url=exporter.url, host=host)
    exporter.close()


def normal(key, host):
    """Labels without those that are empty, which are none; paths as the host itself has them."""
    name, labels = key
    return name, frozenset((label, value.removeprefix(str(host))) for label, value in labels
                           if value)


def series_of(family, host):
    """But clocks, which this node_exporter does not know yet."""
    return {normal(key, host): value for key, value in family.series.items()
            if not dict(key[1]).get("sensor", "").startswith("freq")}


@pytest.mark.parametrize("collector", COLLECTORS)
def test_each_family_has_the_same_series_and_values(theirs, collector):
    ours = page.parse_page(GOLDEN.read_text())
    families = {name: family for name, family in
                page.page_of(f"{theirs.url}/metrics?collect[]={collector}").items()
                if not ABOUT_IT.match(name)}
    assert len(families) >= COLLECTORS[collector]
    for name, family in families.items():
        assert name in ours, name
        assert ours[name].type == family.type, name
        expected, found = series_of(family, theirs.host), series_of(ours[name], theirs.host)
        if name == "node_network_speed_bytes":  # less than nothing: the speed is not known
            expected = {key: value for key, value in expected.items() if value >= 0}
        assert found.keys() == expected.keys(), name
        for key, value in expected.items():
            assert found[key] == pytest.approx(value, rel=1e-9, abs=1e-9), key
