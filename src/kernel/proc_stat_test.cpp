// /proc/stat's parser.
#include "kernel/proc_stat.h"

#include <gtest/gtest.h>

namespace dynolog {
namespace {

constexpr std::string_view kText =
    "cpu  100 1 50 800 7 3 2 4 30 1\n"
    "cpu0 60 1 20 400 5 3 1 4 30 1\n"
    "cpu3 40 0 30 400 2 0 1 0 0 0\n"
    "intr 123456 0 9 0 0\n"
    "ctxt 789\n"
    "btime 1700000000\n"
    "processes 4242\n"
    "procs_running 3\n"
    "procs_blocked 1\n"
    "softirq 555 1 2 3\n";

TEST(ProcStat, ReadsAllColumnsAndNumbers) {
  ProcStat stat;
  ASSERT_TRUE(parse_proc_stat(kText, stat));
  EXPECT_EQ(stat.total.count, 10U);
  EXPECT_EQ(stat.total.of(CpuMode::user), 100U);
  EXPECT_EQ(stat.total.of(CpuMode::guest_nice), 1U);
  ASSERT_EQ(stat.cpus.size(), 2U);
  EXPECT_EQ(stat.cpus[1].number, 3U);
  EXPECT_EQ(stat.cpus[1].times.of(CpuMode::idle), 400U);
  EXPECT_EQ(stat.interrupts, 123456U);
  EXPECT_EQ(stat.context_switches, 789U);
  EXPECT_EQ(stat.boot_time_s, 1700000000U);
  EXPECT_EQ(stat.forks, 4242U);
  EXPECT_EQ(stat.running, 3U);
  EXPECT_EQ(stat.blocked, 1U);
  EXPECT_EQ(stat.softirqs[0], 1U) << "after their total";
  EXPECT_EQ(stat.softirqs[2], 3U);
  EXPECT_FALSE(stat.softirqs[3]);
}

TEST(ProcStat, ForgetsThePreviousReading) {
  ProcStat stat;
  ASSERT_TRUE(parse_proc_stat(kText, stat));
  ASSERT_TRUE(parse_proc_stat("cpu  1 2 3 4\n", stat));
  EXPECT_TRUE(stat.cpus.empty());
  EXPECT_FALSE(stat.forks);
  EXPECT_FALSE(stat.softirqs[0]);
  EXPECT_FALSE(stat.total.of(CpuMode::iowait)) << "a column that the kernel does not print";
}

TEST(ProcStat, TakesColumnsOfANewerKernel) {
  ProcStat stat;
  ASSERT_TRUE(parse_proc_stat("cpu  1 2 3 4 5 6 7 8 9 10 11 12", stat));
  EXPECT_EQ(stat.total.of(CpuMode::guest_nice), 10U);
}

TEST(ProcStat, RefusesWhatItCannotRead) {
  ProcStat stat;
  for (const char* text :
       {"", "ctxt 5\n", "cpu\n", "cpu  1 2 3\n", "cpu  1 2 x 4\n", "cpu  1 2 3 4\ncpuX 1 2 3 4\n",
        "cpu  1 2 3 4\ncpu99999 1 2 3 4\n", "cpu  1 2 3 99999999999999999999\n"}) {
    EXPECT_FALSE(parse_proc_stat(text, stat)) << text;
  }
}

TEST(ProcStat, ANumberThatIsNotOneIsAbsent) {
  ProcStat stat;
  ASSERT_TRUE(parse_proc_stat("cpu  1 2 3 4\nctxt x\nprocesses 12\n", stat));
  EXPECT_FALSE(stat.context_switches);
  EXPECT_EQ(stat.forks, 12U);
}

}  // namespace
}  // namespace dynolog
