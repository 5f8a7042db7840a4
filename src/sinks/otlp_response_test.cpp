// Receivers' answers: partial successes, errors in protobuf and in text, Retry-After.
#include "sinks/otlp_response.h"

#include <gtest/gtest.h>

namespace dynolog {
namespace {

using std::chrono::seconds;

TEST(OtlpResponse, PartialSuccess) {
  EXPECT_EQ(decode_otlp_response("")->rejected, 0);
  const std::string_view partial("\x0a\x0a\x08\x03\x12\x06no\nway", 12);
  EXPECT_EQ(decode_otlp_response(partial)->rejected, 3);
  EXPECT_EQ(decode_otlp_response(partial)->message, "no way");
  const std::string_view negative("\x0a\x0b\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 13);
  EXPECT_EQ(decode_otlp_response(negative)->rejected, 0);
  EXPECT_EQ(decode_otlp_response(std::string_view("\x12\x02hi", 4))->message, "") << "unknown";
}

TEST(OtlpResponse, WhatIsNoMessageIsAnError) {
  for (const std::string_view bytes :
       {std::string_view("<html>"), std::string_view("\x0a\x7f", 2), std::string_view("\x0a", 1),
        std::string_view("\x0a\x02\x08\xff", 4), std::string_view("\x00\x00", 2)}) {
    EXPECT_FALSE(decode_otlp_response(bytes));
  }
}

TEST(OtlpResponse, ErrorsInWords) {
  EXPECT_EQ(otlp_error_text("text/plain", " quota\x1b[31m\nexceeded \n"),
            "quota\xEF\xBF\xBD[31m exceeded");
  EXPECT_EQ(otlp_error_text("application/x-protobuf", std::string_view("\x08\x03\x12\x03"
                                                                       "bad",
                                                                       7)),
            "bad");
  EXPECT_EQ(otlp_error_text("application/x-protobuf", "\xff\xff"), "");
  EXPECT_LE(otlp_error_text("text/html", std::string(100'000, 'x')).size(), 310U);
}

TEST(OtlpResponse, RetryAfter) {
  const WallTime now(seconds(1'700'000'000));
  EXPECT_EQ(parse_retry_after("7", now), seconds(7));
  EXPECT_EQ(parse_retry_after(" 0 ", now), seconds(0));
  EXPECT_EQ(parse_retry_after("99999999999", now), seconds(86'400));
  EXPECT_EQ(parse_retry_after("Tue, 14 Nov 2023 22:13:50 GMT", now), seconds(30));
  EXPECT_EQ(parse_retry_after("Tue, 14 Nov 2023 22:00:00 GMT", now), seconds(0));
  for (const char* none : {"", "-1", "soon", "7s", "Tue, 14 Nov 2023", "1e3"}) {
    EXPECT_EQ(parse_retry_after(none, now), std::nullopt) << none;
  }
}

}  // namespace
}  // namespace dynolog
