// What counts as a level, what does not, and that the parser is spared the rest.
#include "config/toml_nesting.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "config/layers.h"

namespace dynolog {
namespace {

using ::testing::Eq;
using ::testing::HasSubstr;
using ::testing::Optional;

std::string repeated(std::string_view text, std::size_t times) {
  std::string all;
  for (std::size_t i = 0; i < times; ++i) all += text;
  return all;
}

// "x.x.x" of so many parts.
std::string key_of(std::size_t parts) { return repeated("x.", parts - 1) + "x"; }

TEST(TomlNesting, AsManyLevelsAsAllowedAndOneMore) {
  const std::size_t most = kMaxTomlNesting;
  EXPECT_EQ(line_nested_too_deep("a = " + repeated("[", most)), std::nullopt);
  EXPECT_THAT(line_nested_too_deep("a = " + repeated("[", most + 1)), Optional(Eq(1U)));
  EXPECT_EQ(line_nested_too_deep(key_of(most + 1) + " = 1"), std::nullopt);
  EXPECT_THAT(line_nested_too_deep(key_of(most + 2) + " = 1"), Optional(Eq(1U)));
  EXPECT_THAT(line_nested_too_deep("\n\n[" + key_of(most + 2) + "]"), Optional(Eq(3U)));
  EXPECT_THAT(line_nested_too_deep("\na = " + repeated("{a = ", most + 1)), Optional(Eq(2U)));
}

TEST(TomlNesting, TheLevelsOfKeysAndBracketsAddUp) {
  const std::string inner = key_of(40) + " = {" + key_of(40);
  EXPECT_THAT(line_nested_too_deep(inner + " = 1}"), Optional(Eq(1U)));
  EXPECT_THAT(line_nested_too_deep(key_of(40) + " = " + repeated("[", 40)), Optional(Eq(1U)));
  EXPECT_THAT(line_nested_too_deep(repeated("a.a = {", 40)), Optional(Eq(1U)));
}

TEST(TomlNesting, WhatStandsBesideEachOtherDoesNot) {
  EXPECT_EQ(line_nested_too_deep(repeated("a.b.c = [1.5, [2.5], {d.e = 1}]\n", 200)), std::nullopt);
  EXPECT_EQ(line_nested_too_deep("a = [\n" + repeated("1.5,\n", 200) + "]\n"), std::nullopt);
  EXPECT_EQ(line_nested_too_deep("a = [" + repeated("[1], ", 200) + "]"), std::nullopt);
  EXPECT_EQ(line_nested_too_deep(repeated("[a.b.c]\n", 200)), std::nullopt);
  EXPECT_EQ(line_nested_too_deep(repeated("]", 200)), std::nullopt);
}

TEST(TomlNesting, StringsAndCommentsHoldNone) {
  const std::string deep = repeated("[", 100) + repeated("x.", 100);
  for (const std::string& text :
       {"# " + deep, "a = \"" + deep + '"', "a = '" + deep + "'",
        "a = \"\"\"\n" + deep + "\n\"\"\"", "a = '''\n" + deep + "\n'''", "a = \"\\\"" + deep + '"',
        "a = \"\\\\\" # " + deep, "a = '\\' # " + deep, "a = \"\"\"\\\"\"\"" + deep + "\"\"\"",
        "a = \"\" # " + deep, "a = \"\"\"\"\" " + deep + "\"\"\"\"\" # " + deep,
        "a = \"\"\"\"\"\" # " + deep}) {
    EXPECT_EQ(line_nested_too_deep(text), std::nullopt) << text;
    const std::size_t line = 2 + static_cast<std::size_t>(std::ranges::count(text, '\n'));
    EXPECT_THAT(line_nested_too_deep(text + '\n' + deep), Optional(Eq(line))) << text;
  }
}

TEST(TomlNesting, AStringThatIsNotClosedHidesOneLineOnly) {
  EXPECT_THAT(line_nested_too_deep("a = \"open\n" + repeated("[", 65)), Optional(Eq(2U)));
  EXPECT_THAT(line_nested_too_deep("a = 'open\\\n" + repeated("[", 65)), Optional(Eq(2U)));
  EXPECT_THAT(line_nested_too_deep("a = \"open\\\n" + repeated("[", 65)), Optional(Eq(2U)));
  EXPECT_EQ(line_nested_too_deep("a = \"\"\"open\n" + repeated("[", 65)), std::nullopt);
}

// The stack of the test would not hold what the parser makes of these.
TEST(TomlNesting, TheParserNeverSeesWhatIsTooDeep) {
  for (const std::string& text :
       {repeated("[", 100'000), repeated("a.", 100'000) + "a = 1", "[" + repeated("a.", 100'000),
        "a = " + repeated("[", 100'000), "a = " + repeated("{a=", 80'000)}) {
    const auto layer = read_toml("port = 1\n" + text, "/x.toml");
    ASSERT_FALSE(layer.has_value());
    EXPECT_THAT(layer.error().message, HasSubstr("/x.toml:2: "));
    EXPECT_THAT(layer.error().message, HasSubstr("more than 64 deep"));
  }
  // As deep as it may be: what is said of it is the parser's.
  const auto layer = read_toml("a = " + repeated("[", 64) + repeated("]", 64), "/x.toml");
  ASSERT_FALSE(layer.has_value());
  EXPECT_THAT(layer.error().message, HasSubstr("unknown option"));
}

}  // namespace
}  // namespace dynolog
