// Between the RPC's words and the history's.
#include "daemon/history_service.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>

#include "base/number.h"
#include "base/text.h"
#include "rpc/protocol/metrics_codec.h"

namespace dynolog {
namespace {

using history::Fold;
using history::Join;
using history::Value;

constexpr std::array<std::pair<std::string_view, Value>, 4> kValues{
    {{"", Value::natural},
     {"raw", Value::raw},
     {"rate", Value::rate},
     {"increase", Value::increase}}};
constexpr std::array<std::pair<std::string_view, Fold>, 4> kFolds{
    {{"mean", Fold::mean}, {"min", Fold::min}, {"max", Fold::max}, {"last", Fold::last}}};
constexpr std::array<std::pair<std::string_view, Join>, 6> kJoins{{{"", Join::none},
                                                                   {"sum", Join::sum},
                                                                   {"mean", Join::mean},
                                                                   {"min", Join::min},
                                                                   {"max", Join::max},
                                                                   {"count", Join::count}}};

template <class T, std::size_t N>
Result<T> word(const std::array<std::pair<std::string_view, T>, N>& words, std::string_view text,
               std::string_view field) {
  std::string allowed;
  for (const auto& [name, value] : words) {
    if (name == text) return value;
    if (name.empty()) continue;
    allowed += fmt::format("{}{}", allowed.empty() ? "" : ", ", name);
  }
  return fail(ErrorKind::invalid,
              fmt::format("{} '{}' is none of: {}", field, clean_text(text, 40), allowed));
}

Result<history::Expression> expression_of(const rpc::MetricExpression& from) {
  history::Expression expression{.selector = from.selector, .fold = {}, .by = from.by};
  const auto value = word(kValues, from.value, "value");
  if (!value) return std::unexpected(value.error());
  expression.value = *value;
  if (!from.fold.empty()) {
    const auto fold = word(kFolds, from.fold, "fold");
    if (!fold) return std::unexpected(fold.error());
    expression.fold = *fold;
  }
  const auto join = word(kJoins, from.join, "join");
  if (!join) return std::unexpected(join.error());
  expression.join = *join;
  return expression;
}

std::unexpected<Error> no_history() {
  return fail(ErrorKind::unavailable,
              "this daemon keeps no history: it was started with --nouse_history");
}

}  // namespace

Result<history::Question> question_of(const rpc::QueryMetricsRequest& request) {
  history::Question question{.expressions = {},
                             .last_ms = request.last_ms,
                             .begin_ms = request.begin_ms,
                             .end_ms = request.end_ms,
                             .step_ms = request.step_ms,
                             .newest_only = request.newest_only,
                             .absent_ok = request.absent_ok};
  if (request.last_ms && request.begin_ms) {
    return fail(ErrorKind::invalid, "last_ms and begin_ms exclude each other");
  }
  if (request.last_ms && *request.last_ms < 0) {
    return fail(ErrorKind::invalid, "last_ms is negative");
  }
  for (const rpc::MetricExpression& from : request.expressions) {
    auto expression = expression_of(from);
    if (!expression) return std::unexpected(std::move(expression.error()));
    question.expressions.push_back(std::move(*expression));
  }
  return question;
}

rpc::QueryMetricsReply reply_of(history::Answer answer, const std::string& host) {
  rpc::QueryMetricsReply reply{
      .host = host, .begin_ms = answer.begin_ms, .step_ms = answer.step_ms, .results = {}};
  for (history::Outcome& outcome : answer.results) {
    rpc::MetricResult& result = reply.results.emplace_back();
    result.selector = std::move(outcome.selector);
    result.metric = std::move(outcome.metric);
    result.unit = std::move(outcome.unit);
    result.help = std::move(outcome.help);
    for (history::ResultSeries& from : outcome.series) {
      rpc::MetricSeries& series = result.series.emplace_back();
      series.labels.pairs = std::move(from.labels);
      series.newest_ms = from.newest_ms;
      series.values.reserve(from.values.size());
      for (const double value : from.values) {
        series.values.push_back(std::isfinite(value) ? std::optional(value) : std::nullopt);
      }
    }
  }
  return reply;
}

void name_users(rpc::QueryMetricsReply& reply, const UserNames& names) {
  std::map<std::string, std::string> known;
  for (const rpc::MetricResult& result : reply.results) {
    for (const rpc::MetricSeries& series : result.series) {
      for (const auto& [key, value] : series.labels.pairs) {
        if (key != "uid") continue;
        const auto uid = parse_number<std::uint32_t>(value);
        const auto found = uid ? names.find(*uid) : names.end();
        if (found != names.end()) known.try_emplace(value, found->second);
      }
    }
  }
  if (!known.empty()) reply.users.emplace().pairs.assign(known.begin(), known.end());
}

rpc::ListMetricsReply reply_of(history::Listing listing, const std::string& host) {
  rpc::ListMetricsReply reply{.host = host,
                              .on_disk = listing.extent.on_disk,
                              .bytes = listing.extent.bytes,
                              .raw_since_ms = listing.extent.raw_since_ms,
                              .minutes_since_ms = listing.extent.minutes_since_ms,
                              .metrics = {}};
  for (history::ListedMetric& from : listing.metrics) {
    rpc::KeptMetric& metric = reply.metrics.emplace_back();
    metric.name = std::move(from.name);
    metric.kind = std::move(from.kind);
    metric.unit = std::move(from.unit);
    metric.help = std::move(from.help);
    metric.prometheus = std::move(from.prometheus);
    metric.otlp = std::move(from.otlp);
    metric.series_count = from.series_count;
    for (history::ListedSeries& series : from.series) {
      metric.series.push_back(
          {.labels = {std::move(series.labels)}, .last_seen_ms = series.last_seen_ms});
    }
  }
  return reply;
}

rpc::MetricsService::DoneText HistoryService::on_loop(DoneText done) {
  return [&loop = loop_, done = std::move(done)](Result<std::string> json) {
    loop.post([done, json = std::move(json)] { done(json); });
  };
}

void HistoryService::query(rpc::QueryMetricsRequest request, DoneText done) {
  history::History* history = history_();
  if (history == nullptr) return done(no_history());
  // The busiest processes are looked for at each tick while somebody watches them.
  const auto is_live = [](const rpc::MetricExpression& expression) {
    return expression.selector.starts_with("process.");
  };
  UserNames names;
  if (std::ranges::any_of(request.expressions, is_live)) {
    if (request.newest_only && !request.end_ms) on_look_();
    names = user_names_();
  }
  auto question = question_of(request);
  if (!question) return done(std::unexpected(std::move(question.error())));
  history->ask(std::move(*question),
               [host = host_, names = std::move(names),
                back = on_loop(std::move(done))](Result<history::Answer> answer) {
                 if (!answer) return back(std::unexpected(std::move(answer.error())));
                 auto reply = reply_of(std::move(*answer), host);
                 name_users(reply, names);
                 back(encode(reply));
               });
}

void HistoryService::list(rpc::ListMetricsRequest request, DoneText done) {
  history::History* history = history_();
  if (history == nullptr) return done(no_history());
  history->list({.selector = std::move(request.selector), .series = request.series},
                [host = host_, back = on_loop(std::move(done))](Result<history::Listing> listing) {
                  if (!listing) return back(std::unexpected(std::move(listing.error())));
                  back(encode(reply_of(std::move(*listing), host)));
                });
}

}  // namespace dynolog
