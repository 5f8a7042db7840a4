// What the service adds to the history's answers, and whom it takes for somebody who looks.
#include "daemon/history_service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace dynolog {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

rpc::QueryMetricsReply of_processes(const std::vector<std::string>& uids) {
  rpc::QueryMetricsReply reply;
  auto& result = reply.results.emplace_back();
  for (const std::string& uid : uids) {
    result.series.push_back({.labels = {{{"pid", "7"}, {"uid", uid}}}, .values = {1.0}});
  }
  return reply;
}

// Answers nothing.
class SilentHistory final : public history::History {
 public:
  std::unique_ptr<Sink> make_sink() override { return nullptr; }
  void ask(history::Question, std::function<void(Result<history::Answer>)>) override { ++asked; }
  void list(history::ListQuestion, std::function<void(Result<history::Listing>)>) override {}

  int asked = 0;
};

class LookTest : public testing::Test {
 protected:
  // How often somebody was seen to look at processes.
  int looks(const rpc::QueryMetricsRequest& request) {
    const int before = looks_;
    service_.query(request, [](const Result<std::string>&) {});
    return looks_ - before;
  }

  EventLoop loop_;
  SilentHistory history_;
  int looks_ = 0;
  HistoryService service_{loop_, "node7", [this] { return &history_; }, [this] { ++looks_; },
                          [] { return UserNames{}; }};
};

rpc::QueryMetricsRequest newest(const std::vector<std::string>& selectors) {
  rpc::QueryMetricsRequest request;
  for (const std::string& selector : selectors) {
    request.expressions.emplace_back().selector = selector;
  }
  request.newest_only = true;
  return request;
}

TEST_F(LookTest, WhoWatchesProcessesNowIsSeen) {
  EXPECT_EQ(looks(newest({"cpu.utilization", "process.cpu_time", "process.resident_memory"})), 1);
  EXPECT_EQ(looks(newest({"process.cpu_time{pid=7}"})), 1);
}

TEST_F(LookTest, WhoDoesNotCostsNothing) {
  EXPECT_EQ(looks(newest({"cpu.utilization", "processes.count"})), 0);
  auto past = newest({"process.cpu_time"});
  past.end_ms = 1'800'000'000'000;
  EXPECT_EQ(looks(past), 0) << "the past does not change";
  auto course = newest({"process.cpu_time"});
  course.newest_only = false;
  course.last_ms = 60'000;
  EXPECT_EQ(looks(course), 0);
  EXPECT_EQ(history_.asked, 3) << "they are answered all the same";
}

TEST(HistoryService, NamesTheUsersThatTheHostKnowsOnce) {
  auto reply = of_processes({"1000", "0", "0", "4711", "x"});
  name_users(reply, {{0, "root"}, {7, "lp"}, {1000, "ada"}});
  ASSERT_TRUE(reply.users);
  EXPECT_THAT(reply.users->pairs, ElementsAre(Pair("0", "root"), Pair("1000", "ada")));
  auto unknown = of_processes({"4711"});
  name_users(unknown, {{0, "root"}});
  EXPECT_FALSE(unknown.users);
}

}  // namespace
}  // namespace dynolog
