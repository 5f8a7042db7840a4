// A summary's fields, listed once for whoever writes or reads them: `visit(name, member)`.
#pragma once

#include <concepts>
#include <type_traits>

#include "traces/trace_summary.h"

namespace dynolog {

template <class S, class T>
concept SummaryPart = std::same_as<std::remove_const_t<S>, T>;

template <class V>
void visit_fields(V& visit, SummaryPart<CategoryCount> auto& s) {
  visit("category", s.category);
  visit("events", s.events);
}

template <class V>
void visit_fields(V& visit, SummaryPart<GpuTime> auto& s) {
  visit("device", s.device);
  visit("window_s", s.window_s);
  visit("busy_s", s.busy_s);
  visit("communication_s", s.communication_s);
  visit("idle_s", s.idle_s);
  visit("longest_gap_s", s.longest_gap_s);
  visit("longest_gap_start_ns", s.longest_gap_start_ns);
}

template <class V>
void visit_fields(V& visit, SummaryPart<NameTime> auto& s) {
  visit("name", s.name);
  visit("self_s", s.self_s);
  visit("count", s.count);
}

template <class V>
void visit_fields(V& visit, SummaryPart<TraceSummary> auto& s) {
  visit("whole", s.whole);
  visit("problem", s.problem);
  visit("compressed", s.compressed);
  visit("bytes", s.bytes);
  visit("file_bytes", s.file_bytes);
  visit("closing_brace", s.closing_brace);
  visit("trace_id", s.trace_id);
  visit("host_name", s.host_name);
  visit("has_distributed_info", s.has_distributed_info);
  visit("distributed_rank", s.distributed_rank);
  visit("events", s.events);
  visit("categories", s.categories);
  visit("kernels", s.kernels);
  visit("steps", s.steps);
  visit("warnings", s.warnings);
  visit("truncation", s.truncation);
  visit("first_ns", s.first_ns);
  visit("last_ns", s.last_ns);
  visit("window_start_ns", s.window_start_ns);
  visit("window_end_ns", s.window_end_ns);
  visit("gpus", s.gpus);
  visit("top_kernels", s.top_kernels);
  visit("top_operators", s.top_operators);
  visit("approximate", s.approximate);
  visit("approximation", s.approximation);
}

}  // namespace dynolog
