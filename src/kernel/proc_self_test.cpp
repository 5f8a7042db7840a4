// The process's own figures.
#include "kernel/proc_self.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include "base/unique_fd.h"

namespace dynolog {
namespace {

TEST(ProcSelf, ReadsTheFieldsBehindAnAwkwardCommand) {
  const auto stat = parse_proc_self_stat(
      "6098 (a) b) R 6086 6086 3360 0 -1 4194304 127 0 0 0 11 12 0 0 20 0 7 0 97897 3133440 379 "
      "18446744073709551615 1 1 1 0 0\n");
  ASSERT_TRUE(stat);
  EXPECT_EQ(stat->threads, 7U);
  EXPECT_EQ(stat->virtual_bytes, 3133440U);
  EXPECT_EQ(stat->resident_pages, 379U);
  EXPECT_EQ(stat->start_ticks, 97897U);
}

TEST(ProcSelf, RefusesShortText) {
  EXPECT_FALSE(parse_proc_self_stat(""));
  EXPECT_FALSE(parse_proc_self_stat("1 (x)"));
  EXPECT_FALSE(parse_proc_self_stat("1 (x) R 1 2 3"));
}

TEST(ProcSelf, CountsADescriptorMore) {
  const SelfDescriptors descriptors{SystemRoot{}};
  const auto before = descriptors.count();
  ASSERT_TRUE(before);
  const UniqueFd another(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  EXPECT_EQ(descriptors.count(), *before + 1);
}

TEST(ProcSelf, ThereIsALimitOfDescriptors) { EXPECT_GE(read_descriptor_limit(), 3U); }

TEST(ProcSelf, UsageOnlyGrows) {
  const SelfUsage before = read_self_usage();
  const SelfUsage after = read_self_usage();
  EXPECT_GT(before.user + before.system, Nanoseconds{0});
  EXPECT_GE(after.user + after.system, before.user + before.system);
  EXPECT_GE(after.voluntary_switches, before.voluntary_switches);
}

}  // namespace
}  // namespace dynolog
