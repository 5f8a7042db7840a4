// Tables of metrics.
#include "cli/render_metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "base/time_text.h"
#include "cli/metric_text.h"
#include "cli/table.h"

namespace dynolog {
namespace {

using Align = Table::Align;

constexpr std::size_t kMostCourse = 60;
constexpr std::size_t kLeastCourse = 8;

std::string time_text(std::int64_t ms) {
  return to_rfc3339(WallTime(std::chrono::milliseconds(ms)));
}

// cpu="0",mode="idle"
std::string labels_text(const rpc::MetricLabels& labels) {
  std::string text;
  for (const auto& [key, value] : labels.pairs) {
    if (!text.empty()) text += ',';
    text += fmt::format("{}=\"{}\"", key, value);
  }
  return text;
}

std::string series_name(const rpc::MetricResult& result, const rpc::MetricSeries& series) {
  const std::string labels = labels_text(series.labels);
  return labels.empty() ? result.metric : fmt::format("{}{{{}}}", result.metric, labels);
}

struct Figures {
  std::optional<double> last;
  double least = 0;
  double most = 0;
  double sum = 0;
  double count = 0;
};

Figures figures_of(const rpc::MetricSeries& series) {
  Figures figures;
  for (const auto& value : series.values) {
    if (!value) continue;
    figures.least = figures.last ? std::min(figures.least, *value) : *value;
    figures.most = figures.last ? std::max(figures.most, *value) : *value;
    figures.last = *value;
    figures.sum += *value;
    ++figures.count;
  }
  return figures;
}

Table table_of(const rpc::MetricResult& result, std::size_t course, bool utf8) {
  std::vector<Table::Column> columns{{.name = "SERIES"},
                                     {.name = "LAST", .align = Align::right},
                                     {.name = "MIN", .align = Align::right},
                                     {.name = "MEAN", .align = Align::right},
                                     {.name = "MAX", .align = Align::right}};
  if (course > 0) columns.push_back({.name = "COURSE"});
  Table table(std::move(columns));
  for (const rpc::MetricSeries& series : result.series) {
    const Figures figures = figures_of(series);
    const std::string labels = labels_text(series.labels);
    std::vector<std::string> cells{labels.empty() ? result.metric : labels, "-", "-", "-", "-"};
    if (figures.last) {
      cells[1] = readable(*figures.last, result.unit);
      cells[2] = readable(figures.least, result.unit);
      cells[3] = readable(figures.sum / figures.count, result.unit);
      cells[4] = readable(figures.most, result.unit);
    }
    if (course > 0) cells.push_back(sparkline(series.values, course, utf8));
    table.add(std::move(cells));
  }
  return table;
}

// What is left of a line beside the other columns; 0: too little.
std::size_t course_width(const rpc::MetricResult& result, const MetricsLook& look) {
  if (look.columns == 0) return 0;
  const std::string bare = table_of(result, 0, false).text(0);
  std::size_t widest = 0;
  for (std::size_t begin = 0; begin < bare.size();) {
    const std::size_t end = std::min(bare.find('\n', begin), bare.size());
    widest = std::max(widest, characters(std::string_view(bare).substr(begin, end - begin)));
    begin = end + 1;
  }
  if (widest + 2 + kLeastCourse > look.columns) return 0;
  return std::min(kMostCourse, look.columns - widest - 2);
}

std::string csv_cell(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string cell = "\"";
  for (const char letter : text) {
    if (letter == '"') cell += '"';
    cell += letter;
  }
  return cell + "\"";
}

std::size_t steps_of(const rpc::QueryMetricsReply& reply) {
  std::size_t steps = 0;
  for (const rpc::MetricResult& result : reply.results) {
    for (const rpc::MetricSeries& series : result.series) {
      steps = std::max(steps, series.values.size());
    }
  }
  return steps;
}

std::string length_text(std::int64_t ms) {
  if (ms % 3'600'000 == 0) return fmt::format("{} h", ms / 3'600'000);
  if (ms % 60'000 == 0) return fmt::format("{} min", ms / 60'000);
  if (ms % 1000 == 0) return fmt::format("{} s", ms / 1000);
  return fmt::format("{} ms", ms);
}

}  // namespace

bool has_values(const rpc::QueryMetricsReply& reply) {
  return std::ranges::any_of(reply.results, [](const rpc::MetricResult& result) {
    return std::ranges::any_of(result.series, [](const rpc::MetricSeries& series) {
      return std::ranges::any_of(series.values,
                                 [](const auto& value) { return value.has_value(); });
    });
  });
}

std::string render_metrics(const rpc::QueryMetricsReply& reply, const MetricsLook& look) {
  const auto steps = static_cast<std::int64_t>(steps_of(reply));
  std::string text = fmt::format("{}: {} from {}, in steps of {}\n", reply.host,
                                 length_text(steps * reply.step_ms), time_text(reply.begin_ms),
                                 length_text(reply.step_ms));
  for (const rpc::MetricResult& result : reply.results) {
    text += fmt::format("\n{}{}\n", result.metric,
                        result.help.empty() ? "" : fmt::format(": {}", result.help));
    const std::size_t course = steps > 1 ? course_width(result, look) : 0;
    text += table_of(result, course, look.utf8).text(look.columns);
  }
  return text;
}

std::string metrics_csv(const rpc::QueryMetricsReply& reply) {
  std::string text = "time";
  for (const rpc::MetricResult& result : reply.results) {
    for (const rpc::MetricSeries& series : result.series) {
      text += "," + csv_cell(series_name(result, series));
    }
  }
  text += '\n';
  const std::size_t steps = steps_of(reply);
  for (std::size_t step = 0; step < steps; ++step) {
    text += time_text(reply.begin_ms + static_cast<std::int64_t>(step) * reply.step_ms);
    for (const rpc::MetricResult& result : reply.results) {
      for (const rpc::MetricSeries& series : result.series) {
        text += ',';
        if (step < series.values.size() && series.values[step]) {
          text += fmt::format("{}", *series.values[step]);
        }
      }
    }
    text += '\n';
  }
  return text;
}

std::string render_metric_list(const rpc::ListMetricsReply& reply, const MetricsLook& look) {
  Table table({{.name = "METRIC"},
               {.name = "KIND"},
               {.name = "UNIT"},
               {.name = "SERIES", .align = Align::right},
               {.name = "WHAT"}});
  for (const rpc::KeptMetric& metric : reply.metrics) {
    const bool derived = metric.kind == "derived";
    table.add({metric.name, metric.kind, metric.unit.empty() ? "-" : metric.unit,
               derived ? "-" : fmt::format("{}", metric.series_count), metric.help});
    for (const rpc::KeptSeries& series : metric.series) {
      table.add({"  " + labels_text(series.labels), "", "", "",
                 series.last_seen_ms == 0 ? "" : "until " + time_text(series.last_seen_ms)});
    }
  }
  std::string text = table.text(look.columns);
  text += fmt::format("\n{} {} of history", readable(static_cast<double>(reply.bytes), "bytes"),
                      reply.on_disk ? "on disk" : "in memory");
  if (reply.raw_since_ms > 0) {
    text += fmt::format("; every reading since {}", time_text(reply.raw_since_ms));
  }
  if (reply.minutes_since_ms > 0) {
    text += fmt::format("; minutes since {}", time_text(reply.minutes_since_ms));
  }
  return text + "\n";
}

std::string metric_list_csv(const rpc::ListMetricsReply& reply) {
  std::string text = "metric,labels,kind,unit,prometheus,otlp,help\n";
  for (const rpc::KeptMetric& metric : reply.metrics) {
    const auto line = [&](const std::string& labels) {
      text += fmt::format("{},{},{},{},{},{},{}\n", csv_cell(metric.name), csv_cell(labels),
                          metric.kind, metric.unit, csv_cell(metric.prometheus),
                          csv_cell(metric.otlp), csv_cell(metric.help));
    };
    if (metric.series.empty()) line("");
    for (const rpc::KeptSeries& series : metric.series) line(labels_text(series.labels));
  }
  return text;
}

}  // namespace dynolog
