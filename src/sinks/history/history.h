// The last hours, kept on the host: a sink that takes every frame, a thread of its own that
// compresses and writes them twice a minute, and answers to questions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "metrics/catalogue.h"
#include "metrics/sink.h"
#include "sinks/history/query.h"

namespace dynolog::history {

struct HistoryWorld {
  const Clock& clock;
  Log& log;
  Catalogue catalogue;
  // The daemon's own directory; "": memory only, and `memory_reason` is a sentence on why.
  std::string directory;
  std::string memory_reason;
  std::uint64_t bytes = 256U << 20U;               // on disk
  std::uint64_t memory_bytes = 4U << 20U;          // when in memory only
  Nanoseconds interval = std::chrono::seconds(1);  // from frame to frame
  // How it fares, when that changes: "ok" or "degraded" with a sentence. On the history's thread,
  // which opens the store: start() does not wait for the disk.
  std::function<void(const std::string& state, const std::string& reason)> report;
};

struct ListedSeries {
  Labels labels;
  std::int64_t last_seen_ms = 0;  // 0: within the last minute
};
struct ListedMetric {
  std::string name;
  std::string kind;  // "derived" for those that are computed
  std::string unit;
  std::string help;
  std::string prometheus;
  std::string otlp;
  std::uint64_t series_count = 0;
  std::vector<ListedSeries> series;  // when asked for
};
struct ListQuestion {
  std::string selector;  // "": all; else a metric's name with conditions, or a part of names
  bool series = false;
};
struct HistoryExtent {
  bool on_disk = false;
  std::uint64_t bytes = 0;        // of values, compressed
  std::int64_t raw_since_ms = 0;  // 0: none yet
  std::int64_t minutes_since_ms = 0;
};
struct Listing {
  std::vector<ListedMetric> metrics;
  HistoryExtent extent;
};

class History {
 public:
  // Never fails as a whole: where the directory cannot be used, values are kept in memory, and the
  // report says why.
  [[nodiscard]] static std::unique_ptr<History> start(HistoryWorld world);
  // Writes what is not written yet, and joins its thread. Questions that wait are answered first.
  virtual ~History() = default;

  // Outlived by the history. Its consume() copies the frame's values, and allocates nothing once
  // it has seen as large a frame.
  [[nodiscard]] virtual std::unique_ptr<Sink> make_sink() = 0;

  // Any thread; `done` is called on the history's thread, or at once when too many wait. Never
  // after the destructor has returned.
  virtual void ask(Question question, std::function<void(Result<Answer>)> done) = 0;
  virtual void list(ListQuestion question, std::function<void(Result<Listing>)> done) = 0;
};

}  // namespace dynolog::history
