// The fields of the metrics' messages, as fields.h has those of the others.
#pragma once

#include "rpc/protocol/fields.h"
#include "rpc/protocol/metrics_messages.h"

namespace dynolog::rpc {

template <class V>
void visit_fields(V& visit, Like<MetricExpression> auto& s) {
  visit("selector", s.selector);
  visit("value", s.value);
  visit("fold", s.fold);
  visit("join", s.join);
  visit("by", s.by);
}

template <class V>
void visit_fields(V& visit, Like<QueryMetricsRequest> auto& s) {
  visit("expressions", s.expressions);
  visit("last_ms", s.last_ms);
  visit("begin_ms", s.begin_ms);
  visit("end_ms", s.end_ms);
  visit("step_ms", s.step_ms);
  visit("newest_only", s.newest_only);
  visit("absent_ok", s.absent_ok);
}

template <class V>
void visit_fields(V& visit, Like<MetricSeries> auto& s) {
  visit("labels", s.labels);
  visit("values", s.values);
  visit("newest_ms", s.newest_ms);
}

template <class V>
void visit_fields(V& visit, Like<MetricResult> auto& s) {
  visit("selector", s.selector);
  visit("metric", s.metric);
  visit("unit", s.unit);
  visit("help", s.help);
  visit("series", s.series);
}

template <class V>
void visit_fields(V& visit, Like<QueryMetricsReply> auto& s) {
  visit("host", s.host);
  visit("begin_ms", s.begin_ms);
  visit("step_ms", s.step_ms);
  visit("results", s.results);
  visit("users", s.users);
}

template <class V>
void visit_fields(V& visit, Like<ListMetricsRequest> auto& s) {
  visit("selector", s.selector);
  visit("series", s.series);
}

template <class V>
void visit_fields(V& visit, Like<KeptSeries> auto& s) {
  visit("labels", s.labels);
  visit("last_seen_ms", s.last_seen_ms);
}

template <class V>
void visit_fields(V& visit, Like<KeptMetric> auto& s) {
  visit("name", s.name);
  visit("kind", s.kind);
  visit("unit", s.unit);
  visit("help", s.help);
  visit("prometheus", s.prometheus);
  visit("otlp", s.otlp);
  visit("series_count", s.series_count);
  visit("series", s.series);
}

template <class V>
void visit_fields(V& visit, Like<ListMetricsReply> auto& s) {
  visit("host", s.host);
  visit("on_disk", s.on_disk);
  visit("bytes", s.bytes);
  visit("raw_since_ms", s.raw_since_ms);
  visit("minutes_since_ms", s.minutes_since_ms);
  visit("metrics", s.metrics);
}

}  // namespace dynolog::rpc
