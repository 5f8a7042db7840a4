// Metrics for people and for spreadsheets. Pure; texts were cleaned when they were decoded.
#pragma once

#include <cstddef>
#include <string>

#include "rpc/protocol/metrics_messages.h"

namespace dynolog {

struct MetricsLook {
  std::size_t columns = 0;  // of the terminal; 0: none, so nothing is cut and no course is drawn
  bool utf8 = false;
};

// A table for each expression: its series with newest, least, mean and greatest value.
[[nodiscard]] std::string render_metrics(const rpc::QueryMetricsReply& reply,
                                         const MetricsLook& look);
// A line for each step, a column for each series.
[[nodiscard]] std::string metrics_csv(const rpc::QueryMetricsReply& reply);
[[nodiscard]] bool has_values(const rpc::QueryMetricsReply& reply);

[[nodiscard]] std::string render_metric_list(const rpc::ListMetricsReply& reply,
                                             const MetricsLook& look);
[[nodiscard]] std::string metric_list_csv(const rpc::ListMetricsReply& reply);

}  // namespace dynolog
