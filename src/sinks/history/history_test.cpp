// The history's thread: frames in, answers out, and nothing lost at the end.
#include "sinks/history/history.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "sinks/history/history_test_support.h"
#include "testing/fake_clock.h"

namespace dynolog::history {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

// Each file in a directory with its size and the time of its last change: another one when anything
// was written.
std::map<std::string, std::pair<std::uintmax_t, std::filesystem::file_time_type>> written_in(
    const std::string& directory) {
  std::map<std::string, std::pair<std::uintmax_t, std::filesystem::file_time_type>> files;
  for (const auto& file : std::filesystem::directory_iterator(directory)) {
    files[file.path().filename()] = {file.file_size(), file.last_write_time()};
  }
  return files;
}

class HistoryTest : public testing::Test {
 protected:
  std::unique_ptr<History> start(const std::string& directory) {
    return History::start({.clock = clock_,
                           .log = log_,
                           .catalogue = kTestSections,
                           .directory = directory,
                           .memory_reason = "by the test",
                           .report = [](const std::string&, const std::string&) {}});
  }
  void run(Sink& sink, int seconds) {
    for (int i = 0; i < seconds; ++i) ASSERT_TRUE(sink.consume(host_.tick()));
    clock_.set_wall(WallTime(Milliseconds(host_.now_ms())));
  }
  static Result<Answer> ask(History& history, Question question) {
    std::promise<Result<Answer>> promise;
    history.ask(std::move(question),
                [&promise](Result<Answer> result) { promise.set_value(std::move(result)); });
    return promise.get_future().get();
  }
  static Result<Listing> list(History& history, ListQuestion question) {
    std::promise<Result<Listing>> promise;
    history.list(std::move(question),
                 [&promise](Result<Listing> result) { promise.set_value(std::move(result)); });
    return promise.get_future().get();
  }

  CapturingLog log_;
  FakeClock clock_;
  TestHost host_;
  TemporaryPlace place_;
};

TEST_F(HistoryTest, AnswersFromTheFirstSecondsOn) {
  const auto history = start("");
  const auto sink = history->make_sink();
  run(*sink, 3);
  const auto result = ask(*history, {.expressions = {{.selector = "memory.limit"}},
                                     .last_ms = 2000,
                                     .begin_ms = {},
                                     .end_ms = {},
                                     .step_ms = 1000});
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_THAT(result->results[0].series[0].values, Each(1000));
}

TEST_F(HistoryTest, WritesTheRestAtItsEnd) {
  if (!unsuitable(place_.path()).empty()) GTEST_SKIP() << kNoPlaceForAHistory;
  {
    const auto history = start(place_.path());
    const auto sink = history->make_sink();
    run(*sink, 100);
  }
  const auto history = start(place_.path());
  const auto result = ask(*history, {.expressions = {{.selector = "net.bytes{device=eth0}"}},
                                     .last_ms = 50'000,
                                     .begin_ms = {},
                                     .end_ms = {},
                                     .step_ms = 10'000});
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_THAT(result->results[0].series[0].values, Each(1000));
}

// A reload makes the collectors anew, and with them a table of all series.
TEST_F(HistoryTest, HoldsFewTablesHoweverOftenTheyAreMadeAnew) {
  const auto history = start("");
  const auto sink = history->make_sink();
  std::vector<std::weak_ptr<const SeriesTable>> tables;
  for (int i = 0; i < 100; ++i) {  // within one stretch of time
    TestHost host;
    host.set_clock(Milliseconds(100) * i);
    const Frame& frame = host.tick();
    tables.push_back(frame.table());
    ASSERT_TRUE(sink->consume(frame));
    clock_.set_wall(WallTime(Milliseconds(host.now_ms())));
    if (i % 10 != 9) continue;
    // Answered after what was due has been written.
    ASSERT_TRUE(ask(*history, {.expressions = {{.selector = "memory.limit"}}}));
    EXPECT_LE(std::ranges::count_if(tables, [](const auto& table) { return !table.expired(); }), 12)
        << i;
  }
  const auto all = list(*history, {});
  ASSERT_TRUE(all);
  EXPECT_EQ(all->extent.raw_since_ms, (kTestStart + 1) * 1000) << "nothing is lost by it";
}

// Whoever asks meanwhile: the disk is written to twice a minute, and then all is there but for the
// second that begins the next half minute.
TEST_F(HistoryTest, WritesOnceInHalfAMinute) {
  if (!unsuitable(place_.path()).empty()) GTEST_SKIP() << kNoPlaceForAHistory;
  const auto history = start(place_.path());
  const auto sink = history->make_sink();
  std::vector<int> blocks_after;
  std::vector<int> changes_after;
  std::uint64_t bytes = 0;
  ASSERT_TRUE(list(*history, {}));  // the store is there
  auto files = written_in(place_.path());
  for (int second = 1; second <= 95; ++second) {
    run(*sink, 1);
    ASSERT_TRUE(ask(*history, {.expressions = {{.selector = "memory.limit"}}}));
    const auto listing = list(*history, {});
    ASSERT_TRUE(listing);
    ASSERT_TRUE(listing->extent.on_disk);
    if (listing->extent.bytes != bytes) blocks_after.push_back(second);
    bytes = listing->extent.bytes;
    auto now = written_in(place_.path());
    if (now != files) changes_after.push_back(second);
    files = std::move(now);
  }
  EXPECT_THAT(blocks_after, ElementsAre(30, 60, 90));
  EXPECT_THAT(changes_after, ElementsAre(30, 60, 90));
}

TEST_F(HistoryTest, ListsWhatThereIs) {
  const auto history = start("");
  const auto sink = history->make_sink();
  run(*sink, 3);
  const auto all = list(*history, {});
  ASSERT_TRUE(all);
  EXPECT_EQ(all->metrics.size(), kTestMetrics.size() + kDerivedMetrics.size());
  EXPECT_FALSE(all->extent.on_disk);
  EXPECT_EQ(all->extent.raw_since_ms, (kTestStart + 1) * 1000);
  const auto one = list(*history, {.selector = "net.bytes{device=~\"eth.*\"}", .series = true});
  ASSERT_TRUE(one);
  ASSERT_EQ(one->metrics.size(), 1U);
  EXPECT_EQ(one->metrics[0].series_count, 2U);
  ASSERT_EQ(one->metrics[0].series.size(), 2U);
  EXPECT_EQ(one->metrics[0].series[1].labels[0].second, "eth1");
  const auto some = list(*history, {.selector = "slow"});
  ASSERT_TRUE(some);
  EXPECT_EQ(some->metrics.size(), 2U);
  EXPECT_EQ(list(*history, {.selector = "nothing_like_it"}).error().kind, ErrorKind::not_found);
}

// Many at once, from several threads, while frames come: for the thread sanitizer.
TEST_F(HistoryTest, TakesQuestionsWhileFramesCome) {
  const auto history = start("");
  const auto sink = history->make_sink();
  run(*sink, 2);
  std::vector<std::future<std::size_t>> askers;
  for (int i = 0; i < 3; ++i) {
    askers.push_back(std::async(std::launch::async, [&history] {
      std::size_t answered = 0;
      for (int j = 0; j < 20; ++j) {
        if (ask(*history, {.expressions = {{.selector = "cpu.utilization"}}})) ++answered;
      }
      return answered;
    }));
  }
  for (int i = 0; i < 20; ++i) {  // fewer at a time than are dropped when the thread is slow
    run(*sink, 10);
    ASSERT_TRUE(ask(*history, {.expressions = {{.selector = "memory.limit"}}}));
  }
  for (auto& asker : askers) EXPECT_EQ(asker.get(), 20U);
}

}  // namespace
}  // namespace dynolog::history
