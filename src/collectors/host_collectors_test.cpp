// Collectors of memory, disks and pressure, on recorded and on written trees.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>

#include "collectors/collector_fixture.h"
#include "collectors/cpu_hardware.h"
#include "collectors/diskstats.h"
#include "collectors/host_info.h"
#include "collectors/interrupts.h"
#include "collectors/kernel_values.h"
#include "collectors/known_entries.h"
#include "collectors/meminfo.h"
#include "collectors/meminfo_numa.h"
#include "collectors/pressure.h"
#include "collectors/processes.h"
#include "collectors/schedstat.h"
#include "collectors/time.h"
#include "collectors/timex.h"
#include "collectors/vmstat.h"

namespace dynolog {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::Key;
using testing::Not;
using testing::Pair;

TEST(MeminfoCollector, ReadsARecordedHost) {
  Ticks ticks(make_meminfo_collector(recorded_host()));
  const auto values = ticks.tick();
  ASSERT_TRUE(ticks.status());
  EXPECT_THAT(values, Contains(Key("memory.field Active_anon")));
  EXPECT_THAT(values, Contains(Key("memory.pages HugePages_Total")));
  EXPECT_EQ(values.at("memory.field MemTotal"), values.at("memory.limit"));
  EXPECT_EQ(values.at("memory.usage used") + values.at("memory.usage free") +
                values.at("memory.usage buffers") + values.at("memory.usage cached"),
            values.at("memory.limit"));
}

TEST(MeminfoCollector, FieldsComeAndGo) {
  const ProcTree tree;
  tree.write("meminfo", "MemTotal: 100 kB\nMemFree: 40 kB\nZswap: 3 kB\n");
  Ticks ticks(make_meminfo_collector(tree.root()));
  auto values = ticks.tick();
  EXPECT_EQ(values.at("memory.field Zswap"), 3072);
  EXPECT_EQ(values.at("memory.usage free"), 40960);
  EXPECT_FALSE(values.contains("memory.usage used")) << "not known without all of its parts";
  EXPECT_FALSE(values.contains("memory.available")) << "absent, not 0";
  tree.write("meminfo", "MemTotal: 100 kB\nNew: 1 kB\nMemFree: x kB\n");
  values = ticks.tick();
  EXPECT_FALSE(values.contains("memory.field Zswap"));
  EXPECT_EQ(values.at("memory.field New"), 1024);
  EXPECT_FALSE(values.contains("memory.field MemFree"));
  const auto& absences = ticks.writer().absences(0);
  EXPECT_EQ(absences[static_cast<std::size_t>(AbsentReason::malformed)], 1U);
}

TEST(VmstatCollector, TellsOfProcessesThatWereKilledForWantOfMemory) {
  const ProcTree tree;
  tree.write("vmstat", "oom_kill 7\n");
  Ticks ticks(must(make_vmstat_collector(tree.root(), {.fields = "^pgfault$"})));
  ticks.tick();
  EXPECT_TRUE(ticks.events().empty()) << "those before the start are no news";
  tree.write("vmstat", "oom_kill 9\n");
  ticks.tick();
  ASSERT_EQ(ticks.events().size(), 1U) << "whatever fields are wanted";
  EXPECT_EQ(ticks.events()[0].kind, "host.oom_kill");
  EXPECT_EQ(ticks.events()[0].subject, "host");
  EXPECT_EQ(ticks.events()[0].text, "the kernel killed 2 processes for want of memory");
  ticks.tick();
  EXPECT_TRUE(ticks.events().empty());
}

TEST(VmstatCollector, TakesTheFieldsOfTheOption) {
  const ProcTree tree;
  tree.write("vmstat", "nr_dirty 5\npgfault 10\npgmajfault 1\noom_kill 0\nnr_mlock 6\n");
  Ticks defaults(must(make_vmstat_collector(tree.root(), {})));
  EXPECT_THAT(defaults.tick(),
              testing::UnorderedElementsAre(testing::Pair("vmstat.event pgfault", 10),
                                            testing::Pair("vmstat.event pgmajfault", 1),
                                            testing::Pair("vmstat.event oom_kill", 0)));
  Ticks pages(must(make_vmstat_collector(tree.root(), {.fields = "^nr_dirty$"})));
  EXPECT_THAT(pages.tick(), testing::ElementsAre(testing::Pair("vmstat.pages dirty", 5)));
  const auto bad = make_vmstat_collector(tree.root(), {.fields = "("});
  ASSERT_FALSE(bad);
  EXPECT_THAT(bad.error().message, testing::HasSubstr("vmstat_fields"));
}

TEST(PressureCollector, TakesTheFilesThatTheKernelHas) {
  const ProcTree tree;
  tree.write("pressure/cpu", "some avg10=0.00 avg60=0.00 avg300=0.00 total=2500000\n");
  tree.write("pressure/irq", "full avg10=0.00 avg60=0.00 avg300=0.00 total=7\n");
  Ticks ticks(make_pressure_collector(tree.root()));
  EXPECT_THAT(ticks.tick(), testing::ElementsAre(testing::Pair("pressure.cpu.waiting", 2.5),
                                                 testing::Pair("pressure.irq.stalled", 7e-6)));
  EXPECT_TRUE(ticks.status());
}

TEST(PressureCollector, AKernelWithoutIsNotAvailable) {
  const ProcTree tree;
  Ticks ticks(make_pressure_collector(tree.root()));
  EXPECT_TRUE(ticks.tick().empty());
  ASSERT_FALSE(ticks.status());
  EXPECT_EQ(ticks.status().error().kind, ErrorKind::not_found);
  EXPECT_THAT(ticks.status().error().message, testing::HasSubstr("psi=1"));
}

TEST(DiskstatsCollector, ConvertsUnitsAndSaysWhatADeviceIs) {
  const ProcTree tree;
  tree.write("diskstats",
             "   8       0 sda 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17\n"
             "   8       1 sda1 1 2 3 4 5 6 7 8 9 10 11\n"
             " 253       0 dm-0 1 2 3 4 5 6 7 8 9 10 11\n");
  tree.put("sys/class/block/sda/device/model", "x");
  tree.put("sys/class/block/dm-0/dev", "253:0");
  tree.put("run/udev/data/b8:0",
           "E:ID_MODEL=Fast\\x20Disk\nE:ID_SERIAL_SHORT=S1\nE:ID_PATH=pci-1\n");
  Ticks ticks(must(make_diskstats_collector(tree.root(), {})));
  const auto values = ticks.tick();
  EXPECT_EQ(values.at("disk.read_bytes sda"), 3 * 512);
  EXPECT_DOUBLE_EQ(values.at("disk.read_time sda"), 0.004);
  EXPECT_EQ(values.at("disk.in_flight sda"), 9);
  EXPECT_DOUBLE_EQ(values.at("disk.flush_time sda"), 0.017);
  EXPECT_FALSE(values.contains("disk.flushes dm-0")) << "columns that are not printed";
  EXPECT_FALSE(values.contains("disk.reads sda1")) << "a partition, by default left out";
  EXPECT_THAT(values, Contains(Key("disk.info sda 8 0 pci-1  Fast\\x20Disk S1 ")));
  EXPECT_THAT(values, Contains(Key("disk.info dm-0 253 0     ")));
  EXPECT_THAT(values, Contains(Key("disk.class sda physical")));
  EXPECT_THAT(values, Contains(Key("disk.class dm-0 virtual")));
}

TEST(DiskstatsCollector, DevicesComeGoAndAreRenamed) {
  const ProcTree tree;
  const std::string numbers = " 1 2 3 4 5 6 7 8 9 10 11\n";
  tree.write("diskstats", "8 0 sda" + numbers + "8 16 sdb" + numbers + "8 32 sdc" + numbers);
  Ticks ticks(must(make_diskstats_collector(tree.root(), {})));
  EXPECT_THAT(ticks.tick(), Contains(Key("disk.reads sda")));
  tree.write("diskstats", "8 32 sdc" + numbers + "8 16 sdd" + numbers);
  const auto values = ticks.tick();
  EXPECT_THAT(values, Not(Contains(Key("disk.reads sda"))));
  EXPECT_THAT(values, Not(Contains(Key("disk.info sdb 8 16     "))));
  EXPECT_THAT(values, Contains(Key("disk.reads sdc")));
  EXPECT_THAT(values, Contains(Key("disk.reads sdd")));
  EXPECT_TRUE(ticks.status());
}

TEST(KernelValuesCollectors, ReadNumbers) {
  const ProcTree tree;
  tree.write("sys/fs/file-nr", "2508\t0\t2466193\n");
  tree.write("sys/kernel/random/poolsize", "256\n");
  tree.write("sys/kernel/random/entropy_avail", "many\n");
  tree.write("sys/fs/aio-nr", "5\n");
  tree.write("sys/fs/aio-max-nr", "65536\n");
  Ticks files(make_filefd_collector(tree.root()));
  EXPECT_THAT(files.tick(), ElementsAre(Pair("files.limit", 2466193), Pair("files.open", 2508)));
  Ticks entropy(make_entropy_collector(tree.root()));
  EXPECT_THAT(entropy.tick(), ElementsAre(Pair("entropy.pool_size", 256)));
  EXPECT_EQ(entropy.writer().absences(0)[static_cast<std::size_t>(AbsentReason::malformed)], 1U);
  Ticks limits(make_limits_collector(tree.root()));
  EXPECT_THAT(limits.tick(), ElementsAre(Pair("kernel.in_use aio_requests", 5),
                                         Pair("kernel.limit aio_requests", 65536)));
  tree.remove("proc/sys");
  Ticks nothing(make_filefd_collector(tree.root()));
  nothing.tick();
  ASSERT_FALSE(nothing.status());
  EXPECT_EQ(nothing.status().error().kind, ErrorKind::not_found);
}

TEST(SchedstatCollector, SaysSeconds) {
  const ProcTree tree;
  tree.write("schedstat", "version 15\ncpu0 0 0 0 0 0 0 2500000000 500000000 7\ndomain0 1 2 3\n");
  Ticks ticks(make_schedstat_collector(tree.root()));
  EXPECT_THAT(ticks.tick(),
              ElementsAre(Pair("schedstat.running 0", 2.5), Pair("schedstat.timeslices 0", 7),
                          Pair("schedstat.waiting 0", 0.5)));
}

TEST(MeminfoNumaCollector, ReadsEachNode) {
  const ProcTree tree;
  const std::string nodes = "sys/devices/system/node/";
  tree.put(nodes + "node0/meminfo", "Node 0 MemFree:  2 kB\nNode 0 HugePages_Free:  3\n");
  tree.put(nodes + "node0/numastat", "numa_hit 5\nother_node 1\n");
  tree.put(nodes + "node12/meminfo", "Node 12 Active(file):  1 kB\n");
  tree.put(nodes + "online", "0,12\n");
  Ticks ticks(make_meminfo_numa_collector(tree.root()));
  EXPECT_THAT(ticks.tick(), ElementsAre(Pair("memory.numa.allocations 0 numa_hit", 5),
                                        Pair("memory.numa.allocations 0 other_node", 1),
                                        Pair("memory.numa.field 0 HugePages_Free", 3),
                                        Pair("memory.numa.field 0 MemFree", 2048),
                                        Pair("memory.numa.field 12 Active_file", 1024)));
  tree.remove(nodes + "node12");
  EXPECT_EQ(ticks.tick().size(), 4U);
}

constexpr std::string_view kInterrupts =
    "           CPU0       CPU1\n"
    "  24:          1          2  IO-APIC   5-edge  ACPI:Ged\n"
    "  25:         10          0  PCI-MSIX-0000:00:01.0   1-edge  virtio0-req.0\n"
    " LOC:        100        200   Local timer interrupts\n"
    " ERR:          4\n";

TEST(InterruptsCollector, SumsByKind) {
  const ProcTree tree;
  tree.write("interrupts", kInterrupts);
  Ticks ticks(make_interrupts_collector(tree.root(), {}));
  EXPECT_THAT(ticks.tick(),
              ElementsAre(Pair("interrupts.kind ERR", 4), Pair("interrupts.kind LOC", 300),
                          Pair("interrupts.kind device", 13)));
}

TEST(InterruptsCollector, EachOfEachCpuWhereAskedFor) {
  const ProcTree tree;
  tree.write("interrupts", kInterrupts);
  Ticks ticks(make_interrupts_collector(tree.root(), {.per_cpu = true}));
  auto values = ticks.tick();
  EXPECT_EQ(values.at("interrupts.per_cpu 1 24 IO-APIC 5-edge ACPI:Ged"), 2);
  EXPECT_EQ(values.at("interrupts.per_cpu 0 LOC Local timer interrupts "), 100);
  EXPECT_EQ(values.size(), 3U + 6);
  // CPU0 goes offline: its column goes, and CPU1's becomes the first.
  tree.write("interrupts", "           CPU1\n LOC:        201   Local timer interrupts\n");
  values = ticks.tick();
  EXPECT_THAT(values,
              ElementsAre(Pair("interrupts.kind LOC", 201), Pair("interrupts.kind device", 0),
                          Pair("interrupts.per_cpu 1 LOC Local timer interrupts ", 201)));
}

TEST(ProcessesCollector, CountsByState) {
  const ProcTree tree;
  const std::string tail = " 1 1 1 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 3 0 100 200\n";
  tree.write("1/stat", "1 (init) S" + tail);
  tree.write("42/stat", "42 (a (b) c) D" + tail);
  tree.write("sys/kernel/pid_max", "32768\n");
  tree.write("version", "no process\n");
  Ticks ticks(make_processes_collector(tree.root()));
  const auto values = ticks.tick();
  EXPECT_EQ(values.at("processes.count"), 2);
  EXPECT_EQ(values.at("processes.limit"), 32768);
  EXPECT_EQ(values.at("processes.state D"), 1);
  EXPECT_EQ(values.at("processes.state S"), 1);
  EXPECT_EQ(values.at("processes.state Z"), 0) << "news, too";
  EXPECT_THAT(values, Not(Contains(Key("processes.state X"))));
  EXPECT_EQ(values.at("processes.threads"), 6);
  tree.remove("proc/42");
  EXPECT_EQ(ticks.tick().at("processes.state D"), 0);
}

TEST(ProcessesCollector, AProcThatHidesOthersIsNotCounted) {
  const ProcTree tree;
  tree.write("42/stat", "42 (own) S 1 1 1 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 3 0 100 200\n");
  Ticks ticks(make_processes_collector(tree.root()));
  EXPECT_TRUE(ticks.tick().empty());
  ASSERT_FALSE(ticks.status());
  EXPECT_EQ(ticks.status().error().kind, ErrorKind::unavailable);
  EXPECT_THAT(ticks.status().error().message, testing::HasSubstr("hidepid"));
}

TEST(HostInfoCollectors, LabelsAreThoseOfTheHost) {
  const ProcTree tree;
  for (const auto& [file, text] : std::map<std::string, std::string>{{"domainname", "(none)"},
                                                                     {"arch", "x86_64"},
                                                                     {"hostname", "node1"},
                                                                     {"osrelease", "6.1.0"},
                                                                     {"ostype", "Linux"},
                                                                     {"version", "#1 SMP"}}) {
    tree.write("sys/kernel/" + file, text + "\n");
  }
  Ticks uname(make_uname_collector(tree.root()));
  EXPECT_THAT(uname.tick(),
              ElementsAre(Pair("host.uname (none) x86_64 node1 6.1.0 Linux #1 SMP", 1)));
  tree.write("sys/kernel/hostname", "node2\n");
  EXPECT_THAT(uname.tick(),
              ElementsAre(Pair("host.uname (none) x86_64 node2 6.1.0 Linux #1 SMP", 1)));
  tree.put("etc/os-release", "ID=ubuntu\nID_LIKE=debian\nNAME=\"Ubuntu\"\nVERSION_ID=\"22.04\"\n");
  Ticks os(make_os_collector(tree.root()));
  const auto values = os.tick();
  EXPECT_EQ(values.at("host.os_version ubuntu debian Ubuntu"), 22.04);
  EXPECT_THAT(values, Contains(Key("host.os  ubuntu debian   Ubuntu      22.04")));
  tree.put("sys/class/dmi/id/sys_vendor", "A Vendor\n");
  tree.put("sys/class/dmi/id/bios_date", "01/02/2026\n");
  Ticks dmi(make_dmi_collector(tree.root()));
  const auto machine = dmi.tick();
  ASSERT_EQ(machine.size(), 1U);
  EXPECT_TRUE(machine.begin()->first.starts_with("host.dmi 01/02/2026 "));
  EXPECT_TRUE(machine.begin()->first.ends_with(" A Vendor"));
}

TEST(HostInfoCollectors, WhatIsNotThereIsNotAvailable) {
  const ProcTree tree;
  for (const auto make : {make_uname_collector, make_os_collector, make_dmi_collector,
                          make_clocksource_collector, make_cpufreq_collector}) {
    tree.put("sys/devices/system/cpu/online", "0\n");
    Ticks ticks(make(tree.root()));
    EXPECT_TRUE(ticks.tick().empty());
    ASSERT_FALSE(ticks.status());
    EXPECT_EQ(ticks.status().error().kind, ErrorKind::unavailable);
  }
}

TEST(TimexCollector, SaysWhatTheKernelSays) {
  Ticks ticks(make_timex_collector([]() -> Result<Timex> {
    Timex timex;
    timex.is_synchronised = true;
    timex.max_error_s = 0.25;
    timex.tai_offset_s = 37;
    return timex;
  }));
  const auto values = ticks.tick();
  EXPECT_EQ(values.size(), kTimexMetrics.size());
  EXPECT_EQ(values.at("clock.synchronised"), 1);
  EXPECT_EQ(values.at("clock.max_error"), 0.25);
  EXPECT_EQ(values.at("clock.tai_offset"), 37);
  Ticks denied(make_timex_collector([] { return Result<Timex>(fail_errno(EPERM, "adjtimex")); }));
  EXPECT_TRUE(denied.tick().empty());
}

TEST(TimeCollector, IsTheTicksTime) {
  Ticks ticks(make_time_collector());
  EXPECT_EQ(ticks.tick().at("host.time"), 1);
  EXPECT_EQ(ticks.tick().at("host.time"), 2);
}

TEST(ClocksourceCollector, FollowsASwitch) {
  const ProcTree tree;
  const std::string at = "sys/devices/system/clocksource/clocksource0/";
  tree.put(at + "current_clocksource", "tsc\n");
  tree.put(at + "available_clocksource", "tsc hpet \n");
  Ticks ticks(make_clocksource_collector(tree.root()));
  EXPECT_THAT(ticks.tick(), ElementsAre(Pair("clocksource.available 0 hpet", 1),
                                        Pair("clocksource.available 0 tsc", 1),
                                        Pair("clocksource.current 0 tsc", 1)));
  tree.put(at + "current_clocksource", "hpet\n");
  const auto values = ticks.tick();
  EXPECT_THAT(values, Contains(Key("clocksource.current 0 hpet")));
  EXPECT_THAT(values, Not(Contains(Key("clocksource.current 0 tsc"))));
}

TEST(CpufreqCollector, DriversDifferInWhatTheyOffer) {
  const ProcTree tree;
  const std::string cpus = "sys/devices/system/cpu/";
  tree.put(cpus + "cpu0/cpufreq/scaling_cur_freq", "2500000\n");
  tree.put(cpus + "cpu0/cpufreq/cpuinfo_max_freq", "3500000\n");
  tree.put(cpus + "cpu1/cpufreq/scaling_cur_freq", "<unknown>\n");
  tree.put(cpus + "cpufreq/policy0/scaling_cur_freq", "1\n");
  tree.put(cpus + "cpu2/topology/core_id", "0\n");
  Ticks ticks(make_cpufreq_collector(tree.root()));
  EXPECT_THAT(ticks.tick(), ElementsAre(Pair("cpu.frequency 0", 2.5e9),
                                        Pair("cpu.frequency.hardware_highest 0", 3.5e9)));
  tree.put(cpus + "cpu2/cpufreq/scaling_cur_freq", "1000000\n");
  tree.remove(cpus + "cpu0");
  EXPECT_THAT(ticks.tick(), ElementsAre(Pair("cpu.frequency 2", 1e9)));
}

TEST(CpuinfoCollector, SaysWhereACpuSits) {
  const ProcTree tree;
  tree.write("cpuinfo",
             "processor\t: 0\nvendor_id\t: V\nmodel name\t: M\nphysical id\t: 1\ncore id\t: 2\n\n");
  const std::string cpus = "sys/devices/system/cpu/";
  for (const std::string cpu : {"cpu0", "cpu1"}) {
    tree.put(cpus + cpu + "/topology/physical_package_id", "1\n");
    tree.put(cpus + cpu + "/topology/core_id", "2\n");
    tree.put(cpus + cpu + "/topology/core_cpus_list", "0-1\n");
    tree.put(cpus + cpu + "/topology/package_cpus_list", "0-1\n");
    tree.put(cpus + cpu + "/thermal_throttle/core_throttle_count", "4\n");
    tree.put(cpus + cpu + "/thermal_throttle/package_throttle_count", "5\n");
    tree.put(cpus + cpu + "/node3/x", "");
  }
  Ticks ticks(make_cpuinfo_collector(tree.root()));
  EXPECT_THAT(ticks.tick(),
              ElementsAre(Pair("cpu.core_throttles 1 2", 4), Pair("cpu.info 1 2 0 V   M   ", 1),
                          Pair("cpu.online 0", 1), Pair("cpu.online 1", 1),
                          Pair("cpu.package_throttles 1", 5), Pair("cpu.topology 0 1 2 3", 1),
                          Pair("cpu.topology 1 1 2 3", 1)));
}

TEST(CpuinfoCollector, CpusGoOfflineAndAreIsolated) {
  const ProcTree tree;
  const std::string cpus = "sys/devices/system/cpu/";
  tree.put(cpus + "cpu0/topology/core_id", "0\n");
  tree.put(cpus + "cpu1/topology/core_id", "1\n");
  tree.put(cpus + "cpu1/online", "1\n");
  tree.put(cpus + "isolated", "\n");
  Ticks ticks(make_cpuinfo_collector(tree.root()));
  EXPECT_THAT(ticks.tick(), Contains(Key("cpu.topology 1  1 ")));
  tree.remove(cpus + "cpu1/topology");
  tree.put(cpus + "cpu1/online", "0\n");
  tree.put(cpus + "isolated", "4-5,7\n");
  EXPECT_THAT(ticks.tick(), ElementsAre(Pair("cpu.isolated 4", 1), Pair("cpu.isolated 5", 1),
                                        Pair("cpu.isolated 7", 1), Pair("cpu.online 0", 1),
                                        Pair("cpu.online 1", 0), Pair("cpu.topology 0  0 ", 1)));
}

TEST(KnownEntries, KeepsThePayloadOfWhatMoved) {
  KnownEntries<int> entries;
  int made = 0;
  const auto pass = [&](std::initializer_list<std::string_view> names) {
    std::vector<int> payloads;
    entries.begin();
    for (const auto name : names) payloads.push_back(*entries.next(name, [&] { return ++made; }));
    entries.finish([](int) {});
    return payloads;
  };
  EXPECT_THAT(pass({"a", "b", "c"}), testing::ElementsAre(1, 2, 3));
  EXPECT_THAT(pass({"c", "a", "d"}), testing::ElementsAre(3, 1, 4));
  EXPECT_THAT(pass({"b", "c"}), testing::ElementsAre(5, 3)) << "b was forgotten";
}

}  // namespace
}  // namespace dynolog
