// dyno top without a terminal: the daemon's answer to a snapshot, a snapshot to lines, keys to a
// view.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "cli/top/screen.h"
#include "cli/top/snapshot.h"
#include "cli/top/view.h"

namespace dynolog::top {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr std::int64_t kNow = 1'800'000'000'000;

rpc::MetricSeries series(std::vector<std::pair<std::string, std::string>> labels, double value) {
  return {.labels = {std::move(labels)}, .values = {value}};
}

// An answer to snapshot_request(), in which some metrics have values.
class Answer {
 public:
  explicit Answer(std::int64_t begin_ms = 0) {
    reply_.host = "node7";
    reply_.begin_ms = begin_ms;
    reply_.step_ms = 1000;
    for (const rpc::MetricExpression& asked : snapshot_request(std::nullopt).expressions) {
      reply_.results.push_back(
          {.selector = asked.selector, .metric = "", .unit = "", .help = "", .series = {}});
    }
  }
  Answer& with(const std::string& selector, rpc::MetricSeries value) {
    for (rpc::MetricResult& result : reply_.results) {
      if (result.selector == selector) {
        result.series.push_back(std::move(value));
        return *this;
      }
    }
    ADD_FAILURE() << "nobody asks for " << selector;
    return *this;
  }
  Answer& knowing(std::vector<std::pair<std::string, std::string>> users) {
    reply_.users.emplace().pairs = std::move(users);
    return *this;
  }
  [[nodiscard]] Snapshot snapshot(std::optional<std::int64_t> at_ms = std::nullopt) const {
    return read_snapshot(reply_, at_ms, kNow);
  }

 private:
  rpc::QueryMetricsReply reply_;
};

std::string text_of(const Snapshot& snapshot, const View& view = {}, ScreenSize size = {24, 80},
                    const std::string& problem = "") {
  return as_text(draw(snapshot, view, size, problem));
}

TEST(TopSnapshot, AsksForOneMomentInOneRequest) {
  const auto request = snapshot_request(kNow);
  EXPECT_TRUE(request.newest_only);
  EXPECT_EQ(request.end_ms, kNow);
  EXPECT_GT(request.expressions.size(), 20U);
}

TEST(TopSnapshot, AnEmptyAnswerIsAHostOfWhichNothingIsKnown) {
  const Snapshot snapshot = read_snapshot({}, std::nullopt, kNow);
  EXPECT_TRUE(snapshot.cpus.empty());
  EXPECT_EQ(snapshot.cpu_percent, std::nullopt);
  const std::string text = text_of(snapshot);
  EXPECT_THAT(text, HasSubstr("cpu     - %"));
  EXPECT_THAT(text, Not(HasSubstr("nan")));
}

TEST(TopSnapshot, PutsTogetherWhatBelongsTogether) {
  const Snapshot snapshot =
      Answer()
          .with("cpu.utilization.cpu", series({{"cpu", "10"}}, 99.5))
          .with("cpu.utilization.cpu", series({{"cpu", "9"}}, 0))
          .with("cpu.topology", series({{"cpu", "9"}, {"node", "1"}}, 1))
          .with("disk.read_bytes", series({{"device", "nvme0n1"}}, 2048))
          .with("disk.utilization", series({{"device", "nvme0n1"}}, 12))
          .with("net.received_bytes", series({{"device", "eth0"}}, 1e6))
          .with("net.receive_errors", series({{"device", "eth0"}}, 1))
          .with("net.send_drops", series({{"device", "eth0"}}, 2))
          .with("net.up", series({{"device", "eth0"}}, 0))
          .with("infiniband.state", series({{"device", "mlx5_0"}, {"port", "1"}}, 1))
          .with("process.cpu_time",
                series({{"pid", "7"}, {"command", "python"}, {"uid", "1000"}}, 0.5))
          .with("process.resident_memory",
                series({{"pid", "7"}, {"command", "python"}, {"uid", "1000"}}, 1024))
          .snapshot();
  ASSERT_EQ(snapshot.cpus.size(), 2U);
  EXPECT_EQ(snapshot.cpus[0].number, 10) << "by node first";
  ASSERT_EQ(snapshot.disks.size(), 1U);
  EXPECT_EQ(snapshot.disks[0].busy, 12);
  ASSERT_EQ(snapshot.links.size(), 2U);
  EXPECT_EQ(snapshot.links[0].name, "mlx5_0:1");
  EXPECT_EQ(snapshot.links[0].state, "down");
  EXPECT_EQ(snapshot.links[1].faults, 3);
  EXPECT_EQ(snapshot.links[1].state, "down");
  ASSERT_EQ(snapshot.processes.size(), 1U);
  EXPECT_EQ(snapshot.processes[0].cpu, 50);
  EXPECT_EQ(snapshot.processes[0].memory, 1024);
}

TEST(TopSnapshot, WhoHasEndedIsNoProcessOfNow) {
  const auto process = [](const char* pid, double value, std::int64_t newest_ms) {
    auto made = series({{"pid", pid}, {"command", "python"}, {"uid", "1000"}}, value);
    made.newest_ms = newest_ms;
    return made;
  };
  const Snapshot snapshot = Answer(kNow)
                                .with("process.cpu_time", process("7", 0.5, kNow - 26'000))
                                .with("process.cpu_time", process("8", 0.5, kNow - 60'000))
                                .with("process.resident_memory", process("7", 1024, kNow))
                                .with("process.resident_memory", process("8", 1024, kNow - 60'000))
                                .snapshot();
  ASSERT_EQ(snapshot.processes.size(), 1U);
  EXPECT_EQ(snapshot.processes[0].pid, 7);
  EXPECT_EQ(snapshot.processes_age_s, 26);
  EXPECT_THAT(text_of(snapshot), HasSubstr("as read 26 s ago"));
  const Snapshot fresh =
      Answer(kNow).with("process.cpu_time", process("7", 0.5, kNow - 1000)).snapshot();
  EXPECT_THAT(text_of(fresh), Not(HasSubstr("ago")));
}

// The daemon knows its series, and has no value of then.
TEST(TopSnapshot, WhoCameLaterIsNoProcessOfThePast) {
  auto later = series({{"pid", "9"}, {"command", "python"}, {"uid", "1000"}}, 0);
  later.values = {std::nullopt};
  const auto there = series({{"pid", "7"}, {"command", "python"}, {"uid", "1000"}}, 1024);
  const Snapshot snapshot = Answer(kNow)
                                .with("process.cpu_time", later)
                                .with("process.resident_memory", later)
                                .with("process.resident_memory", there)
                                .snapshot(kNow);
  ASSERT_EQ(snapshot.processes.size(), 1U);
  EXPECT_EQ(snapshot.processes[0].pid, 7);
}

rpc::ProcessRow rank_of_a_job(std::int64_t pid, int rank) {
  rpc::ProcessRow row;
  row.pid = pid;
  row.uid = 1000;
  row.user = "ada";
  row.command = "python train.py";
  row.job = "4711";
  row.rank = rank;
  row.gpus = {2, 3};
  row.state = "tracing";
  return row;
}

// The line of a text that begins with a pid.
std::string line_of(const std::string& text, const std::string& pid) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(fmt::format("{:>8} ", pid))) return line;
  }
  return "";
}

TEST(TopSnapshot, JobsAreShownBesideWhatRuns) {
  Snapshot snapshot =
      Answer()
          .with("process.cpu_time",
                series({{"pid", "7"}, {"command", "python"}, {"uid", "1000"}}, 0.5))
          .with("process.resident_memory",
                series({{"pid", "7"}, {"command", "python"}, {"uid", "1000"}}, 3 << 20))
          .with("process.resident_memory",
                series({{"pid", "9"}, {"command", "sshd"}, {"uid", "0"}}, 1 << 20))
          .snapshot();
  add_processes(snapshot, {.processes = {rank_of_a_job(7, 0), rank_of_a_job(8, 15)}});
  ASSERT_EQ(snapshot.processes.size(), 3U) << "one is known from both";
  const std::string text = text_of(snapshot, {}, {0, 100});
  // pid user job rank gpus cpu mem state command
  EXPECT_EQ(line_of(text, "7"),
            "       7 ada      4711           0 2,3       50.0   3.0M tracing  python train.py");
  EXPECT_EQ(line_of(text, "8"),
            "       8 ada      4711          15 2,3          -      - tracing  python train.py");
  EXPECT_EQ(line_of(text, "9"),
            "       9 0        -              - -            -   1.0M          sshd");
}

TEST(TopSnapshot, ARankThatIsNotKnownIsNone) {
  Snapshot snapshot = Answer().snapshot();
  rpc::ProcessRow row = rank_of_a_job(7, 0);
  row.rank = std::nullopt;
  row.job = "";
  row.gpus = {};
  add_processes(snapshot, {.processes = {row}});
  EXPECT_EQ(line_of(text_of(snapshot, {}, {0, 100}), "7"),
            "       7 ada      -              - -            -      - tracing  python train.py");
}

TEST(TopScreen, SaysWhatTheDaemonItselfTakes) {
  const Snapshot snapshot = Answer()
                                .with("self.cpu_utilization", series({}, 0.07))
                                .with("self.resident_memory", series({}, 9.5 * (1 << 20)))
                                .snapshot();
  EXPECT_THAT(text_of(snapshot), HasSubstr("daemon 0.07 % of a CPU, 9.5M"));
}

TEST(TopSnapshot, UsersHaveTheirNamesWhereTheHostKnowsThem) {
  const auto process = [](const char* pid, const char* uid) {
    return series({{"pid", pid}, {"command", "python"}, {"uid", uid}}, 1);
  };
  const Snapshot snapshot = Answer()
                                .knowing({{"0", "root"}})
                                .with("process.resident_memory", process("7", "0"))
                                .with("process.resident_memory", process("8", "1000"))
                                .snapshot();
  ASSERT_EQ(snapshot.processes.size(), 2U);
  EXPECT_EQ(snapshot.processes[0].user, "root");
  EXPECT_EQ(snapshot.processes[1].user, "1000");
}

TEST(TopScreen, ThePartsOfCpuTimeAddUp) {
  const Snapshot snapshot = Answer()
                                .with("cpu.share", series({{"mode", "user"}}, 20))
                                .with("cpu.share", series({{"mode", "nice"}}, 30))
                                .with("cpu.share", series({{"mode", "system"}}, 5))
                                .with("cpu.share", series({{"mode", "irq"}}, 1))
                                .with("cpu.share", series({{"mode", "softirq"}}, 2))
                                .snapshot();
  EXPECT_THAT(text_of(snapshot), HasSubstr("user 50.0 system 8.0 iowait - steal -"));
}

TEST(TopScreen, A192CpuHostFitsOn80By24) {
  Answer answer;
  for (int cpu = 0; cpu < 192; ++cpu) {
    const std::string number = std::to_string(cpu);
    answer.with("cpu.utilization.cpu", series({{"cpu", number}}, cpu == 0   ? 100
                                                                 : cpu == 1 ? 0
                                                                            : 55));
    answer.with("cpu.topology", series({{"cpu", number}, {"node", cpu < 96 ? "0" : "1"}}, 1));
  }
  for (int i = 0; i < 30; ++i) {
    answer.with("net.received_bytes", series({{"device", "ib" + std::to_string(i)}}, i));
  }
  const auto lines = draw(answer.snapshot(), {}, {24, 80}, "");
  EXPECT_LE(lines.size(), 24U);
  const std::string text = as_text(lines);
  std::size_t at = 0;
  for (std::size_t end = 0; (end = text.find('\n', at)) != std::string::npos; at = end + 1) {
    EXPECT_LE(end - at, 80U);
  }
  EXPECT_THAT(text, HasSubstr("node 0   #.5555"));
  EXPECT_THAT(text, HasSubstr("node 1   5555"));
}

TEST(TopScreen, SortsAndFilters) {
  Answer answer;
  answer.with("disk.read_bytes", series({{"device", "sda"}}, 10));
  answer.with("disk.read_bytes", series({{"device", "nvme0n1"}}, 3e9));
  answer.with("disk.utilization", series({{"device", "sda"}}, 97));
  const Snapshot snapshot = answer.snapshot();
  View view{.panel = Panel::disks};
  std::string text = text_of(snapshot, view);
  EXPECT_LT(text.find("nvme0n1"), text.find("sda")) << "by traffic";
  EXPECT_THAT(text, HasSubstr("2.8G"));
  view.sort = Sort::busy;
  text = text_of(snapshot, view);
  EXPECT_LT(text.find("sda"), text.find("nvme0n1"));
  view.filter = "sd";
  EXPECT_THAT(text_of(snapshot, view), Not(HasSubstr("nvme0n1")));
  view.filter = "none of them";
  EXPECT_THAT(text_of(snapshot, view), HasSubstr("  none\n"));
}

TEST(TopScreen, SaysThatItIsThePastOrStandsStillOrHasNoAnswer) {
  const Snapshot snapshot = Answer().snapshot();
  EXPECT_THAT(text_of(snapshot, {.at_ms = kNow}), HasSubstr("PAST (n: now)"));
  EXPECT_THAT(text_of(snapshot, {.is_paused = true}), HasSubstr("PAUSED"));
  EXPECT_THAT(text_of(snapshot, {}, {24, 80}, "no daemon answers"), HasSubstr("no daemon answers"));
  EXPECT_THAT(text_of(snapshot, {.is_help = true}), HasSubstr("10 seconds back and forward"));
}

// A key after which nothing new is asked for, or for which it does not matter.
void hit(View& view, Key key, char letter, std::int64_t now_ms) {
  (void)press(view, key, letter, now_ms);
}

TEST(TopView, TheArrowsGoThroughTimeAndEndAtNow) {
  View view;
  EXPECT_FALSE(press(view, Key::right, 0, kNow)) << "there is no future";
  EXPECT_TRUE(press(view, Key::left, 0, kNow));
  EXPECT_EQ(view.at_ms, kNow - 10'000);
  EXPECT_TRUE(press(view, Key::page_up, 0, kNow));
  EXPECT_EQ(view.at_ms, kNow - 310'000);
  EXPECT_TRUE(press(view, Key::page_down, 0, kNow));
  EXPECT_TRUE(press(view, Key::right, 0, kNow));
  EXPECT_EQ(view.at_ms, std::nullopt);
  EXPECT_TRUE(press(view, Key::left, 0, kNow));
  EXPECT_TRUE(press(view, Key::other, 'n', kNow));
  EXPECT_EQ(view.at_ms, std::nullopt);
}

TEST(TopView, WhatIsTypedIntoTheFilterIsNoCommand) {
  View view;
  for (const char letter : std::string("/quit")) hit(view, Key::other, letter, kNow);
  EXPECT_FALSE(view.is_over);
  EXPECT_EQ(view.filter, "quit");
  hit(view, Key::backspace, 127, kNow);
  hit(view, Key::enter, '\n', kNow);
  EXPECT_EQ(view.filter, "qui");
  hit(view, Key::escape, 27, kNow);
  EXPECT_EQ(view.filter, "");
  hit(view, Key::other, 'q', kNow);
  EXPECT_TRUE(view.is_over);
}

TEST(TopView, PausesSortsAndChangesPanels) {
  View view;
  hit(view, Key::other, ' ', kNow);
  EXPECT_TRUE(view.is_paused);
  EXPECT_TRUE(press(view, Key::other, ' ', kNow)) << "at once, not after the interval";
  hit(view, Key::other, 's', kNow);
  EXPECT_EQ(view.sort, Sort::name);
  hit(view, Key::other, '4', kNow);
  EXPECT_EQ(view.panel, Panel::processes);
  hit(view, Key::other, '\t', kNow);
  EXPECT_EQ(view.panel, Panel::all);
  hit(view, Key::other, '?', kNow);
  EXPECT_TRUE(view.is_help);
  hit(view, Key::other, 'q', kNow);
  EXPECT_FALSE(view.is_help);
  EXPECT_FALSE(view.is_over) << "any key only leaves the help";
}

}  // namespace
}  // namespace dynolog::top
