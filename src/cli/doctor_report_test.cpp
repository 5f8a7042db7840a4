// What a person reads of a diagnosis.
#include "cli/doctor_report.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dynolog {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

rpc::Finding finding(const char* level, const char* what, std::int64_t pid = 0,
                     std::optional<int> rank = std::nullopt) {
  rpc::Finding made;
  made.check = "registered";
  made.level = level;
  made.what = what;
  made.pid = pid;
  made.rank = rank;
  if (pid != 0) made.command = "python train.py";
  if (made.level != "ok") {
    made.why = "it matters";
    made.fix = "type this";
  }
  return made;
}

TEST(DoctorReportTest, TheExitCodeSaysWhetherSomethingIsBroken) {
  EXPECT_EQ(exit_code(std::vector<rpc::Finding>{}), ExitCode::ok);
  EXPECT_EQ(exit_code({finding("warning", "w"), finding("note", "n"), finding("ok", "o")}),
            ExitCode::ok);
  EXPECT_EQ(exit_code({finding("ok", "o"), finding("broken", "b")}), ExitCode::broken);
  EXPECT_EQ(static_cast<int>(ExitCode::broken), 1);
}

TEST(DoctorReportTest, ProblemsComeFirst) {
  std::vector<rpc::Finding> findings = {finding("ok", "fine"),
                                        finding("note", "by the way"),
                                        finding("from the future", "new"),
                                        finding("warning", "careful"),
                                        finding("broken", "bad"),
                                        finding("broken", "worse")};
  sort_findings(findings);
  std::string order;
  for (const auto& each : findings) order += each.what + ",";
  EXPECT_EQ(order, "bad,worse,careful,by the way,fine,new,");
}

TEST(DoctorReportTest, AProblemIsAParagraphAndWhatIsWellALine) {
  const std::string text = render_report(
      {finding("broken", "not registered", 4711, 3), finding("warning", "no room"),
       finding("ok", "the clock is synchronised"), finding("ok", "registered", 4712)});
  EXPECT_EQ(text,
            "broken   pid 4711 (rank 3), python train.py: not registered\n"
            "         why: it matters\n"
            "         do:  type this\n"
            "\n"
            "warning  no room\n"
            "         why: it matters\n"
            "         do:  type this\n"
            "\n"
            "ok       the clock is synchronised\n"
            "ok       pid 4712, python train.py: registered\n"
            "\n"
            "1 thing is broken, 1 warning\n");
}

TEST(DoctorReportTest, TheSameOfSeveralProcessesIsToldOnce) {
  std::vector<rpc::Finding> findings;
  for (int rank = 0; rank < 3; ++rank) {
    findings.push_back(finding("broken", "no variable", 10 + rank, rank));
  }
  EXPECT_THAT(
      render_report(findings),
      HasSubstr("pids 10 (rank 0), 11 (rank 1), 12 (rank 2), python train.py: no variable"));
  EXPECT_THAT(render_report(findings), HasSubstr("1 thing is broken"));
  findings[1].command = "python eval.py";
  EXPECT_THAT(render_report(findings), HasSubstr("12 (rank 2): no variable"));
  findings[1].fix = "something else";
  EXPECT_THAT(render_report(findings), HasSubstr("2 things are broken"));
}

TEST(DoctorReportTest, OfManyOnlyTheFirstAreNamed) {
  std::vector<rpc::Finding> findings;
  for (int pid = 100; pid < 140; ++pid) findings.push_back(finding("broken", "b", pid));
  const std::string text = render_report(findings);
  EXPECT_THAT(text, HasSubstr("107 and 32 more"));
  EXPECT_THAT(text, Not(HasSubstr("108")));
}

TEST(DoctorReportTest, ManyThatAreWellTakeOneLine) {
  std::vector<rpc::Finding> findings;
  for (int pid = 100; pid < 108; ++pid) {
    findings.push_back(finding("ok", fmt::format("registered: idle, {} s ago", pid).c_str(), pid));
  }
  EXPECT_THAT(render_report(findings),
              HasSubstr("pid 107, python train.py: registered: idle, 107"));
  findings.push_back(finding("ok", "registered: busy", 108));
  EXPECT_THAT(render_report(findings),
              HasSubstr("ok       pids 100, 101, 102, 103, 104, 105, 106, 107, 108, python "
                        "train.py: registered\n"));
}

TEST(DoctorReportTest, LongCommandsAreCut) {
  rpc::Finding long_one = finding("broken", "b", 5);
  long_one.command = std::string(500, 'x');
  EXPECT_THAT(render_report({long_one}), HasSubstr("xxx...: b"));
}

TEST(DoctorReportTest, NothingBrokenIsSaid) {
  EXPECT_EQ(render_report({}), "\nNothing is broken.\n");
  EXPECT_THAT(render_report({finding("warning", "w")}), HasSubstr("Nothing is broken, 1 warning"));
}

}  // namespace
}  // namespace dynolog
