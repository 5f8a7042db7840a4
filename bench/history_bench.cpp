// What the history costs: a recording of this host's own figures, second by second, is stored as
// the daemon stores it, and repeated until it is an hour long, which is then queried.
//   history_bench [SECONDS]     records for so long (default 300, 30 at least); put load on the
//   host
//                               meanwhile
#include <fmt/format.h>
#include <poll.h>
#include <time.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/number.h"
#include "collectors/all_collectors.h"
#include "metrics/sampler.h"
#include "metrics/tick_timer.h"
#include "sinks/history/column.h"
#include "sinks/history/keeper.h"

namespace dynolog::history {
namespace {

double cpu_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}
double wall_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

class Recorder final : public Sink {
 public:
  explicit Recorder(std::vector<std::unique_ptr<Row>>& rows) : rows_(rows) {}
  [[nodiscard]] std::string_view name() const override { return "recorder"; }
  [[nodiscard]] Status consume(const Frame& frame) override {
    rows_.push_back(std::make_unique<Row>());
    rows_.back()->fill(frame);
    Row again = *rows_.back();  // as large as it has to be: the steady state
    const double begin = cpu_seconds();
    again.fill(frame);
    fill_seconds += cpu_seconds() - begin;
    return {};
  }
  [[nodiscard]] Status consume(const Event&) override { return {}; }
  static inline double fill_seconds = 0;

 private:
  std::vector<std::unique_ptr<Row>>& rows_;
};

std::vector<std::unique_ptr<Row>> record(int seconds) {
  std::vector<std::unique_ptr<Row>> rows;
  const SystemClock clock;
  const auto log = make_silent_log();
  auto collectors = make_collectors({.root = {}, .read_counters = {}}, {});
  std::vector<std::unique_ptr<Sink>> sinks;
  sinks.push_back(std::make_unique<Recorder>(rows));
  Sampler sampler({}, std::move(*collectors), std::move(sinks), clock, *log);
  auto timer = TickTimer::create(std::chrono::seconds(1));
  for (int i = 0; i < seconds; ++i) {
    pollfd ready{timer->fd(), POLLIN, 0};
    ::poll(&ready, 1, -1);
    static_cast<void>(timer->take());
    sampler.tick(0, 0);
  }
  return rows;
}

struct Shape {
  std::size_t series = 0;
  std::size_t varying = 0;
  double values = 0;          // that were read
  double varying_values = 0;  // of series that vary
};

Shape shape_of(const std::vector<std::unique_ptr<Row>>& rows) {
  Shape shape;
  const SeriesTable& table = *rows.back()->table;
  for (Slot slot = 0; slot < table.size(); ++slot) {
    const Series* series = table.at(slot);
    if (series == nullptr) continue;
    ++shape.series;
    double read = 0;
    bool varies = false;
    double before = kAbsent;
    for (const auto& row : rows) {
      if (slot >= row->values.size() || row->is_fresh[series->source] == 0) continue;
      ++read;
      varies = varies || (!std::isnan(before) && row->values[slot] != before);
      before = row->values[slot];
    }
    shape.values += read;
    if (varies) {
      ++shape.varying;
      shape.varying_values += read;
    }
  }
  return shape;
}

// The recording again, later by its own length, with counters that went on counting.
void move_on(std::vector<std::unique_ptr<Row>>& rows, const std::vector<double>& grown) {
  const auto length = static_cast<std::int64_t>(rows.size());
  for (const auto& row : rows) {
    row->tick.wall_ms += length * 1000;
    row->tick.monotonic_us += length * 1'000'000;
    for (std::size_t slot = 0; slot < std::min(grown.size(), row->values.size()); ++slot) {
      row->values[slot] += grown[slot];
    }
  }
}

std::vector<double> growth_of(const std::vector<std::unique_ptr<Row>>& rows) {
  const Row& first = *rows.front();
  const Row& last = *rows.back();
  std::vector<double> grown(last.values.size(), 0);
  for (Slot slot = 0; slot < first.values.size(); ++slot) {
    const Series* series = last.table->at(slot);
    if (series == nullptr || series->descriptor->kind != MetricKind::counter) continue;
    const double by = last.values[slot] - first.values[slot];
    if (by > 0) grown[slot] = by;
  }
  return grown;
}

struct Cost {
  double write_seconds = 0;
  int writes = 0;
  double longest = 0;
};

void store(Keeper& keeper, const std::vector<std::unique_ptr<Row>>& rows, Cost& cost) {
  std::vector<const Row*> views;
  const auto flush = [&] {
    const double begin = cpu_seconds();
    static_cast<void>(keeper.write(views));
    const double took = cpu_seconds() - begin;
    cost.write_seconds += took;
    cost.longest = std::max(cost.longest, took);
    ++cost.writes;
    views.clear();
  };
  for (const auto& row : rows) {
    if (!views.empty() && stretch_begin(views.front()->tick.wall_ms, kWriteEveryMs) !=
                              stretch_begin(row->tick.wall_ms, kWriteEveryMs)) {
      flush();
    }
    views.push_back(row.get());
  }
  flush();
}

void ask(Keeper& keeper, const char* what, const Question& question, std::int64_t now_ms) {
  std::vector<double> times;
  std::size_t series = 0;
  std::string problem;
  for (int i = 0; i < 11; ++i) {
    const double begin = wall_seconds();
    keeper.begin_question({});
    const auto result = answer(question, {.catalogue = metric_catalogue(),
                                          .index = keeper.index(),
                                          .blocks = keeper,
                                          .now_ms = now_ms,
                                          .interval_ms = 1000});
    keeper.end_question();
    times.push_back((wall_seconds() - begin) * 1000);
    if (!result) problem = result.error().message;
    series = 0;
    for (const auto& each : result ? result->results : std::vector<Outcome>{}) {
      series += each.series.size();
    }
  }
  std::ranges::sort(times);
  fmt::print("query {:<40} {:4} series: median {:.1f} ms, worst of 11 {:.1f} ms {}\n", what, series,
             times[5], times[10], problem);
}

Expression of(const char* selector) { return {.selector = selector}; }

void queries(Keeper& keeper, std::int64_t now_ms) {
  Question twenty{.last_ms = 3'600'000, .step_ms = 10'000};
  for (const char* selector :
       {"cpu.utilization", "memory.used", "load.1m", "host.context_switches", "host.interrupts",
        "host.forks", "cpu.share", "memory.usage", "pressure.cpu", "pressure.io"}) {
    twenty.expressions.push_back(of(selector));
  }
  ask(keeper, "some 20 series, 1 h, step 10 s", twenty, now_ms);
  twenty.step_ms = 1000;
  ask(keeper, "some 20 series, 1 h, step 1 s", twenty, now_ms);
  ask(keeper, "cpu.utilization, 10 min, step 5 s",
      {.expressions = {of("cpu.utilization")}, .last_ms = 600'000, .step_ms = 5000}, now_ms);
  ask(keeper, "cpu.utilization, newest",
      {.expressions = {of("cpu.utilization")}, .newest_only = true}, now_ms);
}

int run(int seconds) {
  fmt::print(stderr, "records {} s, stores an hour of it and asks: then it has figures\n", seconds);
  auto rows = record(seconds);
  const Shape shape = shape_of(rows);
  std::string directory = "/tmp/dynolog-history-bench-XXXXXX";
  if (::mkdtemp(directory.data()) == nullptr) return 1;
  const auto log = make_silent_log();
  Keeper keeper({.log = *log,
                 .catalogue = metric_catalogue(),
                 .directory = directory,
                 .memory_reason = "",
                 .bytes = 256U << 20U,
                 .memory_bytes = 4U << 20U,
                 .session = 1,
                 .report = [](const std::string&, const std::string&) {}});
  const std::vector<double> grown = growth_of(rows);
  const double ticks = static_cast<double>(seconds);
  Cost cost;
  int repeats = 0;
  for (; repeats * seconds < 3900; ++repeats) {
    store(keeper, rows, cost);
    move_on(rows, grown);
  }
  const auto raw = keeper.store().extent(BlockKind::raw);
  const auto minutes = keeper.store().extent(BlockKind::minutes);
  if (!raw || !minutes) {
    fmt::print(stderr, "the store cannot be read: {}\n", (raw ? minutes : raw).error().message);
    return 1;
  }
  const double all = static_cast<double>(repeats);
  const auto raw_bytes = static_cast<double>(raw->bytes);
  fmt::print("{} series, {} of them varied in {} s; {:.0f} values were read\n", shape.series,
             shape.varying, seconds, shape.values);
  fmt::print("readings: {:.3f} bytes a value, {:.3f} a value that varies; {:.1f} MB a day\n",
             raw_bytes / (shape.values * all), raw_bytes / (shape.varying_values * all),
             raw_bytes / (ticks * all) * 86'400 / 1e6);
  fmt::print("minutes: {:.1f} MB a day\n",
             static_cast<double>(minutes->bytes) / (ticks * all) * 86'400 / 1e6);
  fmt::print("a frame: {:.1f} us to copy; {:.1f} us of the history's thread, all included\n",
             Recorder::fill_seconds / ticks * 1e6, cost.write_seconds / (ticks * all) * 1e6);
  fmt::print("a write: mean {:.2f} ms, longest (with joining) {:.1f} ms\n",
             cost.write_seconds / cost.writes * 1e3, cost.longest * 1e3);
  queries(keeper, rows.front()->tick.wall_ms);
  std::filesystem::remove_all(directory);
  return 0;
}

}  // namespace
}  // namespace dynolog::history

int main(int argc, char** argv) {
  const int seconds = argc > 1 ? dynolog::parse_number<int>(argv[1]).value_or(300) : 300;
  return dynolog::history::run(std::clamp(seconds, 30, 3600));
}
