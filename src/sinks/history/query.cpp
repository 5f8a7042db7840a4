// Evaluating expressions.
#include "sinks/history/query.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "base/text.h"
#include "sinks/history/column.h"
#include "sinks/history/roll_up.h"

namespace dynolog::history {
namespace {

constexpr std::int64_t kDefaultStretch = 600'000;
constexpr std::int64_t kNewestWithin = 180'000;
constexpr std::int64_t kGoodPoints = 200;
constexpr std::int64_t kLongest = 400LL * 24 * 3600 * 1000;
// Before the begin, so that slower sources and rates have a past.
constexpr std::int64_t kLookBack = 130'000;
// A longer stretch with steps of a minute or more is answered from minutes, which are fewer.
constexpr std::int64_t kMinutesFrom = 2LL * 3600 * 1000;

constexpr std::int64_t kGoodSteps[] = {1,   2,   5,    10,   15,   30,    60,    120,   300,
                                       600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400};

std::int64_t good_step(std::int64_t stretch_ms, std::int64_t interval_ms) {
  for (const std::int64_t seconds : kGoodSteps) {
    const std::int64_t step = seconds * 1000;
    if (step % interval_ms == 0 && stretch_ms / step <= kGoodPoints) return step;
  }
  return std::max(interval_ms, kGoodSteps[std::size(kGoodSteps) - 1] * 1000);
}

std::int64_t floor_to(std::int64_t value, std::int64_t step) {
  const std::int64_t rest = value % step;
  return value - (rest < 0 ? rest + step : rest);
}

// Series with their values on one grid.
struct Evaluated {
  std::vector<NamedSeries> series;
  std::vector<std::vector<double>> values;
};

class Evaluation {
 public:
  Evaluation(const QueryWorld& world, const Grid& grid) : world_(world), grid_(grid) {
    // Minutes serve where readings have gone already: up to a whole minute.
    const std::int64_t raw = world.blocks.raw_since_ms();
    const std::int64_t minutes = world.blocks.minutes_since_ms();
    if (minutes > 0 && minutes < floor_to(raw, kMinuteMs)) {
      split_ms_ = -floor_to(-raw, kMinuteMs);
    }
    const bool long_stretch =
        grid.step_ms >= kMinuteMs && grid.end_ms() - grid.begin_ms > kMinutesFrom;
    if (long_stretch) split_ms_ = std::max(split_ms_, world.blocks.minutes_until_ms());
  }

  Result<Evaluated> run(std::vector<NamedSeries> series, Form form, Fold fold) {
    if (series.size() > world_.limits.series) return too_many_series(series.size());
    if (series.size() * grid_.steps > world_.limits.cells) return too_many_points(series.size());
    std::map<Part, std::vector<SeriesOnGrid>> parts;
    for (const NamedSeries& each : series) {
      parts[part_of(each.number)].emplace_back(grid_, each.number, nature_of(each.descriptor), form,
                                               fold);
    }
    std::map<SeriesNumber, std::vector<double>> by_number;
    for (auto& [part, on_grid] : parts) {
      if (auto fed = feed(part, on_grid); !fed) return std::unexpected(std::move(fed.error()));
      for (const SeriesOnGrid& each : on_grid) by_number[each.number()] = each.values();
    }
    Evaluated evaluated;
    for (const NamedSeries& each : series) {
      evaluated.values.push_back(std::move(by_number[each.number]));
    }
    evaluated.series = std::move(series);
    return evaluated;
  }

 private:
  Status feed(Part part, std::vector<SeriesOnGrid>& series) {
    if (grid_.begin_ms < split_ms_) {
      const std::int64_t until = std::min(split_ms_, grid_.end_ms());
      auto fed = world_.blocks.minutes(part, grid_.begin_ms - kMinuteMs, until,
                                       [&](const BlockReader& block) -> Status {
                                         for (SeriesOnGrid& each : series) {
                                           auto taken = each.feed_minutes(block, split_ms_);
                                           if (!taken) return taken;
                                         }
                                         return {};
                                       });
      if (!fed) return fed;
    }
    if (grid_.end_ms() <= split_ms_) return {};
    const std::int64_t from = std::max(grid_.begin_ms, split_ms_);
    // A rate at the begin needs the reading before it, one at the end that of after it.
    return world_.blocks.raw(part, from - kLookBack, grid_.end_ms() + grid_.step_ms,
                             [&](const BlockReader& block) -> Status {
                               for (SeriesOnGrid& each : series) {
                                 if (auto taken = each.feed_raw(block, from); !taken) return taken;
                               }
                               return {};
                             });
  }

  [[nodiscard]] std::unexpected<Error> too_many_series(std::size_t count) const {
    return fail(ErrorKind::exhausted,
                fmt::format("{} series are meant, and at most {} are read at once: name labels, as "
                            "in {{cpu=\"0\"}}",
                            count, world_.limits.series));
  }
  [[nodiscard]] std::unexpected<Error> too_many_points(std::size_t count) const {
    return fail(ErrorKind::exhausted,
                fmt::format("{} series at {} points each are too much: ask for a longer step, a "
                            "shorter time, or fewer series",
                            count, grid_.steps));
  }

  const QueryWorld& world_;
  Grid grid_;
  std::int64_t split_ms_ = 0;
};

// --- derived metrics
// -----------------------------------------------------------------------------

std::string value_of(const Labels& labels, std::string_view key) {
  const auto found = std::ranges::find(labels, key, &Labels::value_type::first);
  return found == labels.end() ? std::string() : found->second;
}

bool belongs_to(const DerivedTerm& term, const NamedSeries& series) {
  if (series.descriptor == nullptr || series.descriptor->id != term.metric) return false;
  return term.key.empty() || value_of(series.labels, term.key) == term.value;
}

// Of one group: for each term the series that it adds up, by their index.
struct Members {
  std::vector<std::vector<std::size_t>> of_term;
};

Members members_of(const DerivedTerms& terms, const Evaluated& from, std::string_view by,
                   std::string_view group) {
  Members members;
  for (const DerivedTerm& term : terms) {
    auto& indexes = members.of_term.emplace_back();
    for (std::size_t i = 0; i < from.series.size(); ++i) {
      if (!belongs_to(term, from.series[i])) continue;
      if (by.empty() || value_of(from.series[i].labels, by) == group) indexes.push_back(i);
    }
  }
  return members;
}

// Absent unless each series of each term has a value: a sum with a gap is no sum.
double sum_at(const DerivedTerms& terms, const Members& members, const Evaluated& from,
              std::size_t step) {
  double sum = 0;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    if (members.of_term[i].empty()) return kAbsent;
    for (const std::size_t member : members.of_term[i]) {
      sum += (terms.begin() + i)->factor * from.values[member][step];  // NaN stays NaN
    }
  }
  return sum;
}

// The series that the terms speak of, those of one form together.
Result<std::vector<NamedSeries>> series_of(const DerivedMetric& derived, const QueryWorld& world) {
  std::vector<NamedSeries> all;
  std::set<std::string_view> seen;
  for (const DerivedTerms* terms : {&derived.above, &derived.below}) {
    for (const DerivedTerm& term : *terms) {
      if (!seen.insert(term.metric).second) continue;
      auto found = select({std::string(term.metric), {}}, world.catalogue, world.index);
      if (!found) return std::unexpected(std::move(found.error()));
      for (NamedSeries& each : *found) all.push_back(std::move(each));
    }
  }
  std::erase_if(all, [&derived](const NamedSeries& each) {
    const auto meant = [&each](const DerivedTerm& term) { return belongs_to(term, each); };
    return std::ranges::none_of(derived.above, meant) && std::ranges::none_of(derived.below, meant);
  });
  return all;
}

// The middle of a step's readings, of which there is one at each whole second.
double seconds_of(const Grid& grid, std::size_t step) {
  const std::int64_t begin = grid.begin_ms + grid.step_ms * static_cast<std::int64_t>(step);
  return static_cast<double>(2 * begin + std::max<std::int64_t>(grid.step_ms - 1000, 0)) / 2000;
}

Evaluated combine(const DerivedMetric& derived, const Evaluated& from, const Grid& grid) {
  const std::string by(derived.by);
  std::vector<std::string> groups;
  for (const NamedSeries& series : from.series) {
    std::string group = by.empty() ? "" : value_of(series.labels, by);
    if (std::ranges::find(groups, group) == groups.end()) groups.push_back(std::move(group));
  }
  Evaluated result;
  for (const std::string& group : groups) {
    const Members above = members_of(derived.above, from, by, group);
    const Members below = members_of(derived.below, from, derived.below_is_whole ? "" : by, group);
    std::vector<double> values;
    for (std::size_t step = 0; step < grid.steps; ++step) {
      double value = sum_at(derived.above, above, from, step);
      if (derived.is_age) value = seconds_of(grid, step) - value;
      if (derived.below.size() > 0) {
        const double whole = sum_at(derived.below, below, from, step);
        value = whole > 0 ? value / whole : kAbsent;
      }
      // Last: what is divided by itself is 1, but 100 times it would not always be 100 times 1.
      values.push_back(value * derived.scale);
    }
    NamedSeries named;
    if (!by.empty()) named.labels.emplace_back(by, group);
    result.series.push_back(std::move(named));
    result.values.push_back(std::move(values));
  }
  return result;
}

// Steps of `fine` put together into those of `grid`, which begin with them and are a multiple.
std::vector<double> folded(const std::vector<double>& fine, std::size_t each, Fold fold) {
  std::vector<double> values;
  for (std::size_t i = 0; i < fine.size(); i += each) {
    double value = kAbsent;
    for (std::size_t j = i; j < std::min(i + each, fine.size()); ++j) {
      if (std::isnan(fine[j])) continue;
      if (std::isnan(value) || fold == Fold::last) {
        value = fine[j];
      } else {
        value = fold == Fold::min ? std::min(value, fine[j]) : std::max(value, fine[j]);
      }
    }
    values.push_back(value);
  }
  return values;
}

Result<Evaluated> evaluate_derived(const DerivedMetric& derived, Fold fold, const Grid& grid,
                                   const QueryWorld& world) {
  auto series = series_of(derived, world);
  if (!series) return std::unexpected(std::move(series.error()));
  // The greatest share within a step is that of its seconds, where those can be had.
  Grid fine = grid;
  std::size_t each = 1;
  if (fold != Fold::mean) {
    const std::int64_t finest =
        std::min(grid.step_ms, std::max<std::int64_t>(world.interval_ms, 1000));
    const auto parts = static_cast<std::size_t>(grid.step_ms / finest);
    if (grid.step_ms % finest == 0 && parts * grid.steps * series->size() <= world.limits.cells) {
      each = parts;
      fine = {grid.begin_ms, finest, grid.steps * parts};
    }
  }
  std::vector<NamedSeries> rates;
  std::vector<NamedSeries> gauges;
  for (NamedSeries& one : *series) {
    (nature_of(one.descriptor).is_counter() ? rates : gauges).push_back(std::move(one));
  }
  Evaluation evaluation(world, fine);
  auto all = evaluation.run(std::move(rates), Form::rate, Fold::mean);
  if (!all) return all;
  auto more = evaluation.run(std::move(gauges), Form::value, Fold::mean);
  if (!more) return more;
  std::ranges::move(more->series, std::back_inserter(all->series));
  std::ranges::move(more->values, std::back_inserter(all->values));
  Evaluated result = combine(derived, *all, fine);
  if (each > 1) {
    for (std::vector<double>& values : result.values) values = folded(values, each, fold);
  }
  return result;
}

// --- over series
// -----------------------------------------------------------------------------

double joined(Join join, std::span<const double> values) {
  double result = kAbsent;
  double count = 0;
  for (const double value : values) {
    if (std::isnan(value)) continue;
    ++count;
    if (count == 1) {
      result = value;
    } else if (join == Join::min) {
      result = std::min(result, value);
    } else if (join == Join::max) {
      result = std::max(result, value);
    } else {
      result += value;
    }
  }
  if (join == Join::count) return count > 0 ? count : kAbsent;
  return join == Join::mean ? result / count : result;
}

std::vector<ResultSeries> join_series(const Expression& expression, Evaluated evaluated,
                                      std::size_t steps) {
  std::vector<ResultSeries> results;
  if (expression.join == Join::none) {
    for (std::size_t i = 0; i < evaluated.series.size(); ++i) {
      results.push_back({std::move(evaluated.series[i].labels), std::move(evaluated.values[i])});
    }
    return results;
  }
  std::vector<std::pair<Labels, std::vector<std::size_t>>> groups;
  std::map<Labels, std::size_t> known;
  for (std::size_t i = 0; i < evaluated.series.size(); ++i) {
    Labels labels;
    for (const std::string& key : expression.by) {
      labels.emplace_back(key, value_of(evaluated.series[i].labels, key));
    }
    const auto [group, is_new] = known.try_emplace(labels, groups.size());
    if (is_new) groups.emplace_back(std::move(labels), std::vector<std::size_t>{});
    groups[group->second].second.push_back(i);
  }
  std::vector<double> at_step;
  for (auto& [labels, members] : groups) {
    std::vector<double> values;
    for (std::size_t step = 0; step < steps; ++step) {
      at_step.clear();
      for (const std::size_t member : members) at_step.push_back(evaluated.values[member][step]);
      values.push_back(joined(expression.join, at_step));
    }
    results.push_back({std::move(labels), std::move(values)});
  }
  return results;
}

std::string rate_unit(std::string_view unit) {
  return unit.empty() ? "1/s" : fmt::format("{}/s", unit);
}

Status check_by(const Expression& expression, const std::vector<NamedSeries>& series,
                const QueryLimits& limits) {
  if (expression.by.empty()) return {};
  if (expression.by.size() > limits.labels) {
    return fail(ErrorKind::exhausted, fmt::format("at most {} labels to group by", limits.labels));
  }
  if (expression.join == Join::none) {
    return fail(ErrorKind::invalid,
                "labels to group by are given, but not how to put the series "
                "of a group together: sum, mean, min, max or count");
  }
  for (const std::string& key : expression.by) {
    const bool known = std::ranges::any_of(series, [&key](const NamedSeries& each) {
      return std::ranges::find(each.labels, key, &Labels::value_type::first) != each.labels.end();
    });
    if (!known) {
      return fail(ErrorKind::invalid,
                  fmt::format("no series of {} has a label '{}'",
                              clean_text(expression.selector, 100), clean_text(key, 64)));
    }
  }
  return {};
}

Result<Outcome> derived_outcome(const Expression& expression, const DerivedMetric& derived,
                                const Selector& selector, const Grid& grid,
                                const QueryWorld& world) {
  if (expression.value == Value::rate || expression.value == Value::increase) {
    return fail(ErrorKind::invalid,
                fmt::format("{} is computed from others and has no rate", derived.name));
  }
  for (const LabelCondition& condition : selector.conditions) {
    if (condition.key != derived.by) {
      return fail(
          ErrorKind::invalid,
          fmt::format("{} has no label '{}'; {}", derived.name, clean_text(condition.key, 64),
                      derived.by.empty() ? "it has none" : fmt::format("it has: {}", derived.by)));
    }
  }
  auto evaluated = evaluate_derived(derived, expression.fold.value_or(Fold::mean), grid, world);
  if (!evaluated) return std::unexpected(std::move(evaluated.error()));
  Evaluated kept;
  for (std::size_t i = 0; i < evaluated->series.size(); ++i) {
    if (!fulfils(evaluated->series[i].labels, selector.conditions)) continue;
    kept.series.push_back(std::move(evaluated->series[i]));
    kept.values.push_back(std::move(evaluated->values[i]));
  }
  if (auto good = check_by(expression, kept.series, world.limits); !good) {
    return std::unexpected(std::move(good.error()));
  }
  return Outcome{.selector = expression.selector,
                 .metric = std::string(derived.name),
                 .unit = std::string(derived.unit),
                 .help = std::string(derived.help),
                 .series = join_series(expression, std::move(kept), grid.steps)};
}

Result<Outcome> outcome(const Expression& expression, const Grid& grid, const QueryWorld& world) {
  auto selector = parse_selector(expression.selector);
  if (!selector) return std::unexpected(selector.error());
  if (const auto derived = find_derived(selector->name)) {
    if (!derived->label.empty()) {
      selector->conditions.push_back({.key = std::string(derived->metric->by),
                                      .value = std::string(derived->label),
                                      .pattern = {}});
    }
    return derived_outcome(expression, *derived->metric, *selector, grid, world);
  }
  auto series = select(*selector, world.catalogue, world.index);
  if (!series) return std::unexpected(std::move(series.error()));
  if (auto good = check_by(expression, *series, world.limits); !good) {
    return std::unexpected(std::move(good.error()));
  }
  const MetricDescriptor* metric = series->front().descriptor;
  const bool counter = nature_of(metric).is_counter();
  const bool rate = expression.value == Value::rate || expression.value == Value::increase ||
                    (expression.value == Value::natural && counter);
  if (rate && !counter) {
    return fail(ErrorKind::invalid,
                fmt::format("{} is no counter: it has no rate", clean_text(selector->name, 100)));
  }
  Fold fold = expression.fold.value_or(counter && !rate ? Fold::last : Fold::mean);
  if (expression.value == Value::increase) fold = Fold::total;
  Evaluation evaluation(world, grid);
  auto evaluated = evaluation.run(std::move(*series), rate ? Form::rate : Form::value, fold);
  if (!evaluated) return std::unexpected(std::move(evaluated.error()));
  const std::string_view unit = metric == nullptr ? "" : to_string(metric->unit);
  const bool per_second = rate && expression.value != Value::increase;
  return Outcome{.selector = expression.selector,
                 .metric = std::string(metric == nullptr ? selector->name : metric->id),
                 .unit = per_second ? rate_unit(unit) : std::string(unit),
                 .help = std::string(metric == nullptr ? "" : metric->help),
                 .series = join_series(expression, std::move(*evaluated), grid.steps)};
}

void keep_newest(Outcome& outcome, const Grid& grid) {
  for (ResultSeries& series : outcome.series) {
    double newest = kAbsent;
    for (std::size_t step = series.values.size(); step-- > 0 && std::isnan(newest);) {
      newest = series.values[step];
      if (!std::isnan(newest)) {
        series.newest_ms = grid.begin_ms + grid.step_ms * static_cast<std::int64_t>(step);
      }
    }
    series.values = {newest};
  }
}

// The one step that is left of the answer is that of its newest value; without any, the last one.
std::int64_t newest_step(const Answer& answer, const Grid& grid) {
  std::optional<std::int64_t> newest;
  for (const Outcome& outcome : answer.results) {
    for (const ResultSeries& series : outcome.series) newest = std::max(newest, series.newest_ms);
  }
  return newest.value_or(grid.end_ms() - grid.step_ms);
}

}  // namespace

Result<Grid> grid_of(const Question& question, const QueryWorld& world) {
  // Before anything is computed of them.
  const auto is_sane = [&world](std::int64_t ms) {
    return ms >= 0 && ms <= world.now_ms + kLongest;
  };
  if (!is_sane(question.begin_ms.value_or(0)) || !is_sane(question.end_ms.value_or(0)) ||
      !is_sane(question.last_ms.value_or(0))) {
    return fail(ErrorKind::invalid, "the time asked for is before 1970, or too far in the future");
  }
  const std::int64_t end = question.end_ms.value_or(world.now_ms);
  std::int64_t begin = end - kDefaultStretch;
  if (question.begin_ms) begin = *question.begin_ms;
  if (question.last_ms) begin = end - std::min(*question.last_ms, kLongest);
  if (question.newest_only) begin = end - kNewestWithin;
  if (begin <= end && begin > world.now_ms) {
    return fail(ErrorKind::invalid, "the time asked for is in the future");
  }
  if (end < 0 || begin > end || end - begin > kLongest || end > world.now_ms + kLongest) {
    return fail(ErrorKind::invalid,
                "the time asked for should begin before it ends, and be at most "
                "400 days long");
  }
  const std::int64_t least = std::max<std::int64_t>(world.interval_ms, 1000);
  std::int64_t step = question.step_ms;
  if (question.newest_only) step = least;
  if (step == 0) step = good_step(end - begin, world.interval_ms);
  if (step < 1 || step > kLongest) return fail(ErrorKind::invalid, "the step is out of range");
  step = std::max(step, least);
  Grid grid{.begin_ms = floor_to(begin, step), .step_ms = step};
  grid.steps =
      static_cast<std::size_t>((std::max(end, begin + 1) - grid.begin_ms + step - 1) / step);
  if (grid.steps > world.limits.steps) {
    return fail(ErrorKind::exhausted,
                fmt::format("{} points are too many (at most {}): ask for a longer step or a "
                            "shorter time",
                            grid.steps, world.limits.steps));
  }
  return grid;
}

Result<Answer> answer(const Question& question, const QueryWorld& world) {
  if (question.expressions.empty()) return fail(ErrorKind::invalid, "no metric is named");
  if (question.expressions.size() > world.limits.expressions) {
    return fail(ErrorKind::exhausted,
                fmt::format("at most {} metrics at once", world.limits.expressions));
  }
  const auto grid = grid_of(question, world);
  if (!grid) return std::unexpected(grid.error());
  Answer answer{.begin_ms = grid->begin_ms, .step_ms = grid->step_ms, .results = {}, .notes = {}};
  std::size_t points = 0;
  for (const Expression& expression : question.expressions) {
    if (world.is_over && world.is_over()) return fail(ErrorKind::unavailable, "the daemon ends");
    auto result = outcome(expression, *grid, world);
    if (!result && question.absent_ok && result.error().kind == ErrorKind::not_found) {
      answer.results.emplace_back().selector = expression.selector;
      continue;
    }
    if (!result) return std::unexpected(std::move(result.error()));
    if (question.newest_only) keep_newest(*result, *grid);
    for (const ResultSeries& series : result->series) points += series.values.size();
    if (points > world.limits.points) {
      return fail(ErrorKind::exhausted,
                  fmt::format("the answer has over {} points: ask for a longer step, a shorter "
                              "time, or put series together (sum, mean, min, max)",
                              world.limits.points));
    }
    answer.results.push_back(std::move(*result));
  }
  if (question.newest_only) answer.begin_ms = newest_step(answer, *grid);
  return answer;
}

}  // namespace dynolog::history
