// What the history costs: a recording of this host's own figures, second by second, is stored as
// the daemon stores it: once for the bytes, and repeated until it is over an hour long, which is
// then queried.
//   history_bench [SECONDS]        records for so long (default 900, 30 at least); put load on the
//                                  host meanwhile: bench/history_load.py
//   history_bench --of DIRECTORY   bytes only, of a copy of a daemon's history
#include <fmt/format.h>
#include <poll.h>
#include <time.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "base/number.h"
#include "collectors/all_collectors.h"
#include "history_contents.h"
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
  auto timer = TickTimer::create(std::chrono::seconds(1), read_timer);
  for (int i = 0; i < seconds; ++i) {
    pollfd ready{timer->fd(), POLLIN, 0};
    ::poll(&ready, 1, -1);
    static_cast<void>(timer->take());
    sampler.tick(0, 0);
  }
  return rows;
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

void flush(Keeper& keeper, std::vector<const Row*>& views, Cost& cost) {
  const double begin = cpu_seconds();
  static_cast<void>(keeper.write(views));
  const double took = cpu_seconds() - begin;
  cost.write_seconds += took;
  cost.longest = std::max(cost.longest, took);
  ++cost.writes;
  views.clear();
}

// Up to `until_ms`.
void store(Keeper& keeper, const std::vector<std::unique_ptr<Row>>& rows, Cost& cost,
           std::int64_t until_ms) {
  std::vector<const Row*> views;
  for (const auto& row : rows) {
    if (row->tick.wall_ms >= until_ms) break;
    if (!views.empty() && stretch_begin(views.front()->tick.wall_ms, kWriteEveryMs) !=
                              stretch_begin(row->tick.wall_ms, kWriteEveryMs)) {
      flush(keeper, views, cost);
    }
    views.push_back(row.get());
  }
  if (!views.empty()) flush(keeper, views, cost);
}

void ask(Keeper& keeper, const char* what, const Question& question, std::int64_t now_ms) {
  std::vector<double> times;
  std::vector<double> cpu;  // the same on a machine that is busy
  std::size_t series = 0;
  std::string problem;
  for (int i = 0; i < 11; ++i) {
    const double begin = wall_seconds();
    const double cpu_begin = cpu_seconds();
    keeper.begin_question({});
    const auto result = answer(question, {.catalogue = metric_catalogue(),
                                          .index = keeper.index(),
                                          .blocks = keeper,
                                          .now_ms = now_ms,
                                          .interval_ms = 1000});
    keeper.end_question();
    times.push_back((wall_seconds() - begin) * 1000);
    cpu.push_back((cpu_seconds() - cpu_begin) * 1000);
    if (!result) problem = result.error().message;
    series = 0;
    for (const auto& each : result ? result->results : std::vector<Outcome>{}) {
      series += each.series.size();
    }
  }
  std::ranges::sort(times);
  std::ranges::sort(cpu);
  fmt::print(
      "query {:<40} {:4} series: median {:.1f} ms, worst of 11 {:.1f} ms; CPU {:.1f} ms {}\n", what,
      series, times[5], times[10], cpu[5], problem);
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

class TemporaryKeeper {
 public:
  TemporaryKeeper() {
    if (::mkdtemp(directory_.data()) == nullptr) std::abort();
    keeper_.emplace(KeeperWorld{.log = *log_,
                                .catalogue = metric_catalogue(),
                                .directory = directory_,
                                .memory_reason = "",
                                .bytes = 256U << 20U,
                                .memory_bytes = 4U << 20U,
                                .session = 1,
                                .report = [](const std::string&, const std::string&) {}});
  }
  TemporaryKeeper(const TemporaryKeeper&) = delete;
  TemporaryKeeper& operator=(const TemporaryKeeper&) = delete;
  ~TemporaryKeeper() { std::filesystem::remove_all(directory_); }
  [[nodiscard]] Keeper& get() { return *keeper_; }

 private:
  std::string directory_ = "/var/tmp/dynolog-history-bench-XXXXXX";
  std::unique_ptr<Log> log_ = make_silent_log();
  std::optional<Keeper> keeper_;
};

int print_contents(Store& store) {
  const auto contents = contents_of(store);
  if (!contents) {
    fmt::print(stderr, "the store cannot be read: {}\n", contents.error().message);
    return 1;
  }
  fmt::print("{} blocks of {:.0f} s: {:.0f} bytes, {:.0f} values, {:.0f} of series that vary\n",
             contents->blocks, contents->seconds, contents->bytes, contents->values,
             contents->varying);
  fmt::print("readings: {:.3f} bytes a value, {:.3f} a value that varies; {:.1f} MB a day\n\n",
             contents->bytes_a_value(), contents->bytes_a_varying_value(),
             contents->bytes / contents->seconds * 86'400 / 1e6);
  fmt::print("joined anew by this version: {:.0f} bytes, {:.3f} a value that varies\n\n",
             contents->bytes_anew, contents->bytes_anew / contents->varying);
  fmt::print("{}\n", contents->breakdown);
  return 0;
}

int print_contents(const std::string& directory) {
  auto store = Store::open({directory, std::uint64_t{1} << 40U});
  if (store) return print_contents(**store);
  fmt::print(stderr, "{}\n", store.error().message);
  return 1;
}

// The recording once; a row of much later makes that it is joined.
int bytes_of(const std::vector<std::unique_ptr<Row>>& rows) {
  TemporaryKeeper keeper;
  Cost cost;
  store(keeper.get(), rows, cost, rows.back()->tick.wall_ms + 1);
  Row later = *rows.back();
  later.tick.wall_ms += 2 * kJoinRawMs;
  later.tick.monotonic_us += 2 * kJoinRawMs * 1000;
  std::vector<const Row*> views{&later};
  flush(keeper.get(), views, cost);
  return print_contents(keeper.get().store());
}

// Over an hour of it, until just before the next joining, when most of the blocks are short.
void costs_of(std::vector<std::unique_ptr<Row>>& rows) {
  TemporaryKeeper keeper;
  const std::vector<double> grown = growth_of(rows);
  const std::int64_t begin_ms = rows.front()->tick.wall_ms;
  const std::int64_t until_ms =
      stretch_begin(begin_ms + 3'600'000 + kJoinRawMs, kJoinRawMs) + kJoinRawMs - kWriteEveryMs;
  Cost cost;
  while (rows.front()->tick.wall_ms < until_ms) {
    store(keeper.get(), rows, cost, until_ms);
    move_on(rows, grown);
  }
  const double ticks = static_cast<double>(until_ms - begin_ms) / 1000;
  fmt::print("a frame: {:.1f} us to copy; {:.1f} us of the history's thread, all included\n",
             Recorder::fill_seconds / static_cast<double>(rows.size()) * 1e6,
             cost.write_seconds / ticks * 1e6);
  fmt::print("a write: mean {:.2f} ms, longest (with joining) {:.1f} ms\n",
             cost.write_seconds / cost.writes * 1e3, cost.longest * 1e3);
  if (const auto minutes = keeper.get().store().extent(BlockKind::minutes)) {
    fmt::print("minutes: {:.1f} MB a day\n",
               static_cast<double>(minutes->bytes) / ticks * 86'400 / 1e6);
  }
  queries(keeper.get(), until_ms);
}

int run(int seconds) {
  fmt::print(stderr, "records {} s, stores over an hour of it and asks: then it has figures\n",
             seconds);
  auto rows = record(seconds);
  if (const int failed = bytes_of(rows); failed != 0) return failed;
  costs_of(rows);
  return 0;
}

}  // namespace
}  // namespace dynolog::history

int main(int argc, char** argv) {
  if (argc > 2 && std::string_view(argv[1]) == "--of") {
    return dynolog::history::print_contents(argv[2]);
  }
  const int seconds = argc > 1 ? dynolog::parse_number<int>(argv[1]).value_or(900) : 900;
  return dynolog::history::run(std::clamp(seconds, 30, 3600));
}
