// What can be seen of files and directories before a start.
#include "daemon/place_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dynolog {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

TEST(PlaceCheck, AFileOfLinesThatCannotBeOpenedIsMissing) {
  CommandLine command;
  auto& json = command.options.metrics.json;
  json.file = "/nonexistent/x";
  command.given["json_file"] = "/x.toml:2: json_file = /nonexistent/x";
  EXPECT_THAT(what_is_missing(command), IsEmpty()) << "no lines are asked for";
  json.enabled = true;
  EXPECT_THAT(what_is_missing(command),
              ElementsAre(AllOf(StartsWith("/x.toml:2: json_file = /nonexistent/x: "),
                                HasSubstr("No such file"))));
  json.file = testing::TempDir() + "/not-made-yet.jsonl";
  EXPECT_THAT(what_is_missing(command), IsEmpty());
  json.file = "/dev/null";
  EXPECT_THAT(what_is_missing(command), IsEmpty());
  json.file.clear();
  EXPECT_THAT(what_is_missing(command), IsEmpty()) << "standard output";
}

}  // namespace
}  // namespace dynolog
