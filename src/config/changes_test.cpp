// Unit tests of what differs between two configurations, and of what each option says about it.
#include "config/changes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace dynolog {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> names(const std::vector<const OptionRow*>& rows) {
  std::vector<std::string> result;
  for (const OptionRow* row : rows) result.emplace_back(row->name);
  return result;
}

TEST(Changes, EachOptionThatAFileCanHoldSaysWhenAChangeCounts) {
  for (const OptionRow& row : option_rows()) {
    if (row.show == nullptr) continue;
    EXPECT_NE(row.reload, Reload::unsaid) << row.name;
  }
}

TEST(Changes, ByWhenTheyCountAndNothingElse) {
  const Options before;
  Options after;
  EXPECT_THAT(changed_options(before, after, Reload::at_once), IsEmpty());
  after.rpc.port = 2000;
  after.kineto.abstract_endpoint = false;
  after.log_level = LogLevel::debug;
  after.metrics.interval_s = 5;
  EXPECT_THAT(names(changed_options(before, after, Reload::at_once)),
              ElementsAre("kernel_monitor_reporting_interval_s", "log_level"));
  EXPECT_THAT(names(changed_options(before, after, Reload::next_start)),
              ElementsAre("enable_ipc_monitor", "port"));
}

}  // namespace
}  // namespace dynolog
