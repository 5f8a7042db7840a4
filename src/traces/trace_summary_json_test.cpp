// A summary's text, both ways, and what a stranger may write in its place.
#include "traces/trace_summary_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>

#include <nlohmann/json.hpp>

namespace dynolog {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

TraceSummary full_summary() {
  TraceSummary summary;
  summary.whole = true;
  summary.compressed = true;
  summary.bytes = 18'446'744'073'709'551'615U;
  summary.file_bytes = 7;
  summary.closing_brace = 1234;
  summary.trace_id = "123456789012345678901234567890";
  summary.host_name = "node7";
  summary.has_distributed_info = true;
  summary.distributed_rank = 3;
  summary.events = 9;
  summary.categories = {{.category = "kernel", .events = 6}, {.category = "other", .events = 3}};
  summary.kernels = 6;
  summary.steps = 2;
  summary.warnings = {"WARNING: a \"quoted\" one", "ERROR: two"};
  summary.truncation = "cut";
  summary.first_ns = 1'700'000'000'123'456'789;
  summary.last_ns = -5;
  summary.window_start_ns = std::numeric_limits<std::int64_t>::min();
  summary.window_end_ns = std::numeric_limits<std::int64_t>::max();
  summary.gpus = {{.device = 1,
                   .window_s = 0.5,
                   .busy_s = 0.25,
                   .communication_s = 0.125,
                   .idle_s = 0.25,
                   .longest_gap_s = 0.1,
                   .longest_gap_start_ns = 77}};
  summary.top_kernels = {{.name = "gemm<float>", .self_s = 0.2, .count = 4}};
  summary.top_operators = {{.name = "aten::mm", .self_s = 0.1, .count = 5}};
  summary.approximate = true;
  summary.approximation = "some";
  return summary;
}

json full_json() { return json::parse(encode_trace_summary(full_summary())); }

std::string problem_of(const json& text) {
  const auto decoded = decode_trace_summary(text.dump());
  return decoded ? "" : decoded.error().message;
}

TEST(TraceSummaryJson, EveryFieldComesBack) {
  const std::string text = encode_trace_summary(full_summary());
  const auto decoded = decode_trace_summary(text);
  ASSERT_TRUE(decoded.has_value()) << decoded.error().message;
  EXPECT_EQ(encode_trace_summary(*decoded), text);
  EXPECT_EQ(decoded->bytes, 18'446'744'073'709'551'615U);
  EXPECT_EQ(decoded->closing_brace, 1234U);
  EXPECT_EQ(decoded->first_ns, 1'700'000'000'123'456'789);
  EXPECT_EQ(decoded->gpus.at(0).longest_gap_start_ns, 77);
  EXPECT_EQ(decoded->warnings.at(0), "WARNING: a \"quoted\" one");
  EXPECT_EQ(decoded->top_operators.at(0).count, 5U);
  EXPECT_EQ(decoded->distributed_rank, 3);
}

TEST(TraceSummaryJson, AbsentStaysAbsent) {
  const auto decoded = decode_trace_summary(encode_trace_summary({}));
  ASSERT_TRUE(decoded.has_value()) << decoded.error().message;
  EXPECT_FALSE(decoded->first_ns.has_value());
  EXPECT_FALSE(decoded->closing_brace.has_value());
  EXPECT_FALSE(decoded->distributed_rank.has_value());
  EXPECT_TRUE(decoded->gpus.empty());
}

TEST(TraceSummaryJson, MissingAndWrongFieldsAreNamed) {
  const json full = full_json();
  for (const auto& [name, value] : full.items()) {
    json wrong = full;
    wrong[name] = json::object({{"not", "this"}});
    EXPECT_THAT(problem_of(wrong), HasSubstr('"' + name + '"'));
  }
  json without = full_json();
  without.erase("kernels");
  EXPECT_THAT(problem_of(without), HasSubstr("\"kernels\" is missing"));
  without = full_json();
  without["gpus"][0].erase("busy_s");
  EXPECT_THAT(problem_of(without), HasSubstr("\"busy_s\" is missing"));
}

TEST(TraceSummaryJson, NumbersOutOfRangeAreRefused) {
  json wrong = full_json();
  wrong["events"] = -1;
  EXPECT_THAT(problem_of(wrong), HasSubstr("in range"));
  wrong = full_json();
  wrong["distributed_rank"] = 3'000'000'000U;
  EXPECT_THAT(problem_of(wrong), HasSubstr("in range"));
  wrong = full_json();
  wrong["first_ns"] = 1.5;
  EXPECT_THAT(problem_of(wrong), HasSubstr("whole number"));
}

TEST(TraceSummaryJson, ListsAndTextsAreBounded) {
  json wrong = full_json();
  wrong["warnings"] = json::array();
  for (std::size_t i = 0; i <= kMaxSummaryWarnings; ++i) wrong["warnings"].push_back("w");
  EXPECT_THAT(problem_of(wrong), HasSubstr("short enough"));
  wrong = full_json();
  wrong["problem"] = std::string(kMaxSummarySentence + 1, 'x');
  EXPECT_THAT(problem_of(wrong), HasSubstr("short enough"));
  EXPECT_FALSE(decode_trace_summary(std::string(kMaxSummaryJson + 1, ' ')).has_value());
}

TEST(TraceSummaryJson, TextsAreCleanedOnBothWays) {
  TraceSummary summary;
  summary.host_name = "a\x1b[2Jb";
  EXPECT_EQ(encode_trace_summary(summary).find("\\u001b"), std::string::npos);
  json text = full_json();
  text["warnings"][0] = "a\x1b[2Jb";
  const auto decoded = decode_trace_summary(text.dump());
  ASSERT_TRUE(decoded.has_value());
  EXPECT_EQ(decoded->warnings.at(0).find('\x1b'), std::string::npos);
}

TEST(TraceSummaryJson, TheLargestStaysWithinTheLimit) {
  TraceSummary summary = full_summary();
  const std::string quotes(10'000, '"');  // doubles when escaped
  summary.problem = summary.truncation = summary.approximation = quotes;
  summary.trace_id = summary.host_name = quotes;
  summary.warnings.assign(100, quotes);
  summary.categories.assign(100, {.category = quotes, .events = 18'446'744'073'709'551'615U});
  const double long_number = -1.2345678901234567e-300;
  summary.gpus.assign(100, {.device = -2'000'000'000,
                            .window_s = long_number,
                            .busy_s = long_number,
                            .communication_s = long_number,
                            .idle_s = long_number,
                            .longest_gap_s = long_number,
                            .longest_gap_start_ns = std::numeric_limits<std::int64_t>::min()});
  summary.top_kernels.assign(100, {.name = quotes, .self_s = long_number, .count = 1});
  summary.top_operators = summary.top_kernels;
  const std::string text = encode_trace_summary(summary);
  EXPECT_LE(text.size(), kMaxSummaryJson);
  const auto decoded = decode_trace_summary(text);
  ASSERT_TRUE(decoded.has_value()) << decoded.error().message;
  EXPECT_EQ(encode_trace_summary(*decoded), text);
}

TEST(TraceSummaryJson, NotASummary) {
  EXPECT_FALSE(decode_trace_summary("").has_value());
  EXPECT_FALSE(decode_trace_summary("[]").has_value());
  EXPECT_FALSE(decode_trace_summary("{}").has_value());
  EXPECT_FALSE(decode_trace_summary("{\"whole\": \"\xff\"}").has_value());
  EXPECT_FALSE(decode_trace_summary("{\"bytes\": 1e999}").has_value());
  EXPECT_FALSE(decode_trace_summary(std::string(kMaxSummaryJson, '[')).has_value());
}

}  // namespace
}  // namespace dynolog
