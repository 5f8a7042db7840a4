// Making traces, and figures without cleverness.
#include "traces/made_trace_test.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "base/file.h"
#include "testing/source_tree.h"
#include "traces/trace_check.h"

namespace dynolog {
namespace {

std::string microseconds(std::int64_t ns) { return fmt::format("{}.{:03}", ns / 1000, ns % 1000); }

bool on_gpu(const MadeEvent& event) {
  return event.category == "kernel" || event.category == "gpu_memcpy" ||
         event.category == "gpu_memset";
}

bool covers(const MadeEvent& event, std::int64_t from, std::int64_t to) {
  return event.start <= from && event.start + event.duration >= to;
}

std::string event_text(const MadeEvent& event) {
  const std::string device =
      event.device ? fmt::format(R"("stream": 7, "device": {}, "context": 1)", *event.device) : "";
  return fmt::format(
      R"({{"ph": "X", "cat": "{}", "name": "{}", "pid": {}, "tid": {}, "ts": {}, "dur": {})"
      R"(, "args": {{{}}}}})",
      event.category, event.name, event.process, event.thread, microseconds(event.start),
      microseconds(event.duration), device);
}

}  // namespace

std::string MadeTrace::text() const {
  const std::string base_member =
      base ? fmt::format(R"(, "baseTimeNanoseconds": {})", *base) : std::string();
  std::vector<std::string> texts;
  for (const MadeEvent& event : events) texts.push_back(event_text(event));
  if (window_start) {
    texts.push_back(fmt::format(
        R"json({{"ph": "X", "cat": "Trace", "name": "PyTorch Profiler (0)", "pid": "Spans",)json"
        R"( "tid": "PyTorch Profiler", "ts": {}, "dur": 1.000, "args": {{"Op count": 0}}}})",
        microseconds(*window_start)));
  }
  if (window_end) {
    texts.push_back(fmt::format(
        R"({{"ph": "i", "s": "g", "name": "Record Window End", "pid": "", "tid": "", "ts": {}}})",
        microseconds(*window_end)));
  }
  return fmt::format(R"({{"schemaVersion": 1{}, "traceEvents": [{}]{}{}}})",
                     base_at_tail ? "" : base_member, fmt::join(texts, ",\n"),
                     base_at_tail ? base_member : "", more_members);
}

std::string trace_of(std::string_view events, std::string_view more_members) {
  return fmt::format(R"({{"traceEvents": [{}]{}}})", events, more_members);
}

UniqueFd file_of(std::string_view bytes) {
  UniqueFd fd(::memfd_create("trace", MFD_CLOEXEC));
  EXPECT_TRUE(write_all(fd.get(), bytes).has_value());
  EXPECT_EQ(::lseek(fd.get(), 0, SEEK_SET), 0);
  return fd;
}

TraceSummary summary_of(std::string_view bytes) {
  const UniqueFd fd = file_of(bytes);
  auto summary = summarise_trace(fd.get());
  EXPECT_TRUE(summary.has_value());
  return summary.value_or(TraceSummary{});
}

std::string fixture(const std::string& name) {
  auto content = read_file(DYNOLOG_SOURCE_DIR "/tests/fixtures/traces/" + name, 1U << 20U);
  EXPECT_TRUE(content.has_value()) << name;
  return content.value_or("");
}

PlainGpu plain_gpu(const std::vector<MadeEvent>& events, int device, std::int64_t from,
                   std::int64_t to) {
  std::set<std::int64_t> cuts{from, to};
  for (const MadeEvent& event : events) {
    cuts.insert(std::clamp(event.start, from, to));
    cuts.insert(std::clamp(event.start + event.duration, from, to));
  }
  PlainGpu gpu;
  std::int64_t gap = 0;
  for (auto cut = cuts.begin(); std::next(cut) != cuts.end(); ++cut) {
    const std::int64_t start = *cut;
    const std::int64_t end = *std::next(cut);
    bool busy = false;
    bool communicates = false;
    for (const MadeEvent& event : events) {
      if (!on_gpu(event) || event.device != device || !covers(event, start, end)) continue;
      busy = true;
      if (event.category == "kernel" && event.name.starts_with("nccl")) communicates = true;
    }
    if (busy) gpu.busy += end - start;
    if (communicates) gpu.communication += end - start;
    gap = busy ? 0 : gap + (end - start);
    gpu.longest_gap = std::max(gpu.longest_gap, gap);
  }
  return gpu;
}

std::map<std::string, std::int64_t> plain_self_times(const std::vector<MadeEvent>& events) {
  std::map<std::string, std::int64_t> times;
  std::set<std::int64_t> cuts;
  std::set<std::pair<int, int>> threads;
  for (const MadeEvent& event : events) {
    if (event.category != "cpu_op") continue;
    times.emplace(event.name, 0);
    cuts.insert(event.start);
    cuts.insert(event.start + event.duration);
    threads.emplace(event.process, event.thread);
  }
  for (auto cut = cuts.begin(); cut != cuts.end() && std::next(cut) != cuts.end(); ++cut) {
    const std::int64_t start = *cut;
    const std::int64_t end = *std::next(cut);
    for (const auto& [process, thread] : threads) {
      const MadeEvent* innermost = nullptr;
      for (const MadeEvent& event : events) {
        const bool here = event.category == "cpu_op" && event.process == process &&
                          event.thread == thread && covers(event, start, end);
        if (!here) continue;
        // Of two that began at once, the shorter is inside; of two alike, the later in the file.
        if (innermost == nullptr || std::tuple(event.start, -event.duration) >=
                                        std::tuple(innermost->start, -innermost->duration)) {
          innermost = &event;
        }
      }
      if (innermost != nullptr) times[innermost->name] += end - start;
    }
  }
  return times;
}

}  // namespace dynolog
