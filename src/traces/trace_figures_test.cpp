// The figures of a trace: against a plain computation, against traces made by hand and by PyTorch.
#include "traces/trace_figures.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include <nlohmann/json.hpp>

#include "traces/made_trace_test.h"
#include "traces/operator_times.h"

namespace dynolog {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr std::int64_t kBase = 1'790'857'026'000'000'000;
constexpr std::int64_t kMs = 1'000'000;

std::int64_t ns(double seconds) { return std::llround(seconds * 1e9); }

std::uint64_t events_of(const TraceSummary& summary, std::string_view category) {
  for (const CategoryCount& count : summary.categories) {
    if (count.category == category) return count.events;
  }
  return 0;
}

// --- random traces ---

class RandomTrace {
 public:
  explicit RandomTrace(unsigned seed) : random_(seed) {}

  MadeTrace make() {
    MadeTrace trace;
    for (int i = 0; i < 40; ++i) trace.events.push_back(gpu_event());
    for (int i = 0; i < 12; ++i) operators(trace.events, 0, 20'000, pick(0, 2), 0);
    std::shuffle(trace.events.begin(), trace.events.end(), random_);
    trace.base = kBase;
    trace.base_at_tail = pick(0, 1) == 1;
    trace.window_start = pick(0, 3'000);
    trace.window_end = pick(12'000, 25'000);
    return trace;
  }

 private:
  std::int64_t pick(std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(random_);
  }
  MadeEvent gpu_event() {
    static constexpr std::array kCategories{"kernel", "kernel", "gpu_memcpy", "gpu_memset",
                                            "gpu_user_annotation"};
    static constexpr std::array kNames{"gemm", "relu", "ncclDevKernel_AllReduce"};
    const auto device = static_cast<int>(pick(0, 2));
    return {.category = kCategories[static_cast<std::size_t>(pick(0, 4))],
            .name = kNames[static_cast<std::size_t>(pick(0, 2))],
            .process = device,
            .thread = static_cast<int>(pick(7, 9)),
            .start = pick(0, 24'000),
            .duration = pick(0, 1'500),
            .device = device};
  }
  // An operator somewhere in [from, to] and some inside it; now and then one juts out.
  void operators(std::vector<MadeEvent>& events, std::int64_t from, std::int64_t to,
                 std::int64_t thread, int depth) {
    const std::int64_t start = pick(from, to);
    const std::int64_t end = pick(start, pick(0, 9) == 0 ? to + 500 : to);
    events.push_back({.category = "cpu_op",
                      .name = fmt::format("op{}", pick(0, 4)),
                      .process = 4242,
                      .thread = static_cast<int>(thread),
                      .start = start,
                      .duration = end - start,
                      .device = {}});
    if (depth >= 4) return;
    for (std::int64_t i = pick(0, 2); i > 0; --i) operators(events, start, end, thread, depth + 1);
  }

  std::mt19937 random_;
};

void expect_as_plain(const MadeTrace& trace, const TraceSummary& summary) {
  ASSERT_TRUE(summary.window_start_ns.has_value());
  for (const GpuTime& gpu : summary.gpus) {
    const PlainGpu plain =
        plain_gpu(trace.events, gpu.device, *trace.window_start, *trace.window_end);
    EXPECT_EQ(ns(gpu.window_s), *trace.window_end - *trace.window_start);
    EXPECT_EQ(ns(gpu.busy_s), plain.busy);
    EXPECT_EQ(ns(gpu.communication_s), plain.communication);
    EXPECT_EQ(ns(gpu.longest_gap_s), plain.longest_gap);
    EXPECT_EQ(ns(gpu.busy_s + gpu.idle_s), ns(gpu.window_s));
  }
  const auto self_times = plain_self_times(trace.events);
  std::vector<std::int64_t> most;
  for (const auto& [name, time] : self_times) most.push_back(time);
  std::sort(most.rbegin(), most.rend());
  ASSERT_THAT(summary.top_operators, SizeIs(std::min<std::size_t>(most.size(), 5)));
  for (std::size_t i = 0; i < summary.top_operators.size(); ++i) {
    const NameTime& top = summary.top_operators[i];
    EXPECT_EQ(ns(top.self_s), most[i]);
    EXPECT_EQ(ns(top.self_s), self_times.at(top.name)) << top.name;
  }
}

TEST(TraceFigures, RandomTracesOutOfOrderAgreeWithThePlainComputation) {
  for (unsigned seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    const MadeTrace trace = RandomTrace(seed).make();
    const TraceSummary summary = summary_of(trace.text());
    EXPECT_TRUE(summary.whole) << summary.problem;
    EXPECT_FALSE(summary.approximate) << summary.approximation;
    EXPECT_EQ(summary.window_start_ns, *trace.window_start + kBase);
    EXPECT_EQ(summary.window_end_ns, *trace.window_end + kBase);
    EXPECT_THAT(summary.gpus, SizeIs(3));
    expect_as_plain(trace, summary);
  }
}

// --- files ---

TEST(TraceFigures, GpuTraceByHand) {
  const std::string text = fixture("gpu-by-hand.json");
  const TraceSummary summary = summary_of(text);
  EXPECT_TRUE(summary.whole) << summary.problem;
  EXPECT_FALSE(summary.approximate);
  EXPECT_EQ(summary.trace_id, "424243");
  EXPECT_TRUE(summary.has_distributed_info);
  EXPECT_EQ(summary.distributed_rank, 3);
  EXPECT_EQ(summary.kernels, 4U);
  EXPECT_EQ(summary.steps, 1U);
  EXPECT_EQ(summary.window_start_ns, kBase + 7'000 * kMs);
  EXPECT_EQ(summary.window_end_ns, kBase + 7'001 * kMs);
  EXPECT_EQ(summary.first_ns, kBase + 7'000'010'000);
  EXPECT_EQ(summary.last_ns, kBase + 7'001'100'001);
  ASSERT_THAT(summary.gpus, SizeIs(1));
  const GpuTime& gpu = summary.gpus[0];
  EXPECT_EQ(ns(gpu.window_s), 1'000'000);
  EXPECT_EQ(ns(gpu.busy_s), 770'125);
  EXPECT_EQ(ns(gpu.communication_s), 350'000);
  EXPECT_EQ(ns(gpu.idle_s), 229'875);
  EXPECT_EQ(ns(gpu.longest_gap_s), 100'000);
  EXPECT_EQ(gpu.longest_gap_start_ns, kBase + 7'000'600'000);
  ASSERT_THAT(summary.top_kernels, SizeIs(3));
  EXPECT_EQ(summary.top_kernels[0].name, "ampere_sgemm_128x64_tn");
  EXPECT_EQ(ns(summary.top_kernels[0].self_s), 510'000);
  EXPECT_EQ(summary.top_kernels[0].count, 2U);
  EXPECT_EQ(ns(summary.top_kernels[1].self_s), 350'000);
  EXPECT_EQ(summary.top_operators[0].name, "aten::addmm");
  EXPECT_EQ(ns(summary.top_operators[0].self_s), 40'000);
  EXPECT_THAT(summary.warnings, ElementsAre("WARNING: 3 events are missing their launch"));
  EXPECT_EQ(summary.truncation, "");
  EXPECT_EQ(summary.closing_brace, text.size() - 1);
}

std::vector<MadeEvent> operators_in(const std::string& text) {
  std::vector<MadeEvent> events;
  const nlohmann::json trace = nlohmann::json::parse(text);
  for (const auto& event : trace["traceEvents"]) {
    if (event.value("cat", "") != "cpu_op") continue;
    events.push_back({.category = "cpu_op",
                      .name = event["name"],
                      .process = event["pid"],
                      .thread = event["tid"],
                      .start = std::llround(event["ts"].get<double>() * 1000),
                      .duration = std::llround(event["dur"].get<double>() * 1000),
                      .device = {}});
  }
  return events;
}

TEST(TraceFigures, TraceOfPyTorch) {
  const std::string text = fixture("pytorch-2.13-on-demand-cpu.json");
  const TraceSummary summary = summary_of(text);
  EXPECT_TRUE(summary.whole) << summary.problem;
  EXPECT_EQ(summary.trace_id, "424242");
  EXPECT_EQ(summary.host_name, "node7");
  EXPECT_EQ(summary.events, 51U);
  EXPECT_EQ(events_of(summary, "cpu_op"), 40U);
  EXPECT_EQ(events_of(summary, "metadata"), 8U);
  EXPECT_EQ(events_of(summary, "none"), 2U);
  EXPECT_EQ(summary.kernels, 0U);
  EXPECT_THAT(summary.gpus, IsEmpty());
  EXPECT_FALSE(summary.has_distributed_info);
  EXPECT_EQ(summary.window_start_ns, 1'796'022'024'133'914'669);  // 120 ms were asked for
  EXPECT_EQ(summary.window_end_ns, 1'796'022'024'253'937'698);
  const auto plain = plain_self_times(operators_in(text));
  ASSERT_THAT(summary.top_operators, SizeIs(5));
  for (const NameTime& top : summary.top_operators) {
    EXPECT_EQ(ns(top.self_s), plain.at(top.name)) << top.name;
  }
}

// --- time ---

TEST(TraceFigures, AbsoluteTimesOfOldFiles) {
  const TraceSummary summary = summary_of(trace_of(
      R"json({"ph": "X", "cat": "cpu_op", "name": "a", "pid": 1, "tid": 1, "ts": 1690000000123456,
          "dur": 7},
         {"ph": "X", "cat": "Trace", "name": "PyTorch Profiler (0)", "ts": 1690000000000000.5,
          "dur": 1000})json"));
  EXPECT_EQ(summary.first_ns, 1'690'000'000'123'456'000);
  EXPECT_EQ(summary.last_ns, 1'690'000'000'123'463'000);
  EXPECT_EQ(summary.window_start_ns, 1'690'000'000'000'000'500);
  EXPECT_EQ(summary.window_end_ns, 1'690'000'000'001'000'500);
}

TEST(TraceFigures, RelativeTimesWithoutABaseAreNoWallTimes) {
  MadeTrace trace;
  trace.events = {{.category = "kernel", .name = "k", .start = 10, .duration = 5, .device = 0}};
  trace.window_start = 0;
  trace.window_end = 100;
  const TraceSummary summary = summary_of(trace.text());
  EXPECT_FALSE(summary.first_ns.has_value());
  EXPECT_FALSE(summary.window_start_ns.has_value());
  ASSERT_THAT(summary.gpus, SizeIs(1));
  EXPECT_EQ(ns(summary.gpus[0].idle_s), 95);
  EXPECT_EQ(summary.gpus[0].longest_gap_start_ns, 0);
}

TEST(TraceFigures, WithoutTheClientsWindowItIsThatOfTheEvents) {
  MadeTrace trace;
  trace.events = {{.category = "cpu_op", .name = "a", .start = 0, .duration = 10, .device = {}},
                  {.category = "kernel", .name = "k", .start = 20, .duration = 30, .device = 0},
                  {.category = "cpu_op", .name = "a", .start = 90, .duration = 10, .device = {}}};
  const TraceSummary summary = summary_of(trace.text());
  EXPECT_FALSE(summary.window_end_ns.has_value());
  ASSERT_THAT(summary.gpus, SizeIs(1));
  EXPECT_EQ(ns(summary.gpus[0].window_s), 100);
  EXPECT_EQ(ns(summary.gpus[0].busy_s), 30);
  EXPECT_EQ(ns(summary.gpus[0].longest_gap_s), 50);
}

TEST(TraceFigures, OddTimesAreLeftOut) {
  const TraceSummary summary = summary_of(trace_of(
      R"({"ph": "X", "cat": "kernel", "name": "a", "pid": 0, "ts": NaN, "dur": 1},
         {"ph": "X", "cat": "kernel", "name": "b", "pid": 0, "ts": 1e300, "dur": 1},
         {"ph": "X", "cat": "kernel", "name": "c", "pid": 0, "ts": [1], "dur": {"x": 2}},
         {"ph": "X", "cat": "kernel", "name": "d", "pid": 0, "ts": "7", "dur": 1},
         {"ph": "X", "cat": "kernel", "name": "e", "pid": 0, "ts": 123456789012345678901234567890,
          "dur": 1},
         {"ph": "X", "cat": "kernel", "name": "f", "pid": 0, "ts": 5, "dur": -7},
         {"ph": "X", "cat": "kernel", "name": "g", "pid": 0, "ts": 5, "dur": -Infinity},
         {"ph": "X", "cat": "kernel", "name": "h", "pid": 0, "ts": 4000000000000000,
          "dur": 4000000000000000},
         {"ph": "X", "cat": "cpu_op", "name": "i", "pid": 0, "ts": -4000000000000000,
          "dur": 4000000000000000})",
      R"(, "baseTimeNanoseconds": 9223372036854775807)"));
  EXPECT_TRUE(summary.whole) << summary.problem;
  EXPECT_EQ(summary.kernels, 8U);
  EXPECT_EQ(summary.events, 9U);
  EXPECT_FALSE(summary.last_ns.has_value());  // no 64-bit number holds it
}

// --- GPUs ---

TEST(TraceFigures, CollectivesAreKnownByNameOrArguments) {
  MadeTrace trace;
  for (const char* name : {"ncclKernel_AllGather_RING", "void mscclKernel_Sum", "gemm",
                           "void vllm::cross_device_reduce_1stage<float>"}) {
    trace.events.push_back({.category = "kernel",
                            .name = name,
                            .start = 100 * static_cast<std::int64_t>(trace.events.size()),
                            .duration = 10,
                            .device = 0});
  }
  EXPECT_EQ(ns(summary_of(trace.text()).gpus.at(0).communication_s), 30);
  const TraceSummary by_arguments = summary_of(trace_of(
      R"({"ph": "X", "cat": "kernel", "name": "k", "ts": 1, "dur": 2,
          "args": {"device": 0, "Collective name": "allreduce"}},
         {"ph": "X", "cat": "kernel", "name": "k", "ts": 11, "dur": 4, "args": {"device": 0}})"));
  EXPECT_EQ(ns(by_arguments.gpus.at(0).communication_s), 2000);
  EXPECT_EQ(ns(by_arguments.gpus.at(0).busy_s), 6000);
}

TEST(TraceFigures, TheDeviceIsThatOfTheArgumentsElseTheProcess) {
  const TraceSummary summary = summary_of(trace_of(
      R"({"ph": "X", "cat": "kernel", "name": "k", "pid": 5, "ts": 1, "dur": 2,
          "args": {"grid": [1, 1], "device": 3}},
         {"args": {"device": 9, "x": {"device": 4}}, "dur": 2, "ts": 1, "pid": 5, "name": "k",
          "cat": "kernel", "ph": "X"},
         {"ph": "X", "cat": "gpu_memcpy", "name": "k", "pid": 5, "ts": 1, "dur": 2})"));
  std::vector<int> devices;
  for (const GpuTime& gpu : summary.gpus) devices.push_back(gpu.device);
  EXPECT_THAT(devices, ElementsAre(3, 5, 9));
}

TEST(TraceFigures, MoreGpusThanAreToldMakeItApproximate) {
  MadeTrace trace;
  for (int device = 0; device < 40; ++device) {
    trace.events.push_back(
        {.category = "kernel", .name = "k", .start = 0, .duration = 10, .device = device});
  }
  const TraceSummary summary = summary_of(trace.text());
  EXPECT_THAT(summary.gpus, SizeIs(kMaxSummaryGpus));
  EXPECT_TRUE(summary.approximate);
  EXPECT_THAT(summary.approximation, HasSubstr("GPUs"));
}

TEST(TraceFigures, WhyOperatorsTimesAreEstimatesIsTold) {
  MadeTrace trace;
  for (int thread = 0; thread <= static_cast<int>(OperatorTimes::kMaxThreads); ++thread) {
    trace.events.push_back({.category = "cpu_op",
                            .name = "op",
                            .thread = thread,
                            .start = 0,
                            .duration = 10,
                            .device = {}});
  }
  const TraceSummary summary = summary_of(trace.text());
  EXPECT_TRUE(summary.approximate);
  EXPECT_THAT(summary.approximation, HasSubstr("they run on over 4096 threads"));
  EXPECT_EQ(summary.approximation.find("out of order"), std::string::npos);
}

// --- what looks cut short ---

MadeTrace with_quiet_end(std::int64_t last_kernel_end, std::int64_t last_operator) {
  MadeTrace trace;
  trace.base = kBase;
  trace.window_start = 0;
  trace.window_end = 500 * kMs;
  trace.events = {
      {.category = "kernel",
       .name = "k",
       .start = kMs,
       .duration = last_kernel_end - kMs,
       .device = 0},
      {.category = "cpu_op", .name = "a", .start = last_operator, .duration = kMs, .device = {}}};
  return trace;
}

TEST(TraceFigures, SilentGpusWhileOperatorsGoOnLookTruncated) {
  EXPECT_THAT(summary_of(with_quiet_end(200 * kMs, 490 * kMs).text()).truncation,
              HasSubstr("300 ms before the window"));
  EXPECT_EQ(summary_of(with_quiet_end(470 * kMs, 490 * kMs).text()).truncation, "");
  EXPECT_EQ(summary_of(with_quiet_end(200 * kMs, 210 * kMs).text()).truncation, "");
}

TEST(TraceFigures, TheClientsOwnMessages) {
  MadeTrace trace;
  trace.more_members =
      R"(, "INFO": ["nothing of note"], "WARNING": ["one \u001b[2J", "one \u001b[2J", 7, ["x"]],
         "ERROR": ["State: CollectTrace stopped by GPU profiler. (Buffer size is 128MB) "])";
  const TraceSummary summary = summary_of(trace.text());
  ASSERT_THAT(summary.warnings, SizeIs(2));
  EXPECT_THAT(summary.warnings[0], HasSubstr("ERROR: State: CollectTrace stopped"));
  EXPECT_THAT(summary.warnings[1], HasSubstr("WARNING: one"));
  EXPECT_EQ(summary.warnings[1].find('\x1b'), std::string::npos);
  EXPECT_THAT(summary.truncation, HasSubstr("buffers were full"));
}

TEST(TraceFigures, TheClientsMessagesAreBounded) {
  ClientMessages messages;
  for (int i = 0; i < 100; ++i) {
    messages.add(ClientMessages::Level::warning, fmt::format("{} {}", i, std::string(9000, 'x')));
  }
  messages.add(ClientMessages::Level::error, "an error comes first");
  const auto told = messages.told();
  ASSERT_THAT(told, SizeIs(kMaxSummaryWarnings));
  EXPECT_EQ(told.front(), "ERROR: an error comes first");
  EXPECT_EQ(told.back(), "and 94 more of the client's own");
  for (const std::string& text : told) EXPECT_LE(text.size(), kMaxSummarySentence);
}

// --- counts ---

TEST(TraceFigures, StepsAreTheProfilersElseTheOptimizers) {
  const auto annotation = [](std::string name) {
    return MadeEvent{.category = "user_annotation", .name = std::move(name), .device = {}};
  };
  MadeTrace trace;
  trace.events = {annotation("Optimizer.step#SGD.step"), annotation("Optimizer.step#SGD.step"),
                  annotation("Optimizer.zero_grad#SGD.zero_grad")};
  EXPECT_EQ(summary_of(trace.text()).steps, 2U);
  trace.events.push_back(annotation("ProfilerStep#12"));
  EXPECT_EQ(summary_of(trace.text()).steps, 1U);
}

TEST(TraceFigures, CategoriesAreCountedMostFirstAndBounded) {
  MadeTrace trace;
  for (int category = 0; category < 50; ++category) {
    for (int i = 0; i <= category; ++i) {
      trace.events.push_back({.category = fmt::format("c{}", category), .name = "", .device = {}});
    }
  }
  const TraceSummary summary = summary_of(trace.text());
  ASSERT_THAT(summary.categories, SizeIs(kMaxSummaryCategories));
  EXPECT_EQ(summary.categories[0].category, "c49");
  EXPECT_EQ(summary.categories[0].events, 50U);
  EXPECT_EQ(summary.categories.back().category, "other");
  std::uint64_t all = 0;
  for (const CategoryCount& count : summary.categories) all += count.events;
  EXPECT_EQ(all, summary.events);
}

TEST(TraceFigures, OddElementsAreCounted) {
  const TraceSummary summary = summary_of(
      trace_of(R"(1, "x", null, true, [2, {"ph": "X", "cat": "kernel"}], {}, {"ph": ["X"]})"));
  EXPECT_TRUE(summary.whole) << summary.problem;
  EXPECT_EQ(summary.events, 7U);
  EXPECT_EQ(summary.kernels, 0U);
  EXPECT_EQ(events_of(summary, "none"), 7U);
}

TEST(TraceFigures, LongNamesAreCutAndCleaned) {
  MadeTrace trace;
  const std::string start(300, 'k');
  for (const char* end : {"1", "2", "2"}) {
    trace.events.push_back(
        {.category = "kernel", .name = start + end, .start = 0, .duration = 10, .device = 0});
  }
  const TraceSummary summary = summary_of(trace.text());
  ASSERT_THAT(summary.top_kernels, SizeIs(2));  // told apart by what is not shown
  EXPECT_EQ(summary.top_kernels[0].count, 2U);
  EXPECT_EQ(summary.top_kernels[0].name, std::string(kMaxSummaryName - 3, 'k') + "...");
}

// --- distributedInfo ---

TEST(TraceFigures, TheRankInTheFile) {
  const TraceSummary without = summary_of(trace_of("", R"(, "x": {"rank": 5})"));
  EXPECT_FALSE(without.has_distributed_info);
  EXPECT_FALSE(without.distributed_rank.has_value());
  const TraceSummary with =
      summary_of(trace_of("", R"(, "distributedInfo": {"pg_config": [{"rank": 9}], "rank": 5})"));
  EXPECT_TRUE(with.has_distributed_info);
  EXPECT_EQ(with.distributed_rank, 5);
  const TraceSummary odd = summary_of(trace_of("", R"(, "distributedInfo": {"rank": "5"})"));
  EXPECT_TRUE(odd.has_distributed_info);
  EXPECT_FALSE(odd.distributed_rank.has_value());
}

TEST(TraceFigures, MoreMembersFitInThePlaceOfTheClosingBrace) {
  std::string text = fixture("pytorch-2.13-on-demand-cpu.json") + " \n";
  const auto brace = summary_of(text).closing_brace;
  ASSERT_TRUE(brace.has_value());
  ASSERT_EQ(text[*brace], '}');
  text.resize(*brace);
  text += R"(, "distributedInfo": {"rank": 6, "world_size": 8}})";
  const TraceSummary summary = summary_of(text);
  EXPECT_TRUE(summary.whole) << summary.problem;
  EXPECT_EQ(summary.distributed_rank, 6);
}

}  // namespace
}  // namespace dynolog
