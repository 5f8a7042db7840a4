// Frames as OTLP requests: protobuf of ExportMetricsServiceRequest. Pure: no socket, no thread.
// What does not change of a series is encoded once for a series table, numbers for each request.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "metrics/frame.h"
#include "metrics/interval_values.h"
#include "sinks/otlp_conventions.h"

namespace dynolog {

struct OtlpOrigin {
  std::vector<std::pair<std::string, std::string>> resource;  // attributes: service.name, ...
  std::string version;                                        // ours
  WallTime boot;     // since when the kernel's counters count, at the earliest
  WallTime started;  // since when the daemon's do
};

struct OtlpBatch {
  std::string bytes;
  std::size_t points = 0;
};

class OtlpEncoder {
 public:
  // A request is begun anew when it has grown to so many bytes.
  static constexpr std::size_t kBatchBytes = 1U << 20U;
  explicit OtlpEncoder(const OtlpOrigin& origin, std::size_t batch_bytes = kBatchBytes);

  // The readings since the last call: counters as they are, the others as `means` has them. A
  // source that was not read anew has no points, so that no point is sent twice.
  [[nodiscard]] std::vector<OtlpBatch> encode(const Frame& frame, const IntervalValues& means);

 private:
  // What a counter's points have to agree with: OTLP tells a reset by a new start.
  struct Stream {
    SeriesId id;
    std::uint64_t key = 0;    // a hash of name and attributes: who comes back is known by it
    std::uint64_t start = 0;  // nanoseconds since the epoch
    std::uint64_t newest = 0;
    double value = 0;
    bool has_value = false;
  };
  struct Point {
    Slot slot = 0;
    std::string attributes;  // encoded
    double backward_slack = 0;
  };
  struct Metric {
    std::string head;  // encoded: name, description, unit
    Instrument instrument = Instrument::gauge;
    bool of_daemon = false;
    std::vector<Point> points;
  };
  class Batches;
  void plan(const SeriesTable& table);
  void plan_stream(const Series& series, Slot slot, std::uint64_t key);
  void keep_ended(const SeriesTable& table);
  void put_points(const Metric& metric, const Frame& frame, const IntervalValues& means,
                  Batches& batches);
  [[nodiscard]] bool is_new(const Series& series, const Frame& frame) const;

  std::string resource_;  // encoded
  std::string scope_;     // encoded
  std::size_t batch_bytes_;
  std::uint64_t boot_;
  std::uint64_t started_;
  std::shared_ptr<const SeriesTable> planned_for_;
  std::vector<Metric> metrics_;
  std::vector<Stream> streams_;                      // by slot
  std::unordered_map<std::uint64_t, Stream> ended_;  // by key; what was of devices that went
  std::vector<MonotonicTime> sent_;                  // by source: the newest reading that was
};

}  // namespace dynolog
