// What can be seen of options before a start.
#include "daemon/option_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/cpu_affinity.h"

namespace dynolog {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(OptionCheck, CollectorsThatThereAreNotAreNamedWithTheirOption) {
  Options options;
  EXPECT_TRUE(check_collector_options(options));
  options.metrics.disabled_collectors = {"laod"};
  const auto disabled = check_collector_options(options);
  ASSERT_FALSE(disabled);
  EXPECT_EQ(disabled.error().kind, ErrorKind::invalid);
  EXPECT_THAT(disabled.error().message,
              AllOf(HasSubstr("--disabled_collectors"), HasSubstr("'load'?")));
  options.metrics.disabled_collectors.clear();
  options.metrics.collectors.intervals["laod"] = std::chrono::seconds(5);
  EXPECT_THAT(check_collector_options(options).error().message,
              AllOf(HasSubstr("--collector_interval"), HasSubstr("'load'?")));
}

TEST(OptionCheck, CpusThatThereAreNotAreWrongOptions) {
  const auto kept = keep_to_cpus("1023");
  ASSERT_FALSE(kept);
  EXPECT_EQ(kept.error().kind, ErrorKind::invalid);
  EXPECT_EQ(check_cpus("1023").error().message, kept.error().message);
  EXPECT_TRUE(check_cpus(""));
  EXPECT_TRUE(check_cpus("0"));
}

TEST(OptionCheck, AFileThatCannotBeOpenedIsMissing) {
  Options options;
  options.metrics.json.file = "/nonexistent/x";
  EXPECT_THAT(what_is_missing(options), IsEmpty()) << "no lines are asked for";
  options.metrics.json.enabled = true;
  EXPECT_THAT(what_is_missing(options), ElementsAre(AllOf(HasSubstr("--json_file=/nonexistent/x"),
                                                          HasSubstr("No such file"))));
  options.metrics.json.file = testing::TempDir() + "/not-made-yet.jsonl";
  EXPECT_THAT(what_is_missing(options), IsEmpty());
  options.metrics.json.file = "/dev/null";
  EXPECT_THAT(what_is_missing(options), IsEmpty());
  options.metrics.json.file.clear();
  EXPECT_THAT(what_is_missing(options), IsEmpty()) << "standard output";
}

}  // namespace
}  // namespace dynolog
