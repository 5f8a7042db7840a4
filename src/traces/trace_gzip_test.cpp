// Traces in gzip: whole, in several members, cut short, damaged.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <string>

#include "traces/gzip_deflater.h"
#include "traces/made_trace_test.h"
#include "traces/trace_check.h"

namespace dynolog {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

std::string gzip(std::string_view text) {
  z_stream stream{};
  EXPECT_EQ(::deflateInit2(&stream, 6, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string out(::deflateBound(&stream, text.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(::deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(out.size() - stream.avail_out);
  ::deflateEnd(&stream);
  return out;
}

std::string large_trace() {
  MadeTrace trace;
  for (int i = 0; i < 4'000; ++i) {
    trace.events.push_back({.category = "cpu_op",
                            .name = "op" + std::to_string(i * 7919 % 1000),
                            .start = i * 100,
                            .duration = 50,
                            .device = {}});
  }
  return trace.text();
}

TEST(GzipTrace, SaysTheSameAsThePlainFile) {
  for (const std::string& text : {fixture("gpu-by-hand.json"), large_trace()}) {
    const std::string packed = gzip(text);
    const TraceSummary plain = summary_of(text);
    TraceSummary summary = summary_of(packed);
    EXPECT_TRUE(summary.whole) << summary.problem;
    EXPECT_TRUE(summary.compressed);
    EXPECT_EQ(summary.bytes, text.size());
    EXPECT_EQ(summary.file_bytes, packed.size());
    EXPECT_FALSE(summary.closing_brace.has_value());
    EXPECT_EQ(summary.events, plain.events);
    EXPECT_EQ(summary.categories, plain.categories);
    EXPECT_EQ(summary.gpus, plain.gpus);
    EXPECT_EQ(summary.top_operators, plain.top_operators);
  }
}

TEST(GzipTrace, WhatItUnfoldsIntoIsLimitedToo) {
  constexpr std::uint64_t kLimit = 1U << 20U;
  const std::string text = trace_of(std::string(16 * kLimit, ' '));
  const std::string packed = gzip(text);
  ASSERT_LT(packed.size(), kLimit / 4);
  const auto summary = summarise_trace(file_of(packed).get(), {}, kLimit);
  ASSERT_TRUE(summary);
  EXPECT_FALSE(summary->whole);
  EXPECT_THAT(summary->problem, HasSubstr("not looked at further"));
  EXPECT_LT(summary->bytes, 2 * kLimit);
  EXPECT_TRUE(summary_of(packed).whole) << "by the limit of all other tests";
}

TEST(GzipTrace, CutShortAtEveryTenth) {
  const std::string packed = gzip(large_trace());
  for (std::size_t tenth = 1; tenth < 10; ++tenth) {
    const TraceSummary summary = summary_of(packed.substr(0, packed.size() * tenth / 10));
    EXPECT_FALSE(summary.whole) << tenth;
    EXPECT_THAT(summary.problem, HasSubstr("cut off")) << tenth;
  }
  // The JSON is whole then, but nothing proves it.
  EXPECT_THAT(summary_of(packed.substr(0, packed.size() - 1)).problem, HasSubstr("cut off"));
  EXPECT_THAT(summary_of(packed.substr(0, 10)).problem, HasSubstr("cut off"));
  EXPECT_THAT(summary_of(packed.substr(0, 2)).problem, HasSubstr("cut off"));
}

TEST(GzipTrace, DamageIsSeen) {
  const std::string packed = gzip(large_trace());
  for (const std::size_t place : {packed.size() / 3, packed.size() - 6, packed.size() - 2}) {
    std::string damaged = packed;
    damaged[place] = static_cast<char>(damaged[place] ^ 0x55);
    const TraceSummary summary = summary_of(damaged);
    EXPECT_FALSE(summary.whole) << place;
    EXPECT_THAT(summary.problem, AnyOf(HasSubstr("damaged"), HasSubstr("not JSON"))) << place;
  }
  std::string not_deflate = packed;
  not_deflate[2] = '\x07';
  EXPECT_THAT(summary_of(not_deflate).problem, HasSubstr("damaged"));
}

TEST(GzipTrace, MembersOneAfterTheOtherAreOneText) {
  const std::string text = large_trace();
  const TraceSummary summary =
      summary_of(gzip(text.substr(0, 1000)) + gzip("") + gzip(text.substr(1000)));
  EXPECT_TRUE(summary.whole) << summary.problem;
  EXPECT_EQ(summary.events, 4'000U);
  EXPECT_EQ(summary.bytes, text.size());
}

TEST(GzipTrace, WhatFollowsIsSeen) {
  EXPECT_THAT(summary_of(gzip("{}") + "more").problem, HasSubstr("follows"));
  EXPECT_THAT(summary_of(gzip("{}") + gzip("x")).problem, HasSubstr("followed"));
  EXPECT_THAT(summary_of(gzip("{}") + gzip("").substr(0, 9)).problem, HasSubstr("cut off"));
}

TEST(GzipTrace, AnEmptyOneIsNoTrace) {
  EXPECT_FALSE(summary_of(gzip("")).whole);
  EXPECT_FALSE(summary_of(gzip("[]")).whole);
}

TEST(GzipDeflater, MakesAMemberOutOfPieces) {
  GzipDeflater deflater;
  ASSERT_TRUE(deflater.ready());
  std::string made;
  const auto take = [&](std::string_view piece) {
    made += piece;
    return true;
  };
  EXPECT_TRUE(deflater.feed("of something else", false, take));
  deflater.restart();
  made.clear();
  const std::string text = large_trace();
  const std::size_t half = text.size() / 2;
  EXPECT_TRUE(deflater.feed(std::string_view(text).substr(0, half), false, take));
  EXPECT_TRUE(deflater.feed(std::string_view(text).substr(half), false, take));
  EXPECT_TRUE(deflater.feed({}, true, take));
  EXPECT_LT(made.size(), text.size() / 4);
  const TraceSummary summary = summary_of(made);
  EXPECT_TRUE(summary.whole) << summary.problem;
  EXPECT_TRUE(summary.compressed);
  EXPECT_EQ(summary.bytes, text.size());
}

TEST(GzipDeflater, StopsWhenNobodyTakesWhatItMakes) {
  GzipDeflater deflater;
  int calls = 0;
  EXPECT_FALSE(deflater.feed(large_trace(), true, [&](std::string_view /*piece*/) {
    ++calls;
    return false;
  }));
  EXPECT_EQ(calls, 1);
}

}  // namespace
}  // namespace dynolog
