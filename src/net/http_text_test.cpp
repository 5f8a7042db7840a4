// Header fields and query strings, well and badly written.
#include "net/http_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/base64.h"
#include "net/gzip.h"

namespace dynolog {
namespace {

using testing::ElementsAre;

TEST(QueryValues, DecodesEachOfTheKey) {
  EXPECT_THAT(*query_values("collect[]=cpu&x=1&collect%5B%5D=load+%41", "collect[]"),
              ElementsAre("cpu", "load A"));
  EXPECT_THAT(*query_values("", "collect[]"), ElementsAre());
  EXPECT_THAT(*query_values("collect[]&&=&collect[]=", "collect[]"), ElementsAre(""));
}

TEST(QueryValues, RefusesBrokenEscapesAndFloods) {
  for (const char* query : {"a=%", "a=%4", "a=%zz", "%=1", "a=%-1"}) {
    EXPECT_FALSE(query_values(query, "a")) << query;
  }
  std::string many;
  for (int i = 0; i < 64; ++i) many += "a=1&";
  EXPECT_EQ(query_values(many, "a")->size(), 64U);
  EXPECT_FALSE(query_values(many + "a=1", "a"));
  EXPECT_TRUE(query_values("a=" + std::string(256, 'x'), "a"));
  EXPECT_FALSE(query_values("a=" + std::string(257, 'x'), "a"));
}

TEST(ParseAccept, TakesTypesVersionsAndQualities) {
  const auto ranges = parse_accept(
      "application/openmetrics-text;version=1.0.0;charset=utf-8, Text/Plain ; q=0.5, */*;q=0.1,,");
  ASSERT_EQ(ranges.size(), 3U);
  EXPECT_EQ(ranges[0].type, "application/openmetrics-text");
  EXPECT_EQ(ranges[0].version, "1.0.0");
  EXPECT_EQ(ranges[0].quality, 1);
  EXPECT_EQ(ranges[1].type, "text/plain");
  EXPECT_EQ(ranges[1].quality, 0.5);
  EXPECT_EQ(ranges[2].type, "*/*");
}

TEST(ParseAccept, BadQualitiesCountAsNoneAndRangesAreBounded) {
  for (const char* accept : {"a/b;q=x", "a/b;q=", "a/b;q=nan", "a/b;q=-1", "a/b;q=inf"}) {
    EXPECT_EQ(parse_accept(accept).at(0).quality, 0) << accept;
  }
  EXPECT_EQ(parse_accept("a/b;q=7").at(0).quality, 1);
  std::string many;
  for (int i = 0; i < 100; ++i) many += "a/b,";
  EXPECT_EQ(parse_accept(many).size(), 32U);
}

TEST(AcceptsGzip, ByNameOrByStar) {
  for (const char* yes : {"gzip", "deflate, GZIP;q=0.5", "*", "x-gzip", "br;q=1, *;q=0.1"}) {
    EXPECT_TRUE(accepts_gzip(yes)) << yes;
  }
  for (const char* no : {"", "identity", "gzip;q=0", "*, gzip;q=0", "*;q=0", "gzipped"}) {
    EXPECT_FALSE(accepts_gzip(no)) << no;
  }
}

TEST(IsAuthorised, EitherWayIsEnough) {
  const HttpCredentials both{.basic = "prom:se:cret", .token = "t0ken"};
  EXPECT_TRUE(is_authorised("Basic " + to_base64("prom:se:cret"), both));
  EXPECT_TRUE(is_authorised("basic  " + to_base64("prom:se:cret"), both));
  EXPECT_TRUE(is_authorised("Bearer t0ken", both));
  for (const std::string& no :
       {std::string(), std::string("Bearer"), std::string("Bearer "), std::string("Bearer t0keN"),
        std::string("Bearer t0ken1"), "Basic " + to_base64("prom:se:cre"),
        std::string("Basic prom:se:cret"), "Bearer " + to_base64("prom:se:cret"),
        std::string("Digest t0ken"), std::string("t0ken")}) {
    EXPECT_FALSE(is_authorised(no, both)) << no;
  }
}

TEST(IsAuthorised, OneThatIsNotSetLetsNobodyIn) {
  EXPECT_TRUE(is_authorised("", {}));
  EXPECT_FALSE(is_authorised("Bearer ", {.basic = "a:b"}));
  EXPECT_FALSE(is_authorised("Basic " + to_base64("a:b"), {.token = "a:b"}));
}

TEST(Gzip, MakesAMemberOfItsOwn) {
  const auto small = gzip(std::string(100'000, 'x'));
  ASSERT_TRUE(small);
  EXPECT_TRUE(small->starts_with("\x1f\x8b"));
  EXPECT_LT(small->size(), 1000U);
  EXPECT_TRUE(gzip(""));
}

}  // namespace
}  // namespace dynolog
