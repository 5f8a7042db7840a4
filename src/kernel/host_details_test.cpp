// Parsers of what a host is made of: interrupts, CPUs, distribution, clock, processes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/timex.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "kernel/cpu_list.h"
#include "kernel/cpuinfo.h"
#include "kernel/interrupts.h"
#include "kernel/os_release.h"
#include "kernel/proc_net_arp.h"
#include "kernel/process_census.h"
#include "kernel/timex.h"

namespace dynolog {
namespace {

using testing::ElementsAre;

TEST(Interrupts, ReadsNumbersAndWords) {
  std::string_view text =
      "           CPU0       CPU2       \n"
      "  24:          1          0  IO-APIC   5-edge      ACPI:Ged, other\n"
      " LOC:    3510716    3725657   Local timer interrupts\n"
      " ERR:          0\n"
      "no line\n";
  std::vector<std::uint32_t> cpus;
  ASSERT_TRUE(take_interrupt_cpus(text, cpus));
  EXPECT_THAT(cpus, ElementsAre(0, 2));
  InterruptLine line;
  ASSERT_TRUE(take_interrupt_line(text, line));
  EXPECT_EQ(line.type, "24");
  EXPECT_TRUE(line.is_numbered());
  EXPECT_EQ(take_count(line.rest), 1U);
  EXPECT_EQ(take_count(line.rest), 0U);
  InterruptWords words = describe_interrupt(line, line.rest);
  EXPECT_EQ(words.info, "IO-APIC");
  EXPECT_EQ(words.devices, "5-edge ACPI:Ged, other");
  ASSERT_TRUE(take_interrupt_line(text, line));
  EXPECT_EQ(line.type, "LOC");
  EXPECT_FALSE(line.is_numbered());
  EXPECT_EQ(describe_interrupt(line, "   Local timer interrupts").info, "Local timer interrupts");
  ASSERT_TRUE(take_interrupt_line(text, line));
  EXPECT_FALSE(take_interrupt_line(text, line));
}

TEST(Interrupts, RefusesAHeadingThatIsNone) {
  std::vector<std::uint32_t> cpus;
  for (std::string_view text : {"", "\n", "CPUx\n", "24: 1 2\n"}) {
    EXPECT_FALSE(take_interrupt_cpus(text, cpus)) << text;
  }
}

TEST(CpuList, ReadsRanges) {
  const auto numbers = [](std::string_view list) {
    std::vector<std::uint32_t> found;
    for_each_in_cpu_list(list, [&](std::uint32_t cpu) { found.push_back(cpu); });
    return found;
  };
  EXPECT_THAT(numbers("0-2,8,10-11\n"), ElementsAre(0, 1, 2, 8, 10, 11));
  EXPECT_THAT(numbers("5\n"), ElementsAre(5));
  EXPECT_THAT(numbers("x,3-,-4,7-6,2"), ElementsAre(2));
  EXPECT_TRUE(numbers("\n").empty());
  EXPECT_EQ(numbers("0-4294967295").size(), 16384U) << "a limit";
}

TEST(Cpuinfo, ReadsParagraphs) {
  std::vector<std::string> seen;
  for_each_cpuinfo(
      "processor\t: 0\nvendor_id\t: GenuineIntel\nmodel name\t: A CPU @ 2.0: fast\n"
      "physical id\t: 1\ncore id\t\t: 4\ncache size\t: 512 KB\n\n"
      "processor\t: 7\ncpu family\t: 25\n\nHardware\t: board\n",
      [&](const CpuinfoEntry& cpu) {
        seen.push_back(std::string(cpu.cpu) + "|" + std::string(cpu.vendor) + "|" +
                       std::string(cpu.model_name) + "|" + std::string(cpu.package) + "|" +
                       std::string(cpu.core) + "|" + std::string(cpu.cache_size) + "|" +
                       std::string(cpu.family));
      });
  EXPECT_THAT(seen, ElementsAre("0|GenuineIntel|A CPU @ 2.0: fast|1|4|512 KB|", "7||||||25"));
}

TEST(OsRelease, ReadsValues) {
  constexpr std::string_view kText =
      "PRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\nID=debian\nVERSION_ID='12'\n"
      "NAME=\"a \\\"b\\\"\"\n# ID=x\n";
  EXPECT_EQ(os_release_value(kText, "PRETTY_NAME"), "Debian GNU/Linux 12 (bookworm)");
  EXPECT_EQ(os_release_value(kText, "ID"), "debian");
  EXPECT_EQ(os_release_value(kText, "VERSION_ID"), "12");
  EXPECT_EQ(os_release_value(kText, "NAME"), "a \"b\"");
  EXPECT_EQ(os_release_value(kText, "VERSION"), "");
}

TEST(OsRelease, VersionsAsNumbers) {
  EXPECT_EQ(os_version_number("12"), 12);
  EXPECT_EQ(os_version_number("22.04"), 22.04);
  EXPECT_EQ(os_version_number("9.4.1"), 9.4);
  EXPECT_EQ(os_version_number("7."), 7);
  EXPECT_EQ(os_version_number("rolling"), std::nullopt);
  EXPECT_EQ(os_version_number(""), std::nullopt);
}

TEST(Timex, ConvertsUnits) {
  ::timex raw{};
  raw.status = STA_NANO | STA_PLL;
  raw.offset = -2'000'000;
  raw.freq = 65536 * 100;  // 100 ppm
  raw.maxerror = 16'000'000;
  raw.tick = 10'000;
  raw.tai = 37;
  const Timex nano = timex_of(raw, TIME_OK);
  EXPECT_TRUE(nano.is_synchronised);
  EXPECT_DOUBLE_EQ(nano.offset_s, -0.002);
  EXPECT_DOUBLE_EQ(nano.frequency_ratio, 1.0001);
  EXPECT_DOUBLE_EQ(nano.max_error_s, 16);
  EXPECT_DOUBLE_EQ(nano.tick_s, 0.01);
  EXPECT_EQ(nano.tai_offset_s, 37);
  raw.status = STA_UNSYNC;
  const Timex micro = timex_of(raw, TIME_ERROR);
  EXPECT_FALSE(micro.is_synchronised);
  EXPECT_DOUBLE_EQ(micro.offset_s, -2);
}

TEST(ProcessCensus, ReadsTheBeginningOfStat) {
  const auto brief = parse_process_brief(
      "42 (a) b (S 7) D 1 42 42 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 17 0 100 200\n");
  ASSERT_TRUE(brief);
  EXPECT_EQ(brief->state, 'D');
  EXPECT_EQ(brief->threads, 17U);
  for (const char* text :
       {"", "1 (a", "1 (a) S 1 2", "1 (a) SS 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17"}) {
    EXPECT_FALSE(parse_process_brief(text)) << text;
  }
}

TEST(ProcessCensus, CountsThisHosts) {
  CensusTaker taker("/proc");
  const auto census = taker.take();
  ASSERT_TRUE(census);
  EXPECT_GE(census->processes, 1U);
  EXPECT_GE(census->threads, census->processes);
  EXPECT_GE(census->by_state['R'], 1U) << "this one";
  EXPECT_FALSE(CensusTaker("/nowhere").take());
}

TEST(Arp, NamesDevices) {
  std::vector<std::string> devices;
  for_each_arp_entry("heading\n192.0.2.1 0x1 0x2 02:fc:00:00:00:05 * eth0\nshort 0x1\n",
                     [&](std::string_view device) { devices.emplace_back(device); });
  EXPECT_THAT(devices, ElementsAre("eth0"));
}

}  // namespace
}  // namespace dynolog
