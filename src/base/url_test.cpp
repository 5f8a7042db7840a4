// URLs of receivers: good ones, and each way to get one wrong.
#include "base/url.h"

#include <gtest/gtest.h>

namespace dynolog {
namespace {

TEST(HttpUrl, IsTakenApart) {
  const auto plain = parse_http_url("http://node7:4318/v1/metrics?a=b");
  ASSERT_TRUE(plain);
  EXPECT_FALSE(plain->tls);
  EXPECT_EQ(plain->host, "node7");
  EXPECT_EQ(plain->port, 4318);
  EXPECT_EQ(plain->path, "/v1/metrics?a=b");
  const auto tls = parse_http_url("https://[fe80::1]");
  ASSERT_TRUE(tls);
  EXPECT_TRUE(tls->tls);
  EXPECT_EQ(tls->host, "fe80::1");
  EXPECT_EQ(tls->port, 443);
  EXPECT_EQ(tls->path, "");
  EXPECT_EQ(parse_http_url("http://[::1]:80/")->port, 80);
  EXPECT_EQ(parse_http_url("http://a?x")->path, "/?x");
}

TEST(HttpUrl, WhatIsNone) {
  for (const char* text :
       {"", "node7:4318", "ftp://x", "http://", "http://:80", "http://a:", "http://a:0",
        "http://a:65536", "http://a:8o", "http://[::1", "http://[::1]80", "http://a b/",
        "http://a/b c", "http://a/\r\nX: y", "http://user:secret@a/", "http://a\x80/",
        "http://a/#x", "http://[a/b]/"}) {
    EXPECT_FALSE(parse_http_url(text)) << text;
  }
  EXPECT_FALSE(parse_http_url("http://" + std::string(300, 'a')));
}

TEST(PercentEncoding, IsDecodedOrRefused) {
  EXPECT_EQ(percent_decoded("a%20b%2Cc"), "a b,c");
  EXPECT_EQ(percent_decoded("plain"), "plain");
  for (const char* text : {"%", "%2", "%zz", "a%00b", "%-1"}) {
    EXPECT_FALSE(percent_decoded(text)) << text;
  }
}

}  // namespace
}  // namespace dynolog
