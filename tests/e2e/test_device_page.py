"""The page of a recorded host's devices beside node_exporter's page of the same files: sensors,
power, memory errors, drives, RAID, InfiniBand. Ours is a golden that a unit test keeps fresh."""

import re

import pytest

from harness import page, places

HOST = places.REPOSITORY / "tests" / "fixtures" / "numa-192cpu"
GOLDEN = places.REPOSITORY / "tests" / "golden" / "numa-192cpu-devices.prom"

# node_exporter's collectors of these families, and what the number of their families is at least.
COLLECTORS = {"bonding": 2, "edac": 4, "hwmon": 30, "infiniband": 25, "mdadm": 5, "netclass": 19,
              "nvme": 1, "powersupplyclass": 12, "rapl": 2, "thermal_zone": 3, "udp_queues": 1}
ABOUT_IT = re.compile(r"^(go_|promhttp_|process_|node_exporter_build_info|node_scrape_collector_)")


@pytest.fixture(scope="module")
def theirs(tmp_path_factory):
    exporter = page.node_exporter(tmp_path_factory.mktemp("node_exporter"),
                                  f"--path.procfs={HOST}/proc", f"--path.sysfs={HOST}/sys")
    yield exporter
    exporter.close()


def normal(key):
    """Labels without those that are empty, which are none; paths as the host itself has them."""
    name, labels = key
    return name, frozenset((label, value.removeprefix(str(HOST))) for label, value in labels
                           if value)


def series_of(family):
    """But clocks, which this node_exporter does not know yet."""
    return {normal(key): value for key, value in family.series.items()
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
        expected, found = series_of(family), series_of(ours[name])
        if name == "node_network_speed_bytes":  # less than nothing: the speed is not known
            expected = {key: value for key, value in expected.items() if value >= 0}
        assert found.keys() == expected.keys(), name
        for key, value in expected.items():
            assert found[key] == pytest.approx(value, rel=1e-9, abs=1e-9), key
