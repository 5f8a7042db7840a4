// Encoding with protozero. Field numbers are those of opentelemetry-proto 1.
#include "sinks/otlp_encoding.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <utility>

#include <protozero/pbf_writer.hpp>

#include "base/number.h"
#include "metrics/naming.h"

namespace dynolog {
namespace {

using protozero::pbf_writer;

constexpr std::size_t kMaxEnded = 20'000;
constexpr std::string_view kScopeName = "dynolog";

namespace field {
// ExportMetricsServiceRequest, ResourceMetrics, ScopeMetrics, Resource, InstrumentationScope
constexpr protozero::pbf_tag_type kResourceMetrics = 1, kResource = 1, kScopeMetrics = 2,
                                  kScope = 1, kMetrics = 2, kResourceAttributes = 1, kScopeName = 1,
                                  kScopeVersion = 2;
// Metric, Gauge, Sum
constexpr protozero::pbf_tag_type kName = 1, kDescription = 2, kUnit = 3, kGauge = 5, kSum = 7,
                                  kPoints = 1, kTemporality = 2, kMonotonic = 3;
// NumberDataPoint
constexpr protozero::pbf_tag_type kStart = 2, kTime = 3, kDouble = 4, kAttributes = 7;
// KeyValue, AnyValue
constexpr protozero::pbf_tag_type kKey = 1, kValue = 2, kString = 1, kInteger = 3;
}  // namespace field

constexpr int kCumulative = 2;
constexpr std::size_t kFixed64 = 9;  // a tag below 16 and eight bytes

std::uint64_t nanoseconds(WallTime time) {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(time.time_since_epoch().count(), 0));
}

void add_attribute(pbf_writer& to, protozero::pbf_tag_type tag, std::string_view key,
                   std::string_view value) {
  pbf_writer pair(to, tag);
  pair.add_string(field::kKey, key.data(), key.size());
  pbf_writer any(pair, field::kValue);
  const auto number = is_integer_attribute(key) ? parse_number<std::int64_t>(value) : std::nullopt;
  if (number) {
    any.add_int64(field::kInteger, *number);
  } else {
    any.add_string(field::kString, value.data(), value.size());
  }
}

// Labels that are not part of the name; one without a value says nothing.
std::string encoded_attributes(const Series& series) {
  const MetricDescriptor& metric = *series.descriptor;
  std::string attributes;
  pbf_writer writer(attributes);
  for (std::size_t i = 0; i < series.label_values.size(); ++i) {
    const LabelKey& label = metric.labels[i];
    if (folds(metric.otlp.name, label.key) || series.label_values[i].empty()) continue;
    add_attribute(writer, field::kAttributes, label.otlp.empty() ? label.key : label.otlp,
                  series.label_values[i]);
  }
  if (!metric.otlp.fixed_key.empty()) {
    add_attribute(writer, field::kAttributes, metric.otlp.fixed_key, metric.otlp.fixed_value);
  }
  return attributes;
}

std::string encoded_head(const std::string& name, const MetricDescriptor& metric) {
  std::string head;
  pbf_writer writer(head);
  writer.add_string(field::kName, name);
  writer.add_string(field::kDescription, metric.help.data(), metric.help.size());
  const std::string_view unit = otlp_shape(metric).unit;
  writer.add_string(field::kUnit, unit.data(), unit.size());
  return head;
}

}  // namespace

// Requests as they grow.
class OtlpEncoder::Batches {
 public:
  Batches(const std::string& resource, const std::string& scope, std::size_t limit)
      : resource_(resource), scope_(scope), limit_(limit) {}

  // Between two of these the points are of one metric.
  void begin(const Metric& metric) { metric_ = &metric; }

  // `start`: 0 for none.
  void add(std::uint64_t start, std::uint64_t time, double value, const std::string& attributes) {
    const std::size_t size = (start != 0 ? 3 : 2) * kFixed64 + attributes.size();
    if (points_in_metric_ > 0 && scope_metrics_.size() + points_.size() + size > limit_) {
      end();
      finish();
    }
    {
      pbf_writer list(points_);
      pbf_writer point(list, field::kPoints, size);
      if (start != 0) point.add_fixed64(field::kStart, start);
      point.add_fixed64(field::kTime, time);
      point.add_double(field::kDouble, value);
      points_ += attributes;  // fields of the point, encoded before
    }
    ++points_in_metric_;
  }

  void end() {
    if (points_in_metric_ == 0) return;
    const bool is_sum = metric_->instrument != Instrument::gauge;
    {
      pbf_writer scope(scope_metrics_);
      if (scope_metrics_.empty()) scope.add_message(field::kScope, scope_);
      pbf_writer metric(scope, field::kMetrics);
      scope_metrics_ += metric_->head;
      pbf_writer data(metric, is_sum ? field::kSum : field::kGauge);
      scope_metrics_ += points_;
      if (is_sum) {
        data.add_enum(field::kTemporality, kCumulative);
        data.add_bool(field::kMonotonic, metric_->instrument == Instrument::counter);
      }
    }
    points_in_batch_ += points_in_metric_;
    points_in_metric_ = 0;
    points_.clear();
    if (scope_metrics_.size() >= limit_) finish();
  }

  std::vector<OtlpBatch> take() {
    finish();
    return std::move(batches_);
  }

 private:
  void finish() {
    if (points_in_batch_ == 0) return;
    OtlpBatch batch{.bytes = {}, .points = points_in_batch_};
    {
      pbf_writer request(batch.bytes);
      pbf_writer of_resource(request, field::kResourceMetrics);
      of_resource.add_message(field::kResource, resource_);
      of_resource.add_message(field::kScopeMetrics, scope_metrics_);
    }
    batches_.push_back(std::move(batch));
    scope_metrics_.clear();
    points_in_batch_ = 0;
  }

  const std::string& resource_;
  const std::string& scope_;
  const std::size_t limit_;
  const Metric* metric_ = nullptr;
  std::string points_;
  std::size_t points_in_metric_ = 0;
  std::string scope_metrics_;
  std::size_t points_in_batch_ = 0;
  std::vector<OtlpBatch> batches_;
};

OtlpEncoder::OtlpEncoder(const OtlpOrigin& origin, std::size_t batch_bytes)
    : batch_bytes_(batch_bytes),
      boot_(nanoseconds(origin.boot)),
      started_(nanoseconds(origin.started)) {
  pbf_writer resource(resource_);
  for (const auto& [key, value] : origin.resource) {
    add_attribute(resource, field::kResourceAttributes, key, value);
  }
  pbf_writer scope(scope_);
  scope.add_string(field::kScopeName, kScopeName.data(), kScopeName.size());
  scope.add_string(field::kScopeVersion, origin.version);
}

void OtlpEncoder::plan(const SeriesTable& table) {
  keep_ended(table);
  metrics_.clear();
  streams_.resize(table.size());
  std::map<std::string, std::size_t> by_name;
  for (Slot slot = 0; slot < table.size(); ++slot) {
    const Series* series = table.at(slot);
    if (series == nullptr || series->descriptor->otlp.name.empty()) continue;
    const MetricDescriptor& descriptor = *series->descriptor;
    const std::string name = expand_name(descriptor.otlp.name, *series);
    const auto [known, added] = by_name.try_emplace(name, metrics_.size());
    if (added) {
      metrics_.push_back({.head = encoded_head(name, descriptor),
                          .instrument = otlp_shape(descriptor).instrument,
                          .of_daemon = descriptor.counter.of_daemon,
                          .points = {}});
    }
    std::string attributes = encoded_attributes(*series);
    plan_stream(*series, slot, std::hash<std::string>{}(name + '\0' + attributes));
    metrics_[known->second].points.push_back(
        {slot, std::move(attributes), descriptor.counter.backward_slack});
  }
}

// The streams of series that are not in the new table: one of the same name and attributes may
// come, and must not go on as if nothing had been.
void OtlpEncoder::keep_ended(const SeriesTable& table) {
  for (Slot slot = 0; slot < streams_.size(); ++slot) {
    const Series* series = slot < table.size() ? table.at(slot) : nullptr;
    if (series != nullptr && series->id == streams_[slot].id) continue;
    if (streams_[slot].has_value) {
      if (ended_.size() >= kMaxEnded) ended_.clear();
      ended_[streams_[slot].key] = streams_[slot];
    }
    streams_[slot] = {};
  }
}

void OtlpEncoder::plan_stream(const Series& series, Slot slot, std::uint64_t key) {
  if (series.descriptor->kind != MetricKind::counter || streams_[slot].id == series.id) return;
  Stream& stream = streams_[slot];
  const auto before = ended_.find(key);
  if (before != ended_.end()) {
    stream = before->second;
    ended_.erase(before);
  } else {
    stream.start = series.descriptor->counter.of_daemon ? started_ : boot_;
  }
  stream.id = series.id;
  stream.key = key;
}

bool OtlpEncoder::is_new(const Series& series, const Frame& frame) const {
  return frame.reading_of(series).time > sent_[series.source];
}

void OtlpEncoder::put_points(const Metric& metric, const Frame& frame, const IntervalValues& means,
                             Batches& batches) {
  batches.begin(metric);
  for (const Point& point : metric.points) {
    const Series& series = *planned_for_->at(point.slot);
    if (!is_new(series, frame)) continue;
    const bool is_counter = series.descriptor->kind == MetricKind::counter;
    const auto value = is_counter ? frame.value(point.slot) : means.reading(point.slot);
    if (!value) continue;
    const auto since = frame.reading_of(series).time - frame.monotonic();  // not positive
    const std::uint64_t time = nanoseconds(frame.wall() + since);
    if (!is_counter) {
      const std::uint64_t start = metric.of_daemon ? started_ : boot_;
      batches.add(metric.instrument == Instrument::gauge ? 0 : std::min(start, time), time, *value,
                  point.attributes);
      continue;
    }
    Stream& stream = streams_[point.slot];
    double sent = *value;
    if (stream.has_value && sent < stream.value) {
      if (stream.value - sent <= point.backward_slack) {
        sent = stream.value;  // the kernel's noise
      } else {
        stream.start = stream.newest;  // it began anew after that
      }
    }
    stream.value = sent;
    stream.newest = time;
    stream.has_value = true;
    batches.add(std::min(stream.start, time), time, sent, point.attributes);
  }
  batches.end();
}

std::vector<OtlpBatch> OtlpEncoder::encode(const Frame& frame, const IntervalValues& means) {
  if (planned_for_ != frame.table()) {
    plan(*frame.table());
    planned_for_ = frame.table();
  }
  sent_.resize(frame.sources().size(), MonotonicTime::min());
  Batches batches(resource_, scope_, batch_bytes_);
  for (const Metric& metric : metrics_) put_points(metric, frame, means, batches);
  for (std::size_t source = 0; source < sent_.size(); ++source) {
    sent_[source] = std::max(sent_[source], frame.sources()[source].time);
  }
  return batches.take();
}

}  // namespace dynolog
