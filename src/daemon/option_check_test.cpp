// Options that only the host can tell to be good, before a start.
#include "daemon/option_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/cpu_affinity.h"

namespace dynolog {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(OptionCheck, CollectorsThatThereAreNotAreNamedWithTheirOption) {
  CommandLine command;
  EXPECT_TRUE(check_host_options(command));
  command.options.metrics.disabled_collectors = {"laod"};
  const auto disabled = check_host_options(command);
  ASSERT_FALSE(disabled);
  EXPECT_EQ(disabled.error().kind, ErrorKind::invalid);
  EXPECT_THAT(disabled.error().message,
              AllOf(StartsWith("--disabled_collectors: "), HasSubstr("'load'?")));
  command.given["disabled_collectors"] = "/x.toml:3: disabled_collectors = laod";
  EXPECT_THAT(check_host_options(command).error().message,
              StartsWith("/x.toml:3: disabled_collectors = laod: there is no collector 'laod'"));
  command.options.metrics.disabled_collectors.clear();
  command.options.metrics.collectors.intervals["laod"] = std::chrono::seconds(5);
  command.given["collector_interval"] = "--collector_interval=laod=5";
  EXPECT_THAT(check_host_options(command).error().message,
              AllOf(StartsWith("--collector_interval=laod=5: "), HasSubstr("'load'?")));
}

TEST(OptionCheck, CpusThatThereAreNotAreWrongOptions) {
  CommandLine command;
  command.options.cpu_list = "1023";
  command.given["cpu_list"] = "/x.toml:2: cpu_list = 1023";
  const auto taken = take_host_options(command);
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().kind, ErrorKind::invalid);
  EXPECT_THAT(taken.error().message,
              StartsWith("/x.toml:2: cpu_list = 1023: there is no CPU 1023; this host has 0-"));
  EXPECT_EQ(check_host_options(command).error().message, taken.error().message);
  EXPECT_EQ("/x.toml:2: cpu_list = 1023: " + keep_to_cpus("1023").error().message,
            taken.error().message);
  command.options.cpu_list = "";
  EXPECT_TRUE(check_host_options(command));
  command.options.cpu_list = "0";
  EXPECT_TRUE(check_host_options(command));
}

}  // namespace
}  // namespace dynolog
