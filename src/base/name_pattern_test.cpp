// Choosing names.
#include "base/name_pattern.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dynolog {
namespace {

TEST(NamePattern, IsFoundAnywhereUnlessAnchored) {
  const auto anywhere = NamePattern::compile("eth");
  ASSERT_TRUE(anywhere);
  EXPECT_TRUE(anywhere->found_in("veth12"));
  const auto anchored = NamePattern::compile("^(ram|loop|fd|(h|s|v|xv)d[a-z]|nvme\\d+n\\d+p)\\d+$");
  ASSERT_TRUE(anchored);
  for (const char* name : {"ram0", "loop12", "sda1", "vdb15", "nvme0n1p2"}) {
    EXPECT_TRUE(anchored->found_in(name)) << name;
  }
  for (const char* name : {"sda", "nvme0n1", "md0", "dm-1", ""}) {
    EXPECT_FALSE(anchored->found_in(name)) << name;
  }
}

TEST(NamePattern, RefusesWhatIsNoExpression) {
  const auto bad = NamePattern::compile("eth(");
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().kind, ErrorKind::invalid);
  EXPECT_THAT(bad.error().message, testing::HasSubstr("'eth(' is no regular expression"));
  EXPECT_FALSE(NamePattern::compile(std::string(3000, 'a')));
}

TEST(NamePattern, AnExpressionThatExplodesFindsNothing) {
  const auto pattern = NamePattern::compile("^[a-z]+[0-9]$");
  ASSERT_TRUE(pattern);
  EXPECT_FALSE(pattern->found_in(std::string(100'000, 'a')));
}

TEST(NameFilter, IncludesThenExcludes) {
  const auto all = NameFilter::compile({});
  ASSERT_TRUE(all);
  EXPECT_TRUE(all->accepts("eth0"));
  const auto some = NameFilter::compile({.include = "^(eth|lo)", .exclude = "^lo$"});
  ASSERT_TRUE(some);
  EXPECT_TRUE(some->accepts("eth0"));
  EXPECT_FALSE(some->accepts("lo"));
  EXPECT_FALSE(some->accepts("wlan0"));
  EXPECT_FALSE(NameFilter::compile({.exclude = "["}));
}

}  // namespace
}  // namespace dynolog
