// The process's own figures.
#include "kernel/proc_self.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "base/file.h"
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

TEST(ProcSelf, TheProportionalMemoryIsTheLineOfThatName) {
  EXPECT_EQ(parse_proportional_bytes("55d-7ff ---p 00000000 00:00 0    [rollup]\n"
                                     "Rss:               15320 kB\n"
                                     "Pss:                9876 kB\n"
                                     "Pss_Dirty:          4711 kB\n"),
            9876U * 1024);
  for (const char* text : {"", "Rss: 1 kB\n", "Pss: kB\n", "Pss: 12\n", "Pss: 1 MB\n",
                           "Pss: -1 kB\n", "Pss_Anon: 5 kB\n"}) {
    EXPECT_FALSE(parse_proportional_bytes(text)) << text;
  }
}

class MemoryFiles : public ::testing::Test {
 protected:
  MemoryFiles() {
    std::string pattern = ::testing::TempDir() + "proc_self_XXXXXX";
    root_.proc = ::mkdtemp(pattern.data());
    std::filesystem::create_directory(root_.proc + "/self");
  }
  ~MemoryFiles() override { std::filesystem::remove_all(root_.proc); }
  void write(const std::string& name, const std::string& text) const {
    ASSERT_TRUE(replace_file(root_.proc + "/self/" + name, text, 0600));
  }

  SystemRoot root_;
};

TEST_F(MemoryFiles, ResidentIsWhatThereIsWhereTheKernelRefusesTheOther) {
  EXPECT_FALSE(read_self_memory(root_, 4096));
  write("stat",
        "1 (a) R 6086 6086 3360 0 -1 4194304 127 0 0 0 11 12 0 0 20 0 7 0 97897 3133440 379 1\n");
  auto memory = read_self_memory(root_, 4096);
  ASSERT_TRUE(memory);
  EXPECT_EQ(memory->bytes, 379U * 4096);
  EXPECT_FALSE(memory->proportional);
  write("smaps_rollup", "Pss: 100 kB\n");
  memory = read_self_memory(root_, 4096);
  EXPECT_EQ(memory->bytes, 102'400U);
  EXPECT_TRUE(memory->proportional);
}

TEST(ProcSelf, OwnMemoryIsNoMoreThanWhatIsResident) {
  const auto memory = read_self_memory(SystemRoot{}, ::sysconf(_SC_PAGESIZE));
  ASSERT_TRUE(memory);
  EXPECT_GT(memory->bytes, 100'000U);
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
