// What the service adds to the history's answers.
#include "daemon/history_service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
