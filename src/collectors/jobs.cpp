// Collector `jobs`. The files of a process are kept open for its life.
#include "collectors/jobs.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "base/file.h"
#include "collectors/cgroups.h"
#include "kernel/proc_stat.h"
#include "kernel/process_usage.h"

namespace dynolog {
namespace {

consteval const MetricDescriptor& metric(std::string_view id) {
  for (const MetricDescriptor& descriptor : kJobsMetrics) {
    if (descriptor.id == id) return descriptor;
  }
  throw "no such metric";
}

// Three files of each are kept open.
constexpr std::size_t kMaxProcesses = 128;
constexpr int kRunsBetweenAsking = 10;
constexpr std::size_t kMaxStatFile = 16U << 20U;

// What a main thread may be in, as labels say it; t is T, and what else there is, is none of these.
struct State {
  char letter;
  std::string_view name;
};
constexpr std::array kStates = {State{'R', "running"}, State{'S', "sleeping"},
                                State{'D', "uninterruptible"}, State{'T', "stopped"},
                                State{'Z', "zombie"}};

struct ProcessSeries {
  SeriesHandle info, user, system, resident, virtual_memory, threads, minor, major;
  std::array<SeriesHandle, 2> switches, disk, io;  // opened with their first value
  std::array<SeriesHandle, kStates.size()> states;
  SeriesHandle start_time;

  template <class Visit>
  void for_each(Visit&& visit) {
    for (SeriesHandle* series : {&info, &user, &system, &resident, &virtual_memory, &threads,
                                 &minor, &major, &start_time}) {
      visit(*series);
    }
    for (auto* pair : {&switches, &disk, &io}) {
      for (SeriesHandle& series : *pair) visit(series);
    }
    for (SeriesHandle& series : states) visit(series);
  }
};

struct Process {
  RankFacts facts;
  std::string number;  // its label
  ProcessSeries series;
  KeptFile stat, status, io;
  bool ended = false;
};

std::string cgroup_of(const RankFacts& rank) {
  if (rank.scheduler != "slurm") return {};
  return slurm_cgroup_name(rank.allocation.empty() ? rank.job : rank.allocation, rank.step);
}

class JobsCollector final : public Collector {
 public:
  JobsCollector(const SystemRoot& root, std::shared_ptr<AskedRanks> asked, long page_size,
                long ticks_per_second)
      : proc_(root.proc),
        asked_(std::move(asked)),
        page_size_(static_cast<double>(page_size)),
        tick_(1.0 / static_cast<double>(ticks_per_second)) {
    const auto text = read_file(root.proc + "/stat", kMaxStatFile);
    ProcStat stat;
    if (text && parse_proc_stat(*text, stat)) boot_time_ = stat.boot_time_s;
  }

  [[nodiscard]] std::string_view name() const override { return "jobs"; }
  [[nodiscard]] Tier tier() const override { return Tier::fast; }
  [[nodiscard]] bool has_news() const override { return asked_ && asked_->newest() != taken_; }

  [[nodiscard]] Status collect(Samples& out) override {
    if (!asked_) return {};
    if (runs_++ % kRunsBetweenAsking == 0) asked_->ask();
    if (auto newest = asked_->newest(); newest != taken_) {
      taken_ = std::move(newest);
      if (taken_->value) take(*taken_->value, out);
    }
    for (Process& process : processes_) emit(process, out);
    std::erase_if(processes_, [&](Process& process) {
      if (process.ended) close(process, out);
      return process.ended;
    });
    if (left_out_ == 0) return {};
    return fail(ErrorKind::exhausted,
                fmt::format("{} ranks are left out: more than {}", left_out_, kMaxProcesses));
  }

 private:
  void take(const std::vector<RankFacts>& ranks, Samples& out) {
    for (Process& process : processes_) {
      const auto known = std::ranges::find(ranks, process.facts.key, &RankFacts::key);
      // What is learnt later, such as the GPU that it opens, is another series.
      if (known == ranks.end()) {
        process.ended = true;
      } else if (*known != process.facts) {
        process.facts = *known;
        out.close(process.series.info);
        process.series.info = open_info(process, out);
      }
    }
    std::erase_if(processes_, [&](Process& process) {
      if (process.ended) close(process, out);
      return process.ended;
    });
    left_out_ = 0;
    for (const RankFacts& rank : ranks) {
      const bool known = std::ranges::any_of(
          processes_, [&](const Process& process) { return process.facts.key == rank.key; });
      if (known) continue;
      if (processes_.size() < kMaxProcesses) {
        open(rank, out);
      } else {
        ++left_out_;
      }
    }
  }

  [[nodiscard]] std::string free_number() const {
    for (std::size_t number = 0;; ++number) {
      std::string text = fmt::to_string(number);
      if (std::ranges::find(processes_, text, &Process::number) == processes_.end()) return text;
    }
  }

  static SeriesHandle open_info(const Process& process, Samples& out) {
    const RankFacts& rank = process.facts;
    return out.open(metric("job.info"),
                    {process.number, rank.job, rank.scheduler, rank.step, rank.rank,
                     rank.local_rank, rank.world_size, rank.gpu, cgroup_of(rank), rank.user});
  }

  void open(const RankFacts& rank, Samples& out) {
    const std::string directory = fmt::format("{}/{}", proc_, rank.key.pid.value);
    Process process{.facts = rank,
                    .number = free_number(),
                    .series = {},
                    .stat = KeptFile(directory + "/stat"),
                    .status = KeptFile(directory + "/status"),
                    .io = KeptFile(directory + "/io"),
                    .ended = false};
    const auto usage = usage_of(process);
    if (!usage) return;  // it has ended meanwhile
    const std::string_view label = process.number;
    ProcessSeries& series = process.series;
    series.info = open_info(process, out);
    series.user = out.open(metric("job.process.cpu_time"), {label, "user"});
    series.system = out.open(metric("job.process.cpu_time"), {label, "system"});
    series.resident = out.open(metric("job.process.resident_memory"), {label});
    series.virtual_memory = out.open(metric("job.process.virtual_memory"), {label});
    series.threads = out.open(metric("job.process.threads"), {label});
    series.minor = out.open(metric("job.process.page_faults"), {label, "minor"});
    series.major = out.open(metric("job.process.page_faults"), {label, "major"});
    series.start_time = out.open(metric("job.process.start_time"), {label});
    for (std::size_t i = 0; i < kStates.size(); ++i) {
      series.states[i] = out.open(metric("job.process.state"), {label, kStates[i].name});
    }
    processes_.push_back(std::move(process));
  }

  static void close(Process& process, Samples& out) {
    process.series.for_each([&](SeriesHandle& series) { out.close(series); });
  }

  // nullopt: it has ended, or its pid is another's by now.
  static std::optional<ProcessUsage> usage_of(Process& process) {
    const auto text = process.stat.read_if_there();
    const auto usage = text ? parse_process_usage(*text) : std::nullopt;
    if (!usage || usage->start_ticks != process.facts.key.start_ticks) return std::nullopt;
    return usage;
  }

  void emit(Process& process, Samples& out) const {
    const auto usage = usage_of(process);
    if (!usage) {
      process.ended = true;
      return;
    }
    const auto set = [&](SeriesHandle series, std::uint64_t value, double unit = 1) {
      out.set(series, static_cast<double>(value) * unit);
    };
    const ProcessSeries& series = process.series;
    set(series.info, 1);
    set(series.user, usage->user_ticks, tick_);
    set(series.system, usage->system_ticks, tick_);
    set(series.resident, usage->resident_pages, page_size_);
    set(series.virtual_memory, usage->virtual_bytes);
    set(series.threads, usage->threads);
    set(series.minor, usage->minor_faults);
    set(series.major, usage->major_faults);
    if (boot_time_) {
      out.set(series.start_time,
              static_cast<double>(*boot_time_) + static_cast<double>(usage->start_ticks) * tick_);
    }
    const char state = usage->state == 't' ? 'T' : usage->state;
    for (std::size_t i = 0; i < kStates.size(); ++i) {
      set(series.states[i], state == kStates[i].letter ? 1 : 0);
    }
    emit_rest(process, out);
  }

  // Of another user's process they may be hidden.
  static void emit_rest(Process& process, Samples& out) {
    if (const auto text = process.status.read_if_there()) {
      const ProcessSwitches switches = parse_process_switches(*text);
      set_late(process, process.series.switches, metric("job.process.context_switches"),
               {switches.voluntary, switches.involuntary}, {"voluntary", "involuntary"}, out);
    }
    if (const auto text = process.io.read_if_there()) {
      const ProcessIo io = parse_process_io(*text);
      set_late(process, process.series.disk, metric("job.process.disk_io"),
               {io.read_bytes, io.written_bytes}, {"read", "write"}, out);
      set_late(process, process.series.io, metric("job.process.io"),
               {io.read_characters, io.written_characters}, {"read", "write"}, out);
    }
  }

  static void set_late(const Process& process, std::array<SeriesHandle, 2>& series,
                       const MetricDescriptor& descriptor,
                       std::array<std::optional<std::uint64_t>, 2> values,
                       std::array<std::string_view, 2> labels, Samples& out) {
    for (std::size_t i = 0; i < series.size(); ++i) {
      if (!values[i]) continue;
      if (!series[i].valid()) series[i] = out.open(descriptor, {process.number, labels[i]});
      out.set(series[i], static_cast<double>(*values[i]));
    }
  }

  std::string proc_;
  std::shared_ptr<AskedRanks> asked_;
  double page_size_;
  double tick_;  // seconds of a clock tick
  std::optional<std::uint64_t> boot_time_;
  std::shared_ptr<const Answer<std::vector<RankFacts>>> taken_;
  std::vector<Process> processes_;
  std::size_t left_out_ = 0;
  unsigned runs_ = 0;
};

}  // namespace

std::unique_ptr<Collector> make_jobs_collector(const SystemRoot& root,
                                               std::shared_ptr<AskedRanks> asked, long page_size,
                                               long ticks_per_second) {
  return std::make_unique<JobsCollector>(root, std::move(asked), page_size, ticks_per_second);
}

}  // namespace dynolog
