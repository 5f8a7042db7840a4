// What the check of a trace file found: plain values, for the daemon, the side-car and `dyno`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace dynolog {

// A summary stays small whatever the trace holds. Lengths are bytes of cleaned text (base/text.h).
inline constexpr std::size_t kMaxSummaryCategories = 32;  // "other" included
inline constexpr std::size_t kMaxSummaryWarnings = 8;
inline constexpr std::size_t kMaxSummaryGpus = 32;
inline constexpr std::size_t kMaxSummaryTop = 5;
inline constexpr std::size_t kMaxSummaryName = 256;      // ids, hosts, kernels, operators
inline constexpr std::size_t kMaxSummaryCategory = 64;   // a category's name
inline constexpr std::size_t kMaxSummarySentence = 512;  // problems, warnings

struct CategoryCount {
  std::string category;  // Kineto's "cat"; "other" gathers what went beyond the limit
  std::uint64_t events = 0;
  bool operator==(const CategoryCount&) const = default;
};

// One GPU's share of the window. All within the window; busy + idle = window.
struct GpuTime {
  int device = 0;
  double window_s = 0;
  double busy_s = 0;           // some kernel, copy or memset ran
  double communication_s = 0;  // some collective's kernel ran (part of busy)
  double idle_s = 0;
  double longest_gap_s = 0;               // the longest stretch of idle, the window's ends included
  std::int64_t longest_gap_start_ns = 0;  // wall time; 0 when the file tells none
  bool operator==(const GpuTime&) const = default;
};

struct NameTime {
  std::string name;
  double self_s = 0;  // without what ran nested in it
  std::uint64_t count = 0;
  bool operator==(const NameTime&) const = default;
};

struct TraceSummary {
  // The file.
  bool whole = false;            // the top-level object is closed and nothing follows
  std::string problem;           // where and why it is not
  bool compressed = false;       // gzip
  std::uint64_t bytes = 0;       // of JSON: after decompression
  std::uint64_t file_bytes = 0;  // as read from the disk
  // Where the top-level '}' stands: a delivery may write more members in its place. Absent in
  // compressed files and in those that are not whole.
  std::optional<std::uint64_t> closing_brace;

  // Whose it is.
  std::string trace_id;   // top-level "trace_id", "" when absent
  std::string host_name;  // the same
  bool has_distributed_info = false;
  std::optional<int> distributed_rank;  // of "distributedInfo"

  // What is in it.
  std::uint64_t events = 0;               // elements of "traceEvents"
  std::vector<CategoryCount> categories;  // most events first, "other" last
  std::uint64_t kernels = 0;              // kernels that ran on a GPU
  // Of the training loop: ProfilerStep#N, else optimizer steps, all optimizers together as Kineto
  // counts them.
  std::uint64_t steps = 0;
  std::vector<std::string> warnings;  // the client's own, where the file carries them
  std::string truncation;             // a sentence when events seem to be missing, or ""

  // When: nanoseconds of wall time since the epoch.
  std::optional<std::int64_t> first_ns;         // the first event's start
  std::optional<std::int64_t> last_ns;          // the last event's end
  std::optional<std::int64_t> window_start_ns;  // as the client says
  std::optional<std::int64_t> window_end_ns;

  // Where the time went.
  std::vector<GpuTime> gpus;            // by device
  std::vector<NameTime> top_kernels;    // most time of their own first
  std::vector<NameTime> top_operators;  // the same, for operators on the CPU
  bool approximate = false;             // some figures are, to stay within bounded memory
  std::string approximation;            // which and why: a sentence, or ""
  bool operator==(const TraceSummary&) const = default;
};

}  // namespace dynolog
