// /proc/<pid>/status, stat, cgroup: real texts, and what a hostile name can do to them.
#include "kernel/proc_pid.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dynolog {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::string_view kStatus =
    "Name:\tpython3\nUmask:\t0022\nState:\tS (sleeping)\nTgid:\t4711\nNgid:\t0\nPid:\t4711\n"
    "PPid:\t4700\nTracerPid:\t0\nUid:\t1000\t1001\t1002\t1003\nGid:\t100\t101\t102\t103\n"
    "FDSize:\t256\nGroups:\t4 27 1000 \nNStgid:\t4711\t7\nNSpid:\t4711\t7\nNSpgid:\t4711\t7\n"
    "VmPeak:\t  123 kB\n";

TEST(ProcPidStatus, ReadsARealText) {
  const auto status = parse_proc_pid_status(kStatus);
  ASSERT_TRUE(status) << status.error().message;
  EXPECT_EQ(status->name, "python3");
  EXPECT_EQ(status->state, 'S');
  EXPECT_EQ(status->pid, 4711);
  EXPECT_EQ(status->parent_pid, 4700);
  EXPECT_THAT(status->uids, ElementsAre(1000U, 1001U, 1002U, 1003U));
  EXPECT_THAT(status->gids, ElementsAre(100U, 101U, 102U, 103U));
  EXPECT_THAT(status->groups, ElementsAre(4U, 27U, 1000U));
  EXPECT_THAT(status->namespace_pids, ElementsAre(4711, 7));
}

TEST(ProcPidStatus, WithoutNSpidThePidStandsForIt) {
  const auto status = parse_proc_pid_status(
      "Name:\tx\nState:\tR (running)\nPid:\t5\nPPid:\t1\nUid:\t0\t0\t0\t0\nGid:\t0\t0\t0\t0\n"
      "Groups:\t\n");
  ASSERT_TRUE(status) << status.error().message;
  EXPECT_THAT(status->namespace_pids, ElementsAre(5));
  EXPECT_TRUE(status->groups.empty());
}

TEST(ProcPidStatus, ANameKeepsBlanksAndColons) {
  const auto status = parse_proc_pid_status(
      "Name:\t Uid:\t0\\n \nState:\tR (running)\nPid:\t5\nPPid:\t1\nUid:\t9\t9\t9\t9\n"
      "Gid:\t0\t0\t0\t0\n");
  ASSERT_TRUE(status) << status.error().message;
  EXPECT_EQ(status->name, " Uid:\t0\\n ");
  EXPECT_EQ(status->uids[0], 9U);
}

TEST(ProcPidStatus, RefusesWhatIsMissingOrMalformed) {
  struct Case {
    std::string_view from, to, error;
  };
  const Case cases[] = {
      {"Pid:\t4711\nPPid", "PPid", "no line Pid"},
      {"Uid:\t1000\t1001\t1002\t1003\n", "", "no line Uid"},
      {"Uid:\t1000\t1001\t1002\t1003", "Uid:\t1000\t1001\t1002", "malformed line Uid"},
      {"Uid:\t1000", "Uid:\t-1", "malformed line Uid"},
      {"PPid:\t4700", "PPid:\t4700x", "malformed line PPid"},
      {"State:\tS", "State:\tSS", "malformed line State"},
      {"NSpid:\t4711\t7", "NSpid:\t4711\tx", "malformed line NSpid"},
      {"Groups:\t4", "Groups:\t4294967296", "malformed line Groups"},
  };
  for (const Case& c : cases) {
    std::string text(kStatus);
    const std::size_t at = text.find(c.from);
    ASSERT_NE(at, std::string::npos) << c.from;
    text.replace(at, c.from.size(), c.to);
    const auto status = parse_proc_pid_status(text);
    ASSERT_FALSE(status) << c.to;
    EXPECT_THAT(status.error().message, HasSubstr(c.error));
  }
  EXPECT_FALSE(parse_proc_pid_status(""));
}

TEST(ProcPidStat, TheLastParenthesisCounts) {
  for (const std::string_view comm : {"python3", "a b", ") R 1 (", "x) S 1 2 3 (y", ")", ""}) {
    const std::string text = "4711 (" + std::string(comm) +
                             ") S 4700 4711 4700 34816 4711 4194304 9 0 0 0 10 11 0 0 20 0 5 0 "
                             "987654321 1000 200 18446744073709551615\n";
    const auto stat = parse_proc_pid_stat(text);
    ASSERT_TRUE(stat) << comm << ": " << stat.error().message;
    EXPECT_EQ(stat->pid, 4711);
    EXPECT_EQ(stat->state, 'S');
    EXPECT_EQ(stat->parent_pid, 4700);
    EXPECT_EQ(stat->start_ticks, 987654321U);
  }
}

TEST(ProcPidStat, RefusesShortAndBrokenLines) {
  for (const std::string_view text :
       {"", "4711", "4711 (x", "(x) S 1", "4711 (x)", "4711 (x) S", "4711 (x) S 1 2 3",
        "x (x) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20", ")(",
        "1 (x) S 1 4711 4700 34816 4711 4194304 9 0 0 0 10 11 0 0 20 0 5 0 -1 1000"}) {
    EXPECT_FALSE(parse_proc_pid_stat(text)) << text;
  }
}

TEST(ProcPidCgroup, ReadsBothVersions) {
  const auto lines = parse_proc_pid_cgroup(
      "12:cpu,cpuacct:/slurm/uid_1000/job_5/step_0\n1:name=systemd:/user.slice/a:b\n0::/"
      "init.scope\n");
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(lines[0].hierarchy, 12);
  EXPECT_EQ(lines[0].controllers, "cpu,cpuacct");
  EXPECT_EQ(lines[0].path, "/slurm/uid_1000/job_5/step_0");
  EXPECT_EQ(lines[1].controllers, "name=systemd");
  EXPECT_EQ(lines[1].path, "/user.slice/a:b");
  EXPECT_EQ(lines[2].hierarchy, 0);
  EXPECT_EQ(lines[2].controllers, "");
  EXPECT_EQ(lines[2].path, "/init.scope");
}

TEST(ProcPidCgroup, PassesOverWhatIsNoLine) {
  EXPECT_TRUE(parse_proc_pid_cgroup("").empty());
  EXPECT_TRUE(parse_proc_pid_cgroup("x\n0:\nx::/a\n\n").empty());
  EXPECT_EQ(parse_proc_pid_cgroup("0::/a").size(), 1U);
}

TEST(ProcPidMaps, PathsAreWhatFollowsTheFiveFields) {
  struct Case {
    std::string_view line;
    std::string_view path;
    std::string_view name;
  };
  const std::string front = "7f3c2a000000-7f3c2a021000 r-xp 00002000 fe:01 131105 ";
  for (const Case& each :
       {Case{"                    /usr/lib/libtorch_cpu.so", "/usr/lib/libtorch_cpu.so",
             "libtorch_cpu.so"},
        Case{" /a b/c (deleted)", "/a b/c", "c"},
        Case{" /memfd:x/y.so (deleted)", "/memfd:x/y.so", "y.so"}, Case{"", "", ""},
        Case{"      [heap]", "", ""}, Case{" [anon:/x/libtorch_cpu.so]", "", ""},
        Case{" anon_inode:/dev/x", "", ""}, Case{" /", "/", ""}}) {
    const std::string line = front + std::string(each.line);
    const MapsLine maps = parse_maps_line(line);
    EXPECT_EQ(maps.address, "7f3c2a000000") << line;
    EXPECT_EQ(maps.path, each.path) << line;
    EXPECT_EQ(maps.file_name(), each.name) << line;
  }
  for (const char* piece : {"", " ", "7f-8f", "7f-8f r-xp", "/lib/libtorch_cpu.so"}) {
    EXPECT_EQ(parse_maps_line(piece).path, "") << piece;
  }
}

}  // namespace
}  // namespace dynolog
