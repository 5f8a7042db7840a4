// Requests and replies about the metrics that a daemon keeps. docs/history.md explains them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace dynolog::rpc {

// --- queryMetrics ---
// One stretch of time, any number of expressions.
struct MetricLabels {  // an object of strings
  std::vector<std::pair<std::string, std::string>> pairs;
};
struct MetricExpression {
  std::string selector;         // cpu.time{cpu="0"}, or a name of Prometheus or OTLP
  std::string value = "";       // "": counters as rates; "raw", "rate", "increase"
  std::string fold = "";        // within a step: "" (mean), "mean", "min", "max", "last"
  std::string join = "";        // over series: "", "sum", "mean", "min", "max", "count"
  std::vector<std::string> by;  // with join: labels to keep
};
struct QueryMetricsRequest {
  std::vector<MetricExpression> expressions;
  std::optional<std::int64_t> last_ms;   // this long before the end; neither this nor begin: 10 min
  std::optional<std::int64_t> begin_ms;  // since the epoch
  std::optional<std::int64_t> end_ms;    // default: now, by the daemon's clock
  std::int64_t step_ms = 0;              // 0: the daemon chooses
  bool newest_only = false;              // one value each: the newest of the last three minutes
  bool absent_ok = false;  // what is not there has a result without series; else it is an error
};
struct MetricSeries {
  MetricLabels labels;
  std::vector<std::optional<double>> values;   // one for each step; null: absent
  std::optional<std::int64_t> newest_ms = {};  // with newest_only: of the value's step
};
struct MetricResult {
  std::string selector;  // as it was asked
  std::string metric;    // the daemon's own id
  std::string unit;      // "bytes/s"; "": none
  std::string help;
  std::vector<MetricSeries> series;
};
struct QueryMetricsReply {
  std::string host;
  std::int64_t begin_ms = 0;  // of the first step; with newest_only, of the newest value
  std::int64_t step_ms = 0;
  std::vector<MetricResult> results;  // in the order of the expressions
  // Of process.*: the names of users by the uids among the labels, as far as the host knows them.
  std::optional<MetricLabels> users = {};
};

// --- listMetrics ---
struct ListMetricsRequest {
  std::string selector;  // "": all; a selector with conditions, or a part of names
  bool series = false;   // with the labels of each series
};
struct KeptSeries {
  MetricLabels labels;
  std::int64_t last_seen_ms = 0;  // 0: within the last minute
};
struct KeptMetric {
  std::string name;
  std::string kind;  // "counter", "gauge", "ratio", "info", "derived"
  std::string unit;
  std::string help;
  std::string prometheus;  // its name there; "": none
  std::string otlp;
  std::uint64_t series_count = 0;
  std::vector<KeptSeries> series;
};
struct ListMetricsReply {
  std::string host;
  bool on_disk = false;
  std::uint64_t bytes = 0;        // of values, compressed
  std::int64_t raw_since_ms = 0;  // values as they were read; 0: none yet
  std::int64_t minutes_since_ms = 0;
  std::vector<KeptMetric> metrics;
};

}  // namespace dynolog::rpc
