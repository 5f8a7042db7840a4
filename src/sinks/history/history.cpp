// The thread, and what crosses to it.
#include "sinks/history/history.h"

#include <fmt/format.h>
#include <malloc.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <csignal>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "base/random.h"
#include "base/text.h"
#include "sinks/history/keeper.h"

namespace dynolog::history {
namespace {

// Rows that wait while the disk is slow; later ones are dropped, and counted.
constexpr std::size_t kMaxRows = 120;
constexpr std::size_t kMaxJobs = 32;
// Tables that rows hold before they are written although their stretch is not over: one whose
// collectors were made anew, as by a reload, shares nothing with the one before.
constexpr std::size_t kMaxTables = 8;

KeeperWorld keeper_world(const HistoryWorld& world) {
  return {.log = world.log,
          .catalogue = world.catalogue,
          .directory = world.directory,
          .memory_reason = world.memory_reason,
          .bytes = world.bytes,
          .memory_bytes = world.memory_bytes,
          .session = random_u64(),
          .report = world.report};
}

bool is_named(const ListedMetric& metric, std::string_view part) {
  return metric.name.contains(part) || metric.prometheus.contains(part) ||
         metric.otlp.contains(part);
}

// --- what there is
// -----------------------------------------------------------------------------

ListedMetric listed(const MetricDescriptor& metric) {
  return {.name = std::string(metric.id),
          .kind = std::string(to_string(metric.kind)),
          .unit = std::string(to_string(metric.unit)),
          .help = std::string(metric.help),
          .prometheus = std::string(metric.prometheus.name),
          .otlp = std::string(metric.otlp.name),
          .series_count = 0,
          .series = {}};
}

std::vector<ListedMetric> all_metrics(Catalogue catalogue) {
  std::vector<ListedMetric> metrics;
  for (const DerivedMetric& derived : kDerivedMetrics) {
    metrics.push_back({.name = std::string(derived.name),
                       .kind = "derived",
                       .unit = std::string(derived.unit),
                       .help = std::string(derived.help),
                       .prometheus = "",
                       .otlp = "",
                       .series_count = 0,
                       .series = {}});
  }
  for (const CatalogueSection& section : catalogue) {
    for (const MetricDescriptor& metric : section.metrics) metrics.push_back(listed(metric));
  }
  return metrics;
}

// Exactly one metric's series, or every metric whose name contains the text.
Result<std::vector<ListedMetric>> list_metrics(const ListQuestion& question, Catalogue catalogue,
                                               const SeriesIndex& index, std::int64_t now_ms) {
  std::vector<ListedMetric> metrics = all_metrics(catalogue);
  std::map<std::string_view, std::vector<NamedSeries>> series;
  Selector selector;
  if (question.selector.find_first_of("{\"=") != std::string::npos) {
    auto parsed = parse_selector(question.selector);
    if (!parsed) return std::unexpected(std::move(parsed.error()));
    selector = std::move(*parsed);
    auto found = select(selector, catalogue, index);
    if (!found) return std::unexpected(std::move(found.error()));
    for (NamedSeries& each : *found) {
      if (each.descriptor != nullptr) series[each.descriptor->id].push_back(std::move(each));
    }
    std::erase_if(metrics, [&](const ListedMetric& each) { return !series.contains(each.name); });
  } else {
    std::erase_if(metrics,
                  [&](const ListedMetric& each) { return !is_named(each, question.selector); });
    if (metrics.empty()) {
      return fail(ErrorKind::not_found, unknown_metric(question.selector, catalogue));
    }
    for (const ListedMetric& metric : metrics) {
      if (metric.kind == "derived") continue;
      auto found = select({metric.name, {}}, catalogue, index);
      if (found) series[find_metric(catalogue, metric.name)->id] = std::move(*found);
    }
  }
  for (ListedMetric& metric : metrics) {
    const auto found = series.find(metric.name);
    if (found == series.end()) continue;
    metric.series_count = found->second.size();
    if (!question.series) continue;
    for (NamedSeries& each : found->second) {
      const KnownSeries* known = index.find(each.number);
      const std::int64_t seen = known == nullptr ? 0 : known->last_seen_ms;
      const bool is_live = now_ms - seen < 2 * kWriteEveryMs;
      metric.series.push_back({std::move(each.labels), is_live ? 0 : seen});
    }
  }
  return metrics;
}

// --- the thread
// -----------------------------------------------------------------------------

class ThreadedHistory final : public History {
 public:
  explicit ThreadedHistory(HistoryWorld world) : world_(std::move(world)) {
    queued_.reserve(kMaxRows);
    free_.reserve(kMaxRows);
    thread_ = std::thread([this] { run(); });
  }

  ~ThreadedHistory() override {
    {
      const std::scoped_lock lock(mutex_);
      stopping_ = true;
    }
    wake_.notify_one();
    thread_.join();
  }

  [[nodiscard]] std::unique_ptr<Sink> make_sink() override;

  void ask(Question question, std::function<void(Result<Answer>)> done) override {
    enqueue([this, question = std::move(question), done](bool taken) {
      done(taken ? answer_now(question) : busy<Answer>());
    });
  }

  void list(ListQuestion question, std::function<void(Result<Listing>)> done) override {
    enqueue([this, question = std::move(question), done](bool taken) {
      done(taken ? list_now(question) : busy<Listing>());
    });
  }

  // The pipeline's thread.
  Status consume(const Frame& frame) {
    std::unique_ptr<Row> row = free_row();
    if (!row) return fail(ErrorKind::exhausted, "the disk is too slow for the history");
    row->fill(frame);
    const std::int64_t stretch = stretch_begin(row->tick.wall_ms, kWriteEveryMs);
    bool is_due = false;
    {
      const std::scoped_lock lock(mutex_);
      is_due = stretch != std::exchange(stretch_, stretch);
      if (newest_table_ != row->table) ++tables_;
      newest_table_ = row->table;
      if (!is_due && tables_ > kMaxTables) is_due = crowded_ = true;
      if (is_due) tables_ = 1;
      queued_.push_back(std::move(row));
    }
    if (is_due) wake_.notify_one();
    return {};
  }
  [[nodiscard]] SinkQueue queue() {
    const std::scoped_lock lock(mutex_);
    return {.length = queued_.size(), .dropped = dropped_, .delivery_failures = failures_};
  }

 private:
  using Job = std::function<void(bool taken)>;

  template <class T>
  static Result<T> busy() {
    return fail(ErrorKind::exhausted, "too many questions wait for the history: ask again later");
  }

  void enqueue(Job job) {
    {
      const std::scoped_lock lock(mutex_);
      if (jobs_.size() < kMaxJobs && !stopping_) {
        jobs_.push_back(std::move(job));
        job = nullptr;
      }
    }
    if (job) return job(false);
    wake_.notify_one();
  }

  // A used one where there is one. nullptr: too many wait, and this frame is dropped.
  std::unique_ptr<Row> free_row() {
    const std::scoped_lock lock(mutex_);
    if (!free_.empty()) {
      std::unique_ptr<Row> row = std::move(free_.back());
      free_.pop_back();
      return row;
    }
    if (rows_made_ == kMaxRows) {
      ++dropped_;
      return nullptr;
    }
    ++rows_made_;
    return std::make_unique<Row>();
  }

  // All below is on the history's thread.
  void run() {
    ::pthread_setname_np(::pthread_self(), "history");
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, nullptr);  // signals are the main thread's
    keeper_.emplace(keeper_world(world_));          // waits for the disk, as nobody else is to
    for (bool stopping = false; !stopping;) {
      std::vector<Job> jobs;
      bool crowded = false;
      {
        std::unique_lock lock(mutex_);
        wake_.wait(lock,
                   [this] { return stopping_ || crowded_ || !jobs_.empty() || has_due_rows(); });
        stopping = stopping_;
        crowded = std::exchange(crowded_, false);
        std::swap(jobs, jobs_);
        for (std::unique_ptr<Row>& row : queued_) pending_.push_back(std::move(row));
        queued_.clear();
      }
      if (stopping) keeper_->hurry();
      write_due(stopping || crowded);
      // Questions that would keep the end waiting are not answered any more.
      for (const Job& job : jobs) job(!stopping_);
      jobs.clear();
    }
  }

  [[nodiscard]] bool has_due_rows() const {
    return !queued_.empty() &&
           (stretch_begin(queued_.front()->tick.wall_ms, kWriteEveryMs) != stretch_ ||
            (!pending_.empty() &&
             stretch_begin(pending_.front()->tick.wall_ms, kWriteEveryMs) != stretch_));
  }

  // Rows whose stretch is over; at the end, and when they hold too many tables, all of them.
  void write_due(bool all) {
    bool has_written = false;
    while (!pending_.empty()) {
      const std::int64_t stretch = stretch_begin(pending_.front()->tick.wall_ms, kWriteEveryMs);
      const auto end = std::ranges::find_if(pending_, [stretch](const std::unique_ptr<Row>& row) {
        return stretch_begin(row->tick.wall_ms, kWriteEveryMs) != stretch;
      });
      if (end == pending_.end() && !all) break;
      const auto count = static_cast<std::size_t>(end - pending_.begin());
      const std::vector<const Row*> rows = views(count);
      const bool failed = !keeper_->write(rows);
      has_written = true;
      const std::scoped_lock lock(mutex_);
      if (failed) ++failures_;
      for (std::size_t i = 0; i < count; ++i) {
        pending_[i]->table.reset();
        free_.push_back(std::move(pending_[i]));
      }
      pending_.erase(pending_.begin(), pending_.begin() + static_cast<std::ptrdiff_t>(count));
    }
    // What a block took to make is needed again in half a minute only, and tables that a reload
    // made anew are let go of.
    if (has_written) ::malloc_trim(0);
  }

  [[nodiscard]] std::vector<const Row*> views(std::size_t count) const {
    std::vector<const Row*> rows;
    for (std::size_t i = 0; i < count; ++i) rows.push_back(pending_[i].get());
    return rows;
  }

  Result<Answer> answer_now(const Question& question) {
    const std::vector<const Row*> rows = views(pending_.size());
    keeper_->begin_question(rows);
    auto result = answer(
        question, {.catalogue = world_.catalogue,
                   .index = keeper_->index(),
                   .blocks = *keeper_,
                   .now_ms = epoch_milliseconds(world_.clock.wall()),
                   .interval_ms = std::chrono::duration_cast<Milliseconds>(world_.interval).count(),
                   .limits = {},
                   .is_over = [this] { return stopping_.load(); }});
    keeper_->end_question();
    return result;
  }

  Result<Listing> list_now(const ListQuestion& question) {
    const std::vector<const Row*> rows = views(pending_.size());
    keeper_->begin_question(rows);  // it makes new series known
    keeper_->end_question();
    auto metrics = list_metrics(question, world_.catalogue, keeper_->index(),
                                epoch_milliseconds(world_.clock.wall()));
    if (!metrics) return std::unexpected(std::move(metrics.error()));
    Listing listing{.metrics = std::move(*metrics), .extent = {}};
    listing.extent.on_disk = keeper_->on_disk();
    const auto raw = keeper_->store().extent(BlockKind::raw);
    const auto minutes = keeper_->store().extent(BlockKind::minutes);
    if (!raw) return std::unexpected(raw.error());
    if (!minutes) return std::unexpected(minutes.error());
    listing.extent.bytes = raw->bytes + minutes->bytes;
    if (raw->blocks > 0) {
      listing.extent.raw_since_ms = raw->begin_ms;
    } else if (!pending_.empty()) {
      listing.extent.raw_since_ms = pending_.front()->tick.wall_ms;
    }
    if (minutes->blocks > 0) listing.extent.minutes_since_ms = minutes->begin_ms;
    return listing;
  }

  const HistoryWorld world_;
  std::optional<Keeper> keeper_;  // the history's thread's
  std::vector<std::unique_ptr<Row>> pending_;

  std::mutex mutex_;  // guards what follows
  std::condition_variable wake_;
  std::vector<std::unique_ptr<Row>> queued_;
  std::vector<std::unique_ptr<Row>> free_;
  std::size_t rows_made_ = 0;
  std::int64_t stretch_ = 0;  // of the newest row
  std::shared_ptr<const SeriesTable> newest_table_;
  std::size_t tables_ = 0;  // of rows that are not due
  bool crowded_ = false;    // they are too many: all that waits is to be written
  std::uint64_t dropped_ = 0;
  std::uint64_t failures_ = 0;
  std::vector<Job> jobs_;
  std::atomic<bool> stopping_ = false;  // also read without the lock, in the midst of a question

  std::thread thread_;  // last: it uses all of the above
};

class HistorySink final : public Sink {
 public:
  explicit HistorySink(ThreadedHistory& history) : history_(history) {}
  [[nodiscard]] std::string_view name() const override { return "history"; }
  [[nodiscard]] Status consume(const Frame& frame) override { return history_.consume(frame); }
  [[nodiscard]] Status consume(const Event&) override { return {}; }
  [[nodiscard]] SinkQueue queue() const override { return history_.queue(); }

 private:
  ThreadedHistory& history_;
};

std::unique_ptr<Sink> ThreadedHistory::make_sink() { return std::make_unique<HistorySink>(*this); }

}  // namespace

std::unique_ptr<History> History::start(HistoryWorld world) {
  return std::make_unique<ThreadedHistory>(std::move(world));
}

}  // namespace dynolog::history
