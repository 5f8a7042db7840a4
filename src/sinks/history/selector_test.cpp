// What selectors mean, and what is said about those that mean nothing.
#include "sinks/history/selector.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dynolog::history {
namespace {

using ::testing::HasSubstr;

std::string problem(std::string_view text) {
  const auto parsed = parse_selector(text);
  return parsed ? "" : parsed.error().message;
}

TEST(Selector, TakesNamesAndConditions) {
  const auto plain = parse_selector(" cpu.time ");
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->name, "cpu.time");
  EXPECT_TRUE(plain->conditions.empty());

  const auto full = parse_selector(R"(m{cpu="0", mode!=idle,path=~"/sys.*",a!~"b|c", e=""})");
  ASSERT_TRUE(full) << full.error().message;
  ASSERT_EQ(full->conditions.size(), 5U);
  EXPECT_EQ(full->conditions[0].key, "cpu");
  EXPECT_TRUE(full->conditions[0].holds("0"));
  EXPECT_FALSE(full->conditions[0].holds("00"));
  EXPECT_FALSE(full->conditions[1].holds("idle"));
  EXPECT_TRUE(full->conditions[1].holds("user"));
  EXPECT_TRUE(full->conditions[2].holds("/sys/fs"));
  EXPECT_FALSE(full->conditions[2].holds("a/sys"));
  EXPECT_FALSE(full->conditions[3].holds("c"));
  EXPECT_TRUE(full->conditions[3].holds("cc"));
  EXPECT_TRUE(full->conditions[4].holds(""));

  const auto quoted = parse_selector(R"(m{a="x\"y\\,}"})");
  ASSERT_TRUE(quoted);
  EXPECT_EQ(quoted->conditions[0].value, R"(x"y\,})");
}

TEST(Selector, SaysWhatIsExpected) {
  EXPECT_THAT(problem(""), HasSubstr("name"));
  EXPECT_THAT(problem("{a=b}"), HasSubstr("name"));
  EXPECT_THAT(problem("m{"), HasSubstr("label's name"));
  EXPECT_THAT(problem("m{a}"), HasSubstr("=, !=, =~ or !~"));
  EXPECT_THAT(problem("m{a!b}"), HasSubstr("=, !=, =~ or !~"));
  EXPECT_THAT(problem("m{a!=~b}"), HasSubstr("=, !=, =~ or !~"));
  EXPECT_THAT(problem("m{a=\"b}"), HasSubstr("does not end"));
  EXPECT_THAT(problem("m{a=b} x"), HasSubstr("nothing may follow"));
  EXPECT_THAT(problem("m x"), HasSubstr("after the name"));
  EXPECT_THAT(problem("m{a=b c=d}"), HasSubstr(", or }"));
  EXPECT_THAT(problem("m{a=~\"(b\"}"), HasSubstr("regular expressions"));
  EXPECT_THAT(problem(std::string(5000, 'a')), HasSubstr("longer than"));
}

TEST(TextPattern, MatchesTheWholeText) {
  const auto matches = [](std::string_view pattern, std::string_view text) {
    const auto compiled = TextPattern::compile(pattern);
    EXPECT_TRUE(compiled) << pattern;
    return compiled && compiled->matches(text);
  };
  EXPECT_TRUE(matches("sd.*|nvme.*", "nvme0n1"));
  EXPECT_FALSE(matches("sd.*|nvme.*", "xsda"));
  EXPECT_TRUE(matches("", ""));
  EXPECT_FALSE(matches("", "a"));
  EXPECT_TRUE(matches(".*", ""));
  EXPECT_FALSE(matches(".+", ""));
  EXPECT_TRUE(matches("a.+c", "abbc"));
  EXPECT_FALSE(matches("a.+c", "ac"));
  EXPECT_TRUE(matches("a.*b.*c", "aXbXbXc"));
  EXPECT_FALSE(matches("a.*b.*c", "aXbXbXd"));
  EXPECT_TRUE(matches("a\\.b", "a.b"));
  EXPECT_FALSE(matches("a\\.b", "axb"));
}

// What would take a backtracking matcher for ever.
TEST(TextPattern, TakesNoLongerThanTheTextIsLong) {
  std::string pattern;
  for (int i = 0; i < 100; ++i) pattern += ".*a";
  const auto compiled = TextPattern::compile(pattern + "b");
  ASSERT_TRUE(compiled);
  EXPECT_FALSE(compiled->matches(std::string(256, 'a')));
}

}  // namespace
}  // namespace dynolog::history
