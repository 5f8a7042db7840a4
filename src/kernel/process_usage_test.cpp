// What a process uses, as the kernel prints it.
#include "kernel/process_usage.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "base/file.h"

namespace dynolog {
namespace {

TEST(ProcessUsage, OfStat) {
  const auto usage = parse_process_usage(
      "42 (a) b (c) D 1 42 42 0 -1 4194560 100 0 7 0 1500 300 9 9 20 0 12 0 4711 8192 25 "
      "18446744073709551615 1 1 0 0 0 0 0 0 0 0 0 0 17 1 0 0 0 0 0\n");
  ASSERT_TRUE(usage);
  EXPECT_EQ(usage->state, 'D');
  EXPECT_EQ(usage->minor_faults, 100U);
  EXPECT_EQ(usage->major_faults, 7U);
  EXPECT_EQ(usage->user_ticks, 1500U);
  EXPECT_EQ(usage->system_ticks, 300U);
  EXPECT_EQ(usage->threads, 12U);
  EXPECT_EQ(usage->start_ticks, 4711U);
  EXPECT_EQ(usage->virtual_bytes, 8192U);
  EXPECT_EQ(usage->resident_pages, 25U);
  EXPECT_EQ(process_name("42 (a) b (c) D 1"), "a) b (c");
  for (const char* text : {"", "42", "42 (a", "42 (a) ", "42 (a) DD 1 2", "42 (a) D 1 2 3 x"}) {
    EXPECT_FALSE(parse_process_usage(text)) << text;
  }
  EXPECT_EQ(process_name(")("), "");
}

TEST(ProcessUsage, OfThisProcess) {
  const auto text = read_file("/proc/self/stat", 4096);
  ASSERT_TRUE(text);
  const auto usage = parse_process_usage(*text);
  ASSERT_TRUE(usage);
  EXPECT_GT(usage->resident_pages, 0U);
  EXPECT_GE(usage->threads, 1U);
  EXPECT_EQ(process_name(*text), "kernel_test");
}

TEST(ProcessUsage, OfStatusAndIo) {
  const auto switches = parse_process_switches(
      "Name:\tx\nvoluntary_ctxt_switches:\t150\nnonvoluntary_ctxt_switches:\t545\n");
  EXPECT_EQ(switches.voluntary, 150U);
  EXPECT_EQ(switches.involuntary, 545U);
  EXPECT_FALSE(parse_process_switches("Name:\tx\n").voluntary);
  const auto io = parse_process_io("rchar: 1\nwchar: 2\nsyscr: 9\nread_bytes: 3\nwrite_bytes: 4\n");
  EXPECT_EQ(io.read_characters, 1U);
  EXPECT_EQ(io.written_characters, 2U);
  EXPECT_EQ(io.read_bytes, 3U);
  EXPECT_EQ(io.written_bytes, 4U);
  EXPECT_FALSE(parse_process_io("read_bytes: x\n").read_bytes);
}

}  // namespace
}  // namespace dynolog
