// Collector `cgroups`. Some ten small files for each group: not each second.
#include "collectors/cgroups.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "collectors/known_entries.h"
#include "collectors/oom_kills.h"
#include "kernel/cgroup.h"
#include "kernel/key_values.h"
#include "kernel/pressure.h"
#include "kernel/sysfs.h"

namespace dynolog {
namespace {

consteval const MetricDescriptor& metric(std::string_view id) {
  for (const MetricDescriptor& descriptor : kCgroupsMetrics) {
    if (descriptor.id == id) return descriptor;
  }
  throw "no such metric";
}

constexpr std::array<std::string_view, 3> kResources = {"cpu", "memory", "io"};
constexpr std::array<std::string_view, 3> kPressureFiles = {"cpu.pressure", "memory.pressure",
                                                            "io.pressure"};
constexpr std::array<std::string_view, 4> kEvents = {"high", "max", "oom", "oom_kill"};

std::string name_of(const CgroupPlace& place) {
  switch (place.kind) {
    case CgroupKind::slice:
      return fmt::format("slice/{}", place.job);
    case CgroupKind::pod:
      return fmt::format("pod/{}", place.job);
    case CgroupKind::slurm_job:
      return fmt::format("slurm/{}", place.job);
    case CgroupKind::slurm_step:
      return slurm_cgroup_name(place.job, place.step);
    case CgroupKind::slurm_task:
      return fmt::format("slurm/{}/{}/{}", place.job, place.step, place.task);
  }
  std::unreachable();
}

// A series that is opened with its first value.
struct Late {
  SeriesHandle series;
};

// The series of one group.
struct Group {
  std::string name;
  // Of jobs and pods: what is within them counts for them too.
  std::optional<OomKills> oom_kills;
  SeriesHandle info;
  Late user, system, throttled_time, periods, throttled_periods, cpu_limit;
  Late memory, anonymous, cache, peak, memory_limit, swap;
  std::array<Late, kEvents.size()> events;
  Late read_bytes, written_bytes, reads, writes;
  std::array<std::array<Late, 2>, kResources.size()> pressure;
  Late tasks, tasks_limit;

  template <class Visit>
  void for_each(Visit&& visit) {
    visit(info);
    for (Late* late : {&user, &system, &throttled_time, &periods, &throttled_periods, &cpu_limit,
                       &memory, &anonymous, &cache, &peak, &memory_limit, &swap, &read_bytes,
                       &written_bytes, &reads, &writes, &tasks, &tasks_limit}) {
      visit(late->series);
    }
    for (Late& event : events) visit(event.series);
    for (auto& resource : pressure) {
      for (Late& kind : resource) visit(kind.series);
    }
  }
};

// Writes one group's values.
class GroupWriter {
 public:
  GroupWriter(Group& group, Samples& out) : group_(group), out_(out) {}

  // Absent without a value: its series is opened by the first one. A limit that is lifted closes
  // it again.
  void set(Late& late, const MetricDescriptor& metric, std::optional<double> value,
           std::initializer_list<std::string_view> more = {}) {
    if (!value) {
      out_.close(late.series);
      return;
    }
    if (!late.series.valid()) {
      std::array<std::string_view, 3> labels = {group_.name};
      std::ranges::copy(more, labels.begin() + 1);
      late.series = out_.open(metric, std::span(labels).first(1 + more.size()));
    }
    out_.set(late.series, *value);
  }
  void take_oom_kills(double count) {
    if (group_.oom_kills) group_.oom_kills->take(count, group_.name, out_);
  }
  Group& group() { return group_; }

 private:
  Group& group_;
  Samples& out_;
};

std::optional<double> times(std::optional<double> value, double factor) {
  return value ? std::optional(*value * factor) : std::nullopt;
}

void write_memory_events(GroupWriter& writer, std::string_view text) {
  for_each_key_value(text, [&](std::string_view key, std::optional<double> value) {
    const auto* const event = std::ranges::find(kEvents, key);
    if (event == kEvents.end()) return;
    writer.set(writer.group().events[static_cast<std::size_t>(event - kEvents.begin())],
               metric("cgroup.memory_events"), value, {key});
    if (value && key == "oom_kill") writer.take_oom_kills(*value);
  });
}

void write_io(GroupWriter& writer, const CgroupIo& io) {
  Group& group = writer.group();
  const auto value = [](std::uint64_t number) {
    return std::optional(static_cast<double>(number));
  };
  writer.set(group.read_bytes, metric("cgroup.io"), value(io.read_bytes), {"read"});
  writer.set(group.written_bytes, metric("cgroup.io"), value(io.written_bytes), {"write"});
  writer.set(group.reads, metric("cgroup.io_operations"), value(io.reads), {"read"});
  writer.set(group.writes, metric("cgroup.io_operations"), value(io.writes), {"write"});
}

void write_pressure(GroupWriter& writer, std::string_view path, AttributeReader& files) {
  constexpr double kMicroseconds = 1e-6;
  for (std::size_t i = 0; i < kResources.size(); ++i) {
    const auto text = files.read({path.substr(1), kPressureFiles[i]});
    if (!text) continue;
    const auto pressure = parse_pressure(*text);
    if (!pressure) continue;
    const auto seconds = [&](const std::optional<std::uint64_t>& us) {
      return us ? std::optional(static_cast<double>(*us) * kMicroseconds) : std::nullopt;
    };
    auto& series = writer.group().pressure[i];
    writer.set(series[0], metric("cgroup.pressure"), seconds(pressure->some_us),
               {kResources[i], "waiting"});
    writer.set(series[1], metric("cgroup.pressure"), seconds(pressure->full_us),
               {kResources[i], "stalled"});
  }
}

void write_throttling(GroupWriter& writer, std::string_view text, std::string_view time_key,
                      double time_unit) {
  Group& group = writer.group();
  for_each_key_value(text, [&](std::string_view key, std::optional<double> value) {
    if (key == "nr_periods") writer.set(group.periods, metric("cgroup.cpu_periods"), value);
    if (key == "nr_throttled") {
      writer.set(group.throttled_periods, metric("cgroup.cpu_throttled_periods"), value);
    }
    if (key == time_key) {
      writer.set(group.throttled_time, metric("cgroup.cpu_throttled_time"),
                 times(value, time_unit));
    }
  });
}

void write_cpu_modes(GroupWriter& writer, std::string_view text, std::string_view user_key,
                     std::string_view system_key, double unit) {
  Group& group = writer.group();
  for_each_key_value(text, [&](std::string_view key, std::optional<double> value) {
    if (key == user_key) {
      writer.set(group.user, metric("cgroup.cpu_time"), times(value, unit), {"user"});
    }
    if (key == system_key) {
      writer.set(group.system, metric("cgroup.cpu_time"), times(value, unit), {"system"});
    }
  });
}

void write_memory_stat(GroupWriter& writer, std::string_view text, std::string_view anonymous,
                       std::string_view cache) {
  Group& group = writer.group();
  for_each_key_value(text, [&](std::string_view key, std::optional<double> value) {
    if (key == anonymous) writer.set(group.anonymous, metric("cgroup.memory_anonymous"), value);
    if (key == cache) writer.set(group.cache, metric("cgroup.memory_cache"), value);
  });
}

class CgroupsCollector final : public Collector {
 public:
  CgroupsCollector(const SystemRoot& root, const CollectorOptions::Cgroups& options,
                   long ticks_per_second)
      : sys_(root.sys), options_(options), tick_(1.0 / static_cast<double>(ticks_per_second)) {}

  [[nodiscard]] std::string_view name() const override { return "cgroups"; }
  [[nodiscard]] Tier tier() const override { return Tier::medium; }

  [[nodiscard]] Status collect(Samples& out) override {
    if (!readers_ && !find()) {
      return fail(ErrorKind::unavailable, sys_ + "/fs/cgroup: no control groups are mounted there");
    }
    groups_.begin();
    readers_->walk.for_each([&](const CgroupPlace& place) { emit(place, out); });
    groups_.finish(
        [&](Group& gone) { gone.for_each([&](SeriesHandle& series) { out.close(series); }); });
    if (readers_->walk.left_out() == 0) return {};
    return fail(ErrorKind::exhausted, fmt::format("{} control groups are left out: more than {}",
                                                  readers_->walk.left_out(), kMaxCgroups));
  }

 private:
  // One for each hierarchy; of version 2 they are all the same directory.
  struct Readers {
    bool unified;
    AttributeReader cpu, cpuacct, memory, io, pids, pressure;
    CgroupWalk walk;
  };

  bool find() {
    const auto layout = find_cgroups(sys_);
    if (!layout) return false;
    const std::string top = !layout->memory.empty()    ? layout->memory
                            : !layout->cpuacct.empty() ? layout->cpuacct
                                                       : layout->cpu;
    readers_.emplace(Readers{.unified = layout->unified,
                             .cpu = AttributeReader(layout->cpu),
                             .cpuacct = AttributeReader(layout->cpuacct),
                             .memory = AttributeReader(layout->memory),
                             .io = AttributeReader(layout->io),
                             .pids = AttributeReader(layout->pids),
                             .pressure = AttributeReader(layout->pressure),
                             .walk = CgroupWalk(top, options_.slices)});
    return true;
  }

  void emit(const CgroupPlace& place, Samples& out) {
    Group* const group = groups_.next(place.path, [&] { return open(place, out); });
    if (group == nullptr) return;
    out.set(group->info, 1);
    GroupWriter writer(*group, out);
    const std::string_view path = place.path.substr(1);
    if (readers_->unified) {
      emit_unified(writer, path);
    } else {
      emit_version_1(writer, path);
    }
    write_pressure(writer, place.path, readers_->pressure);
    writer.set(group->tasks, metric("cgroup.tasks"), readers_->pids.number({path, "pids.current"}));
    writer.set(group->tasks_limit, metric("cgroup.tasks_limit"),
               limit(readers_->pids, path, "pids.max"));
  }

  static std::optional<Group> open(const CgroupPlace& place, Samples& out) {
    Group group;
    group.name = name_of(place);
    const bool pod = place.kind == CgroupKind::pod;
    const bool job = !pod && place.kind != CgroupKind::slice;
    if (pod || place.kind == CgroupKind::slurm_job) group.oom_kills.emplace();
    std::string uid(pod ? place.job : "");
    std::ranges::replace(uid, '_', '-');  // systemd's names have '_' for it
    group.info = out.open(
        metric("cgroup.info"),
        {group.name, to_string(place.kind), job ? place.job : "", place.step, place.task, uid});
    return group;
  }

  static std::optional<double> limit(AttributeReader& files, std::string_view path,
                                     std::string_view file) {
    const auto text = files.read({path, file});
    return text ? cgroup_limit(*text) : std::nullopt;
  }

  void emit_unified(GroupWriter& writer, std::string_view path) {
    constexpr double kMicroseconds = 1e-6;
    AttributeReader& files = readers_->memory;
    Group& group = writer.group();
    if (const auto text = files.read({path, "cpu.stat"})) {
      write_cpu_modes(writer, *text, "user_usec", "system_usec", kMicroseconds);
      write_throttling(writer, *text, "throttled_usec", kMicroseconds);
    }
    const auto quota = files.read({path, "cpu.max"});
    writer.set(group.cpu_limit, metric("cgroup.cpu_limit"),
               quota ? cgroup_cpu_limit(*quota) : std::nullopt);
    writer.set(group.memory, metric("cgroup.memory"), files.number({path, "memory.current"}));
    writer.set(group.peak, metric("cgroup.memory_peak"), files.number({path, "memory.peak"}));
    writer.set(group.memory_limit, metric("cgroup.memory_limit"), limit(files, path, "memory.max"));
    writer.set(group.swap, metric("cgroup.swap"), files.number({path, "memory.swap.current"}));
    if (const auto text = files.read({path, "memory.stat"})) {
      write_memory_stat(writer, *text, "anon", "file");
    }
    if (const auto text = files.read({path, "memory.events"})) write_memory_events(writer, *text);
    if (const auto text = files.read({path, "io.stat"})) write_io(writer, parse_cgroup_io(*text));
  }

  void emit_version_1(GroupWriter& writer, std::string_view path) {
    constexpr double kNanoseconds = 1e-9;
    Group& group = writer.group();
    if (const auto text = readers_->cpuacct.read({path, "cpuacct.stat"})) {
      write_cpu_modes(writer, *text, "user", "system", tick_);
    }
    if (const auto text = readers_->cpu.read({path, "cpu.stat"})) {
      write_throttling(writer, *text, "throttled_time", kNanoseconds);
    }
    const auto quota = readers_->cpu.number({path, "cpu.cfs_quota_us"});
    const auto period = readers_->cpu.number({path, "cpu.cfs_period_us"});
    const bool limited = quota && period && *quota > 0 && *period > 0;
    writer.set(group.cpu_limit, metric("cgroup.cpu_limit"),
               limited ? std::optional(*quota / *period) : std::nullopt);
    AttributeReader& memory = readers_->memory;
    writer.set(group.memory, metric("cgroup.memory"),
               memory.number({path, "memory.usage_in_bytes"}));
    writer.set(group.peak, metric("cgroup.memory_peak"),
               memory.number({path, "memory.max_usage_in_bytes"}));
    writer.set(group.memory_limit, metric("cgroup.memory_limit"),
               limit(memory, path, "memory.limit_in_bytes"));
    if (const auto text = memory.read({path, "memory.stat"})) {
      write_memory_stat(writer, *text, "total_rss", "total_cache");
      for_each_key_value(*text, [&](std::string_view key, std::optional<double> value) {
        if (key == "total_swap") writer.set(group.swap, metric("cgroup.swap"), value);
      });
    }
    writer.set(group.events[1], metric("cgroup.memory_events"),
               memory.number({path, "memory.failcnt"}), {kEvents[1]});
    if (const auto text = memory.read({path, "memory.oom_control"})) {
      write_memory_events(writer, *text);
    }
    emit_blkio(writer, path);
  }

  void emit_blkio(GroupWriter& writer, std::string_view path) {
    const auto text = readers_->io.read({path, "blkio.throttle.io_service_bytes_recursive"});
    if (!text) return;
    const BlkioSums bytes = parse_blkio(*text);
    const auto operations = readers_->io.read({path, "blkio.throttle.io_serviced_recursive"});
    const BlkioSums counts = operations ? parse_blkio(*operations) : BlkioSums{};
    write_io(writer, {.read_bytes = bytes.reads,
                      .written_bytes = bytes.writes,
                      .reads = counts.reads,
                      .writes = counts.writes});
  }

  std::string sys_;
  CollectorOptions::Cgroups options_;
  double tick_;  // seconds of a clock tick
  std::optional<Readers> readers_;
  KnownEntries<Group> groups_;
};

}  // namespace

std::string slurm_cgroup_name(std::string_view job, std::string_view step) {
  return step.empty() ? fmt::format("slurm/{}", job) : fmt::format("slurm/{}/{}", job, step);
}

std::unique_ptr<Collector> make_cgroups_collector(const SystemRoot& root,
                                                  const CollectorOptions::Cgroups& options,
                                                  long ticks_per_second) {
  return std::make_unique<CgroupsCollector>(root, options, ticks_per_second);
}

}  // namespace dynolog
