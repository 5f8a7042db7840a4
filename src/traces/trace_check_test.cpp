// The trace check on whole, broken and hostile files.
#include "traces/trace_check.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <string>

#include "base/file.h"
#include "base/unique_fd.h"
#include "traces/made_trace_test.h"

namespace dynolog {
namespace {

using ::testing::HasSubstr;

constexpr std::string_view kTrace = R"({
  "schemaVersion": 1, "trace_id": "12345678901234567890", "host_name": "node7",
  "deviceProperties": [{"id": 0, "name": "traceEvents"}],
  "traceEvents": [
    {"ph": "X", "name": "aten::add", "ts": 1.5, "args": {"traceEvents": [1, 2, 3], "x": NaN}},
    {"ph": "X", "name": "aten::mul", "ts": 2, "args": {"trace_id": "other", "v": -Infinity}},
    [], 7
  ],
  "traceName": "/tmp/x.json"
}
)";

TEST(SummariseTrace, WholeFile) {
  const TraceSummary summary = summary_of(kTrace);
  EXPECT_TRUE(summary.whole) << summary.problem;
  EXPECT_EQ(summary.problem, "");
  EXPECT_EQ(summary.events, 4U);  // only elements of the top-level array
  EXPECT_EQ(summary.trace_id, "12345678901234567890");
  EXPECT_EQ(summary.host_name, "node7");
  EXPECT_EQ(summary.bytes, kTrace.size());
}

TEST(SummariseTrace, TraceIdAsNumberKeepsEveryDigit) {
  EXPECT_EQ(summary_of(R"({"trace_id": 18446744073709551615})").trace_id, "18446744073709551615");
  EXPECT_EQ(summary_of(R"({"trace_id": 123456789012345678901234567890})").trace_id,
            "123456789012345678901234567890");
}

TEST(SummariseTrace, CutAnywhereIsNotWhole) {
  const std::size_t last = kTrace.rfind('}');
  for (std::size_t size = 1; size <= last; ++size) {
    const TraceSummary summary = summary_of(kTrace.substr(0, size));
    EXPECT_FALSE(summary.whole) << size;
    EXPECT_NE(summary.problem, "") << size;
    EXPECT_EQ(summary.bytes, size);
  }
  EXPECT_THAT(summary_of(kTrace.substr(0, last)).problem, HasSubstr("cut off"));
}

TEST(SummariseTrace, CutAtEveryTenthOfARealFile) {
  for (const char* name : {"pytorch-2.13-on-demand-cpu.json", "gpu-by-hand.json"}) {
    const std::string text = fixture(name);
    for (std::size_t tenth = 1; tenth < 10; ++tenth) {
      const TraceSummary summary = summary_of(text.substr(0, text.size() * tenth / 10));
      EXPECT_FALSE(summary.whole) << tenth;
      EXPECT_THAT(summary.problem, HasSubstr("cut off")) << tenth;
      EXPECT_FALSE(summary.closing_brace.has_value());
    }
    EXPECT_GT(summary_of(text.substr(0, text.size() / 2)).events, 10U);
  }
}

TEST(SummariseTrace, EmptyFile) {
  const TraceSummary summary = summary_of("");
  EXPECT_FALSE(summary.whole);
  EXPECT_THAT(summary.problem, HasSubstr("empty"));
}

TEST(SummariseTrace, WhatFollowsIsSeen) {
  EXPECT_FALSE(summary_of(R"({"a": 1} x)").whole);
  EXPECT_FALSE(summary_of(R"({"a": 1}{"a": 1})").whole);
  const std::string with_nul = std::string(R"({"a": 1})") + '\0' + "x";
  const TraceSummary summary = summary_of(with_nul);
  EXPECT_FALSE(summary.whole);
  EXPECT_THAT(summary.problem, HasSubstr("follows"));
  EXPECT_TRUE(summary_of("{\"a\": 1}  \n\n").whole);
}

TEST(SummariseTrace, NotAnObject) {
  EXPECT_FALSE(summary_of("[1, 2]").whole);
  EXPECT_FALSE(summary_of("7").whole);
  EXPECT_FALSE(summary_of("hello").whole);
  EXPECT_FALSE(summary_of(std::string(100, '\0')).whole);
}

TEST(SummariseTrace, InvalidUtf8IsNamed) {
  const TraceSummary summary = summary_of("{\"a\": \"\xff\"}");
  EXPECT_FALSE(summary.whole);
  EXPECT_THAT(summary.problem, HasSubstr("byte"));
}

TEST(SummariseTrace, ForeignTextIsCleanedAndBounded) {
  const std::string id(100'000, 'i');
  const TraceSummary summary =
      summary_of("{\"trace_id\": \"" + id + R"(", "host_name": "a\u001b[2Jb"})");
  EXPECT_TRUE(summary.whole);
  EXPECT_LE(summary.trace_id.size(), 256U);
  EXPECT_EQ(summary.host_name.find('\x1b'), std::string::npos);
}

TEST(SummariseTrace, DepthIsBounded) {
  const std::string deep = R"({"a": )" + std::string(1'000'000, '[');
  const TraceSummary summary = summary_of(deep);
  EXPECT_FALSE(summary.whole);
  EXPECT_THAT(summary.problem, HasSubstr("nested"));
  const std::string inside = R"({"a": )" + std::string(500, '[') + std::string(500, ']') + "}";
  EXPECT_TRUE(summary_of(inside).whole);
}

TEST(SummariseTrace, StringsUpToTheLimitPass) {
  EXPECT_TRUE(summary_of("{\"a\": \"" + std::string(kMaxTraceString, 'x') + "\"}").whole);
}

TEST(SummariseTrace, StringWithoutEndIsRefused) {
  const std::string text = "{\"a\": \"" + std::string(2 * kMaxTraceString, 'x') + "\"}";
  const TraceSummary summary = summary_of(text);
  EXPECT_FALSE(summary.whole);
  EXPECT_THAT(summary.problem, HasSubstr("a string of over"));
}

TEST(SummariseTrace, NumberWithoutEndIsRefused) {
  const TraceSummary summary =
      summary_of("{\"a\": 1" + std::string(2 * kMaxTraceString, '0') + "}");
  EXPECT_FALSE(summary.whole);
}

TEST(SummariseTrace, ManyEventsOverManyBlocks) {
  std::string text = R"({"traceEvents": [)";
  for (int i = 0; i < 20'000; ++i) {
    if (i > 0) text += ',';
    text += R"({"ph": "X", "name": "event", "args": {"n": )" + std::to_string(i) + "}}";
  }
  text += R"(], "trace_id": "7"})";
  const TraceSummary summary = summary_of(text);
  EXPECT_TRUE(summary.whole);
  EXPECT_EQ(summary.events, 20'000U);
  EXPECT_EQ(summary.trace_id, "7");
  EXPECT_EQ(summary.bytes, text.size());
}

TEST(SummariseTrace, TheCallerSeesToOtherThingsMeanwhile) {
  const UniqueFd file(::memfd_create("trace", MFD_CLOEXEC));
  ASSERT_TRUE(write_all(file.get(), "{\"traceEvents\": []" + std::string(40U << 20U, ' ') + "}"));
  ASSERT_EQ(::lseek(file.get(), 0, SEEK_SET), 0);
  int calls = 0;
  const auto summary = summarise_trace(file.get(), [&calls] { ++calls; });
  ASSERT_TRUE(summary.has_value());
  EXPECT_TRUE(summary->whole) << summary->problem;
  EXPECT_GE(calls, 2);
}

TEST(SummariseTrace, IsReadUpToTheLimitAndNoFurther) {
  constexpr std::uint64_t kLimit = 1U << 20U;
  std::string text = R"({"traceEvents": [], "trace_id": "7")";
  text += std::string(kLimit - text.size() - 1, ' ') + "}";
  ASSERT_EQ(text.size(), kLimit);
  const auto just = summarise_trace(file_of(text).get(), {}, kLimit);
  ASSERT_TRUE(just);
  EXPECT_TRUE(just->whole) << just->problem;

  const UniqueFd file = file_of(text.insert(kLimit / 2, 8U << 20U, ' '));
  const auto summary = summarise_trace(file.get(), {}, kLimit);
  ASSERT_TRUE(summary);
  EXPECT_FALSE(summary->whole);
  EXPECT_THAT(summary->problem, HasSubstr("not looked at further"));
  EXPECT_LT(::lseek(file.get(), 0, SEEK_CUR), 2 * kLimit) << "the rest is not even read";
}

TEST(SummariseTrace, UnreadableIsAnError) {
  const UniqueFd directory(::open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  EXPECT_FALSE(summarise_trace(directory.get()).has_value());
  EXPECT_FALSE(summarise_trace(-1).has_value());
}

}  // namespace
}  // namespace dynolog
