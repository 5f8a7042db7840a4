// dyno metrics: the figures of a host, from the hours that its daemon keeps.
#include "cli/commands/metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>
#include <string>
#include <vector>

#include <CLI/App.hpp>

#include "base/text.h"
#include "cli/clean_metrics.h"
#include "cli/client.h"
#include "cli/metric_text.h"
#include "cli/render_json.h"
#include "cli/render_metrics.h"
#include "cli/value_check.h"
#include "rpc/protocol/metrics_codec.h"

namespace dynolog::commands {
namespace {

constexpr const char* kDescription =
    "Shows the figures of a host from the hours that its daemon keeps: every reading of the last\n"
    "hours, and a minute's least, mean, greatest and last value for days. Metrics have our own\n"
    "names (cpu.utilization, net.received_bytes); those of Prometheus and OpenTelemetry are\n"
    "understood, too.";
constexpr const char* kExamples = R"(
Examples:
  dyno metrics query cpu.utilization --last 10m
  dyno metrics query disk.throughput net.throughput memory.used --last 1h
  dyno metrics list net                                    metrics with "net" in their names

Exit codes: 0; 3 no such metric, or no values; 4 no history is kept; 6 no daemon. Global options:
dyno --help)";
constexpr const char* kQueryDescription =
    "Shows the course of metrics.\n"
    "Counters are shown as rates per second, all else as it is; a step's value is the mean of "
    "what\n"
    "was read within it. An expression is a metric's name and conditions on its labels, as\n"
    "Prometheus writes them: = != =~ !~.";
constexpr const char* kQueryExamples = R"(
Examples:
  dyno metrics query cpu.utilization --last 10m
  dyno metrics query 'cpu.time{mode="user"}' --sum --by cpu --last 5m
  dyno metrics query 'node_network_receive_bytes_total{device=~"eth.*"}' --last 1h --step 1m
  dyno metrics query cpu.utilization.cpu --max --last 2h            the busiest seconds of each CPU
  dyno metrics query memory.used --from 2026-11-30T14:00 --to 2026-11-30T15:00 --csv > used.csv
  dyno metrics query cpu.utilization disk.utilization --newest --json | jq '.results[].series'

Times are UTC; --from and --to also take times before now: --from -2h --to -1h.
Exit codes: 0; 2 what was asked is not possible; 3 no such metric, or no values; 4 it was too much
at once, or no history is kept; 6 no daemon.)";
constexpr const char* kListExamples = R"(
Examples:
  dyno metrics list                       every metric, and since when there are values
  dyno metrics list disk --series         the labels of each series, too
  dyno metrics list 'cpu.time{cpu="0"}' --series
  dyno metrics list --json | jq -r '.metrics[] | select(.kind == "derived") | .name'

Exit codes: 0; 3 no such metric; 4 no history is kept; 6 no daemon.)";

// What may be typed for a length or a point of time, checked when it is typed.
CLI::Validator length_of_time() {
  return {[](std::string& text) -> std::string {
            const auto length = parse_length(text);
            if (length && *length > 0) return "";
            return "must be a length of time, like 90s, 10m, 2h or 1d";
          },
          ""};
}

CLI::Validator point_in_time() {
  return {[](std::string& text) -> std::string {
            if (parse_time(text, WallTime{})) return "";
            return "must be a time, like 2026-11-30T14:00:00Z (UTC), -2h (before now) or now";
          },
          ""};
}

struct QueryOptions {
  std::vector<std::string> selectors;
  std::string last;
  std::string from;
  std::string to;
  std::string step;
  bool raw = false;
  bool rate = false;
  bool increase = false;
  bool min = false;
  bool max = false;
  bool at_end = false;
  bool sum = false;
  bool mean = false;
  bool least = false;
  bool greatest = false;
  bool count = false;
  std::vector<std::string> by;
  bool newest = false;
  bool csv = false;
};

rpc::MetricExpression expression_of(const QueryOptions& options, const std::string& selector) {
  rpc::MetricExpression expression{.selector = selector, .by = options.by};
  if (options.raw) expression.value = "raw";
  if (options.rate) expression.value = "rate";
  if (options.increase) expression.value = "increase";
  if (options.min) expression.fold = "min";
  if (options.max) expression.fold = "max";
  if (options.at_end) expression.fold = "last";
  if (options.sum) expression.join = "sum";
  if (options.mean) expression.join = "mean";
  if (options.least) expression.join = "min";
  if (options.greatest) expression.join = "max";
  if (options.count) expression.join = "count";
  return expression;
}

rpc::QueryMetricsRequest request_of(const QueryOptions& options, WallTime now) {
  rpc::QueryMetricsRequest request;
  for (const std::string& selector : options.selectors) {
    request.expressions.push_back(expression_of(options, selector));
  }
  if (!options.last.empty()) request.last_ms = parse_length(options.last);
  if (!options.from.empty()) request.begin_ms = parse_time(options.from, now);
  if (!options.to.empty()) request.end_ms = parse_time(options.to, now);
  request.step_ms = parse_length(options.step).value_or(0);
  request.newest_only = options.newest;
  return request;
}

void declare_query(CLI::App& app, QueryOptions& options) {
  app.add_option("metric", options.selectors, "Metrics: name, or name{label=\"value\",...}")
      ->required()
      ->check(not_empty());
  auto* last = app.add_option("--last", options.last, "The time before now: 90s, 10m, 2h, 1d")
                   ->check(length_of_time());
  app.add_option("--from", options.from, "The begin: 2026-11-30T14:00:00Z, or -2h before now")
      ->check(point_in_time())
      ->excludes(last);
  app.add_option("--to", options.to, "The end, likewise (now)")->check(point_in_time());
  app.add_option("--step", options.step, "Length of a step; the daemon chooses one for 200 points")
      ->check(length_of_time());
  auto* newest = app.add_flag("--newest", options.newest, "Only the newest value of each series");
  newest->excludes(last);
  auto* raw = app.add_flag("--raw", options.raw, "Counters as they are, not as rates");
  auto* rate = app.add_flag("--rate", options.rate, "Rates per second: refused for no counter");
  auto* increase = app.add_flag("--increase", options.increase, "The increase within each step");
  raw->excludes(rate)->excludes(increase);
  rate->excludes(increase);
  auto* min = app.add_flag("--min", options.min, "A step's value is the least within it");
  auto* max = app.add_flag("--max", options.max, "A step's value is the greatest within it");
  auto* end = app.add_flag("--end", options.at_end, "A step's value is the last within it");
  min->excludes(max)->excludes(end);
  max->excludes(end);
  std::vector<CLI::Option*> joins{
      app.add_flag("--sum", options.sum, "One series: the sum of all"),
      app.add_flag("--mean", options.mean, "One series: the mean of all"),
      app.add_flag("--least", options.least, "One series: the least of all at each step"),
      app.add_flag("--greatest", options.greatest, "One series: the greatest of all at each step"),
      app.add_flag("--count", options.count, "How many series have a value")};
  for (CLI::Option* one : joins) {
    for (CLI::Option* other : joins) {
      if (one != other) one->excludes(other);
    }
  }
  app.add_option("--by", options.by, "With --sum and the like: one for each value of these labels")
      ->delimiter(',')
      ->check(not_empty());
  app.add_flag("--csv", options.csv, "A line for each step, a column for each series");
}

bool is_utf8(const World& world) {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const auto value = world.environment(name);
    if (!value || value->empty()) continue;
    return value->contains("UTF-8") || value->contains("utf8") || value->contains("UTF8");
  }
  return false;
}

class MetricsCommand final : public Command {
 public:
  explicit MetricsCommand(CLI::App& app) {
    app.require_subcommand(1);
    query_ = add(app, "query", kQueryDescription, kQueryExamples);
    declare_query(*query_, options_);
    list_ = add(app, "list", "Lists the metrics, and since when there are values.", kListExamples);
    list_->add_option("metric", filter_, "A part of names, or name{label=\"value\",...}");
    list_->add_flag("--series", series_, "With the labels of each series");
    list_->add_flag("--csv", options_.csv, "A line for each metric or series");
  }

  ExitCode run(const World& world, const GlobalOptions& global) override {
    if (options_.csv && global.json) {
      world.err << "dyno: --csv and --json exclude each other\n";
      return ExitCode::usage;
    }
    return query_->parsed() ? query(world, global) : list(world, global);
  }

 private:
  static CLI::App* add(CLI::App& app, const char* name, const char* about, const char* examples) {
    CLI::App* made = app.add_subcommand(name, about);
    made->footer(examples);
    made->fallthrough();
    return made;
  }

  static MetricsLook look_of(const World& world) {
    return {.columns = world.out_columns > 0 ? static_cast<std::size_t>(world.out_columns) : 0,
            .utf8 = is_utf8(world)};
  }

  static bool is_absent(const rpc::MetricResult& result) { return result.series.empty(); }

  static ExitCode failed(const World& world, const Client& client, CallFailure failure) {
    if (client.may_be_existing_daemon(failure)) {
      failure.error.message += "; an existing dynolog daemon keeps no metrics";
    }
    return report(world, failure);
  }

  ExitCode query(const World& world, const GlobalOptions& global) {
    if (!options_.by.empty() && expression_of(options_, "").join.empty()) {
      world.err << "dyno: --by also needs to know what to make of the series of a group: --sum, "
                   "--mean, --least, --greatest or --count\n";
      return ExitCode::usage;
    }
    Client client(world, global);
    auto request = request_of(options_, world.clock.wall());
    const auto ask = [&] {
      return client.ask<rpc::QueryMetricsReply>(rpc::encode(request),
                                                rpc::decode_query_metrics_reply);
    };
    // One of several that is not there hides nothing of the others.
    request.absent_ok = request.expressions.size() > 1;
    auto reply = ask();
    if (reply && request.absent_ok && std::ranges::all_of(reply->results, is_absent)) {
      request.absent_ok = false;  // the error says why
      reply = ask();
    }
    if (!reply) return failed(world, client, reply.error());
    if (global.json) {
      world.out << pretty_json(rpc::encode(*reply));
    } else if (options_.csv) {
      world.out << metrics_csv(*reply);
    } else {
      world.out << render_metrics(*reply, look_of(world));
    }
    bool is_whole = true;
    for (const rpc::MetricResult& result : reply->results) {
      if (!request.absent_ok || !is_absent(result)) continue;
      is_whole = false;
      world.err << fmt::format("dyno: nothing is kept of {}; `dyno metrics list` shows all\n",
                               clean_text(result.selector, 200));
    }
    if (!is_whole) return ExitCode::nothing_matched;
    if (has_values(*reply)) return ExitCode::ok;
    world.err << "dyno: there are no values in that time; `dyno metrics list` says since when "
                 "there are\n";
    return ExitCode::nothing_matched;
  }

  ExitCode list(const World& world, const GlobalOptions& global) {
    Client client(world, global);
    const auto reply = client.ask<rpc::ListMetricsReply>(
        rpc::encode(rpc::ListMetricsRequest{.selector = filter_, .series = series_}),
        rpc::decode_list_metrics_reply);
    if (!reply) return failed(world, client, reply.error());
    if (global.json) {
      world.out << pretty_json(rpc::encode(*reply));
    } else if (options_.csv) {
      world.out << metric_list_csv(*reply);
    } else {
      world.out << render_metric_list(*reply, look_of(world));
    }
    return ExitCode::ok;
  }

  CLI::App* query_ = nullptr;
  CLI::App* list_ = nullptr;
  QueryOptions options_;
  std::string filter_;
  bool series_ = false;
};

}  // namespace

std::unique_ptr<Command> make_metrics(CLI::App& app) {
  app.description(kDescription);
  app.footer(kExamples);
  return std::make_unique<MetricsCommand>(app);
}

}  // namespace dynolog::commands
