// Collectors of sensors, power, memory errors and drives, on the recorded two-socket host and on
// trees in which devices come and go.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "collectors/bonding.h"
#include "collectors/collector_fixture.h"
#include "collectors/edac.h"
#include "collectors/hwmon.h"
#include "collectors/mdadm.h"
#include "collectors/nvme.h"
#include "collectors/power_supply.h"
#include "collectors/rapl.h"
#include "collectors/selinux.h"
#include "collectors/thermal.h"
#include "collectors/udp_queues.h"
#include "testing/without_capabilities.h"

namespace dynolog {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Key;
using testing::Not;
using testing::Pair;

constexpr const char* kHost = "numa-192cpu";

class HwmonCollectorTest : public testing::Test {
 protected:
  // A chip of a device, as sysfs has it: the class links to the chip, the chip to its device.
  void add(const std::string& entry, const std::string& device, std::string_view name) const {
    const std::string at = "sys/devices/" + device + "/hwmon/" + entry;
    tree_.put(at + "/name", name);
    const std::filesystem::path top = std::filesystem::path(tree_.root().sys);
    std::filesystem::create_directories(top / "class/hwmon");
    std::filesystem::create_directory_symlink(top / "devices" / device / "hwmon" / entry,
                                              top / "class/hwmon" / entry);
    std::filesystem::create_directory_symlink(
        top / "devices" / device, top / "devices" / device / "hwmon" / entry / "device");
  }
  void put(const std::string& entry, const std::string& file, std::string_view text) const {
    tree_.put("sys/class/hwmon/" + entry + "/" + file, text);
  }
  void drop(const std::string& entry, const std::string& device) const {
    tree_.remove("sys/class/hwmon/" + entry);
    tree_.remove("sys/devices/" + device);
  }
  ProcTree tree_;
};

TEST(HwmonCollector, ReadsARecordedHost) {
  Ticks ticks(make_hwmon_collector(recorded_host(kHost)));
  const auto values = ticks.tick();
  ASSERT_TRUE(ticks.status());
  EXPECT_EQ(values.at("hwmon.temperature platform_coretemp_0 temp1"), 61);
  EXPECT_EQ(values.at("hwmon.sensor_label platform_coretemp_1 temp1 Package id 1"), 1);
  EXPECT_EQ(values.at("hwmon.temperature.element nvme_nvme2 temp1 max"), 81.85);
  EXPECT_EQ(values.at("hwmon.chip_name nvme_nvme2 nvme"), 1);
  EXPECT_EQ(values.at("hwmon.fan platform_nct6775_2592 fan1"), 5437);
  EXPECT_EQ(values.at("hwmon.voltage platform_nct6775_2592 in0 in"), 0.888);
  EXPECT_EQ(values.at("hwmon.value.element platform_nct6775_2592 fan2 fan fault"), 1);
  EXPECT_EQ(values.at("hwmon.power.element lnxsybus:00_acpi000d:00 power1 average"), 5120);
}

TEST_F(HwmonCollectorTest, ASensorThatCannotBeReadIsAbsentAndComesBack) {
  add("hwmon0", "platform/board.0", "board\n");
  put("hwmon0", "temp1_input", "41000\n");
  put("hwmon0", "temp2_input", "");  // as a sensor that answers ENODATA: no number
  put("hwmon0", "temp1_crit", "never\n");
  Ticks ticks(make_hwmon_collector(tree_.root()));
  EXPECT_THAT(ticks.tick(), ElementsAre(Pair("hwmon.chip_name platform_board_0 board", 1),
                                        Pair("hwmon.temperature platform_board_0 temp1", 41)));
  put("hwmon0", "temp2_input", "-5000\n");
  EXPECT_EQ(ticks.tick().at("hwmon.temperature platform_board_0 temp2"), -5);
  tree_.remove("sys/class/hwmon/hwmon0/temp1_input");
  EXPECT_THAT(ticks.tick(), Not(Contains(Key("hwmon.temperature platform_board_0 temp1"))));
}

TEST_F(HwmonCollectorTest, ChipsOfOneNameAndOfOneDevice) {
  add("hwmon0", "pci/0000:01:00.0", "mlx5\n");
  add("hwmon1", "pci/0000:02:00.0", "mlx5\n");
  add("hwmon2", "pci/0000:02:00.0", "other\n");
  for (const char* entry : {"hwmon0", "hwmon1", "hwmon2"}) put(entry, "temp1_input", "50000\n");
  Ticks ticks(make_hwmon_collector(tree_.root()));
  const auto values = ticks.tick();
  EXPECT_THAT(values, Contains(Key("hwmon.temperature pci_0000:01:00_0 temp1")));
  std::size_t of_second = 0;
  for (const auto& [key, value] : values) {
    if (key.starts_with("hwmon.temperature pci_0000:02:00_0")) ++of_second;
  }
  EXPECT_EQ(of_second, 2U);
}

TEST_F(HwmonCollectorTest, AnotherChipTakesTheNumber) {
  add("hwmon0", "platform/old.0", "old\n");
  put("hwmon0", "temp1_input", "41000\n");
  Ticks ticks(make_hwmon_collector(tree_.root()));
  ticks.tick();
  // sysfs gives no inode twice, other file systems do: so the old one's is not free yet.
  tree_.remove("sys/class/hwmon/hwmon0");
  add("hwmon0", "platform/new.0", "new\n");
  put("hwmon0", "fan1_input", "900\n");
  EXPECT_THAT(ticks.tick(), ElementsAre(Pair("hwmon.chip_name platform_new_0 new", 1),
                                        Pair("hwmon.fan platform_new_0 fan1", 900)));
  drop("hwmon0", "platform/new.0");
  EXPECT_TRUE(ticks.tick().empty());
  ASSERT_FALSE(ticks.status());
  EXPECT_EQ(ticks.status().error().kind, ErrorKind::unavailable);
}

TEST(HwmonCollector, ADirectoryThatIsMadeAnewIsFound) {
  const ProcTree tree;
  tree.put("sys/class/hwmon/hwmon0/name", "first\n");
  Ticks ticks(make_hwmon_collector(tree.root()));
  EXPECT_EQ(ticks.tick().size(), 1U);
  tree.remove("sys/class/hwmon");
  EXPECT_TRUE(ticks.tick().empty());
  EXPECT_TRUE(ticks.tick().empty());
  tree.put("sys/class/hwmon/hwmon0/name", "second\n");
  EXPECT_THAT(ticks.tick(), ElementsAre(Key("hwmon.chip_name second second")));
}

TEST(ThermalCollector, ZonesAndWhatCools) {
  const ProcTree tree;
  tree.put("sys/class/thermal/thermal_zone0/type", "x86_pkg_temp\n");
  tree.put("sys/class/thermal/thermal_zone0/temp", "61500\n");
  tree.put("sys/class/thermal/thermal_zone1/type", "acpitz\n");
  tree.put("sys/class/thermal/thermal_zone1/temp", "");  // EAGAIN, ENODATA
  tree.put("sys/class/thermal/cooling_device7/type", "Processor\n");
  tree.put("sys/class/thermal/cooling_device7/cur_state", "-1\n");
  tree.put("sys/class/thermal/cooling_device7/max_state", "10\n");
  Ticks ticks(make_thermal_collector(tree.root()));
  EXPECT_THAT(ticks.tick(), ElementsAre(Pair("thermal.cooling_most 7 Processor", 10),
                                        Pair("thermal.cooling_state 7 Processor", -1),
                                        Pair("thermal.temperature 0 x86_pkg_temp", 61.5)));
}

TEST(PowerSupplyCollector, ReadsARecordedHost) {
  Ticks ticks(make_power_supply_collector(recorded_host(kHost)));
  const auto values = ticks.tick();
  ASSERT_TRUE(ticks.status());
  EXPECT_EQ(values.at("power_supply.value AC online"), 1);
  EXPECT_EQ(values.at("power_supply.value BBU 0 power_watt"), 4.83);
  EXPECT_EQ(values.at("power_supply.temperature BBU 0 temp"), 31.2);
  EXPECT_EQ(values.at("power_supply.time BBU 0 time_to_empty"), 3600);
  EXPECT_THAT(values, Contains(Key(HasSubstr("power_supply.info BBU 0 Normal"))));
}

TEST(PowerSupplyCollector, ABatteryThatDischargesIsAnotherInfo) {
  const ProcTree tree;
  tree.put("sys/class/power_supply/BAT0/type", "Battery\n");
  tree.put("sys/class/power_supply/BAT0/status", "Full\n");
  Ticks ticks(make_power_supply_collector(tree.root()));
  EXPECT_THAT(ticks.tick(), ElementsAre(Key(HasSubstr("Full"))));
  tree.put("sys/class/power_supply/BAT0/status", "Discharging\n");
  EXPECT_THAT(ticks.tick(), ElementsAre(Key(HasSubstr("Discharging"))));
}

TEST(EdacCollector, ReadsARecordedHost) {
  Ticks ticks(make_edac_collector(recorded_host(kHost)));
  const auto values = ticks.tick();
  ASSERT_TRUE(ticks.status());
  EXPECT_EQ(values.at("edac.corrected 1"), 3);
  EXPECT_EQ(values.at("edac.uncorrected 1"), 0);
  EXPECT_EQ(values.at("edac.row.corrected 1 0"), 2);
  EXPECT_EQ(values.at("edac.row.corrected 1 unknown"), 1);
  EXPECT_EQ(values.at("edac.module.corrected 1 0 CPU_SrcID#0_MC#1_Chan#0_DIMM#0"), 2);
}

TEST(EdacCollector, WithoutADriverItIsNotAvailable) {
  const ProcTree tree;
  tree.put("sys/devices/system/edac/mc/power/control", "auto\n");
  Ticks ticks(make_edac_collector(tree.root()));
  EXPECT_TRUE(ticks.tick().empty());
  ASSERT_FALSE(ticks.status());
  EXPECT_EQ(ticks.status().error().kind, ErrorKind::unavailable);
}

class RaplCollectorTest : public testing::Test {
 protected:
  void zone(const std::string& entry, std::string_view name, std::string_view energy) const {
    const std::string at = "sys/class/powercap/" + entry + "/";
    tree_.put(at + "name", name);
    tree_.put(at + "max_energy_range_uj", "1000000\n");
    tree_.put(at + "energy_uj", energy);
  }
  ProcTree tree_;
};

TEST(RaplCollector, ReadsARecordedHost) {
  Ticks ticks(make_rapl_collector(recorded_host(kHost)));
  const auto values = ticks.tick();
  ASSERT_TRUE(ticks.status());
  EXPECT_EQ(values.size(), 4U);
  EXPECT_EQ(values.at("rapl.energy package 1 /sys/class/powercap/intel-rapl:1"), 118821.285256);
  EXPECT_EQ(values.at("rapl.energy dram 0 /sys/class/powercap/intel-rapl:0:0"), 42000);
  EXPECT_EQ(values.at("rapl.energy dram 1 /sys/class/powercap/intel-rapl:1:0"), 42000.000001);
}

TEST_F(RaplCollectorTest, GoesOnWhereTheKernelsCounterBeginsAnew) {
  zone("intel-rapl:0", "package-0\n", "900000\n");
  Ticks ticks(make_rapl_collector(tree_.root()));
  const std::string key = "rapl.energy package 0 /sys/class/powercap/intel-rapl:0";
  EXPECT_EQ(ticks.tick().at(key), 0.9);
  zone("intel-rapl:0", "package-0\n", "100000\n");
  EXPECT_DOUBLE_EQ(ticks.tick().at(key), 1.1);
  zone("intel-rapl:0", "package-0\n", "50000\n");
  EXPECT_DOUBLE_EQ(ticks.tick().at(key), 2.05);
}

TEST_F(RaplCollectorTest, ZonesComeAndGo) {
  zone("intel-rapl:1:0", "dram\n", "7000000\n");
  Ticks ticks(make_rapl_collector(tree_.root()));
  EXPECT_THAT(ticks.tick(),
              ElementsAre(Pair("rapl.energy dram 0 /sys/class/powercap/intel-rapl:1:0", 7)));
  zone("intel-rapl:0:0", "dram\n", "3000000\n");
  EXPECT_THAT(ticks.tick(),
              ElementsAre(Pair("rapl.energy dram 0 /sys/class/powercap/intel-rapl:0:0", 3),
                          Pair("rapl.energy dram 1 /sys/class/powercap/intel-rapl:1:0", 7)));
  tree_.remove("sys/class/powercap");
  EXPECT_TRUE(ticks.tick().empty());
  EXPECT_FALSE(ticks.status());
}

TEST_F(RaplCollectorTest, ReadableByRootOnlyIsOneClearLine) {
  zone("intel-rapl:0", "package-0\n", "900000\n");
  std::filesystem::permissions(tree_.root().sys + "/class/powercap/intel-rapl:0/energy_uj",
                               std::filesystem::perms::none);
  const WithoutCapabilities nobody;
  Ticks ticks(make_rapl_collector(tree_.root()));
  EXPECT_TRUE(ticks.tick().empty());
  ASSERT_FALSE(ticks.status());
  EXPECT_EQ(ticks.status().error().kind, ErrorKind::denied);
  EXPECT_THAT(ticks.status().error().message, HasSubstr("root only"));
}

TEST(NvmeCollector, ADriveThatDiesIsAnotherInfo) {
  const ProcTree tree;
  const auto put = [&](std::string_view state) {
    tree.put("sys/class/nvme/nvme0/model", "SAMPLE NVME 3.84TB                      \n");
    tree.put("sys/class/nvme/nvme0/serial", "S1\n");
    tree.put("sys/class/nvme/nvme0/firmware_rev", "F1\n");
    tree.put("sys/class/nvme/nvme0/state", state);
  };
  put("live\n");
  Ticks ticks(make_nvme_collector(tree.root()));
  EXPECT_THAT(ticks.tick(), ElementsAre(Pair("nvme.info nvme0 F1 SAMPLE NVME 3.84TB S1 live", 1),
                                        Pair("nvme.live nvme0", 1)));
  put("dead\n");
  EXPECT_THAT(ticks.tick(), ElementsAre(Pair("nvme.info nvme0 F1 SAMPLE NVME 3.84TB S1 dead", 1),
                                        Pair("nvme.live nvme0", 0)));
  tree.remove("sys/class/nvme/nvme0");
  EXPECT_TRUE(ticks.tick().empty());
}

TEST(MdadmCollector, ArraysComeAndGo) {
  const ProcTree tree;
  tree.write("mdstat", "md0 : active raid1 a[1](F) b[0]\n      64 blocks [2/1] [U_]\n");
  Ticks ticks(make_mdadm_collector(tree.root()));
  const auto values = ticks.tick();
  EXPECT_EQ(values.size(), 5U + 3 + 3);
  EXPECT_EQ(values.at("md.state md0 active"), 1);
  EXPECT_EQ(values.at("md.state md0 recovering"), 0);
  EXPECT_EQ(values.at("md.disks md0 active"), 1);
  EXPECT_EQ(values.at("md.disks md0 failed"), 1);
  EXPECT_EQ(values.at("md.disks_required md0"), 2);
  EXPECT_EQ(values.at("md.blocks md0"), 64);
  tree.write("mdstat", "Personalities : [raid1]\nunused devices: <none>\n");
  EXPECT_TRUE(ticks.tick().empty());
  EXPECT_TRUE(ticks.status());
  tree.remove("proc/mdstat");
}

TEST(BondingCollector, CountsTheInterfacesThatWork) {
  Ticks recorded(make_bonding_collector(recorded_host(kHost)));
  EXPECT_THAT(recorded.tick(),
              ElementsAre(Pair("bonding.active bond0", 1), Pair("bonding.slaves bond0", 2)));
  const ProcTree tree;
  tree.put("sys/class/net/bonding_masters", "bond0 gone\n");
  tree.put("sys/class/net/bond0/bonding/slaves", "\n");
  Ticks ticks(make_bonding_collector(tree.root()));
  EXPECT_THAT(ticks.tick(),
              ElementsAre(Pair("bonding.active bond0", 0), Pair("bonding.slaves bond0", 0)));
  tree.remove("sys/class/net/bonding_masters");
  EXPECT_TRUE(ticks.tick().empty());
  ASSERT_FALSE(ticks.status());
  EXPECT_EQ(ticks.status().error().kind, ErrorKind::not_found);
}

TEST(UdpQueuesCollector, WorksWithoutIpv6) {
  const ProcTree tree;
  tree.write("net/udp", "heading\n 0: 1:1 0:0 07 00000015:00000002 00:0 0 0\n");
  Ticks ticks(make_udp_queues_collector(tree.root()));
  EXPECT_THAT(ticks.tick(), ElementsAre(Pair("udp.queued rx v4", 2), Pair("udp.queued tx v4", 21)));
  tree.remove("proc/net");
}

TEST(SelinuxCollector, ModesOnlyWhereItIsOn) {
  Ticks recorded(make_selinux_collector(recorded_host(kHost)));
  EXPECT_THAT(recorded.tick(),
              ElementsAre(Pair("selinux.config_mode", 1), Pair("selinux.current_mode", 0),
                          Pair("selinux.enabled", 1)));
  const ProcTree tree;
  Ticks off(make_selinux_collector(tree.root()));
  EXPECT_THAT(off.tick(), ElementsAre(Pair("selinux.enabled", 0)));
}

}  // namespace
}  // namespace dynolog
