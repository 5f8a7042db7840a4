// Collectors `lustre` and `lustre_targets`.
#include "collectors/lustre.h"

#include <cerrno>
#include <optional>
#include <string>

#include "collectors/class_devices.h"
#include "kernel/lustre_stats.h"

namespace dynolog {
namespace {

constexpr double kMicroseconds = 1e6;

// Lustre's own directories. What counts is in debugfs since version 2.11, which is root's, and
// before that in /proc.
struct Places {
  explicit Places(const SystemRoot& root)
      : module(root.sys + "/fs/lustre"),
        debug(root.sys + "/kernel/debug/lustre/"),
        proc(root.proc + "/fs/lustre/") {}
  std::string module;  // is there when Lustre is
  std::string debug;
  std::string proc;
};

// The devices of one kind, wherever they are.
template <class Device>
class LustreDevices {
 public:
  LustreDevices(const Places& places, const std::string& kind)
      : debug_(places.debug + kind), proc_(places.proc + kind) {}

  // `emit(name, Device&, AttributeReader&)`, `close(Device&)`. An error: debugfs cannot be read.
  template <class Emit, class Close>
  [[nodiscard]] Status visit(Emit&& emit, Close&& close) {
    const auto make = [](std::string_view) { return std::optional<Device>(Device{}); };
    Status listed;
    for (ClassDevices<Device>* devices : {&debug_, &proc_}) {
      const auto emit_here = [&](std::string_view name, Device& device) {
        emit(name, device, devices->files());
      };
      // One of the two places is never there.
      const int error = devices->visit_if_there(make, emit_here, close);
      if (error == EACCES || error == EPERM) listed = fail_errno(error, devices->path());
    }
    return listed;
  }
  [[nodiscard]] std::size_t count() const { return debug_.count() + proc_.count(); }

 private:
  ClassDevices<Device> debug_;
  ClassDevices<Device> proc_;
};

Status status_of(const Places& places, const Status& listed, std::size_t count) {
  if (count > 0) return {};
  const bool is_here = AttributeReader(places.module).exists({});
  if (is_here && !listed) return listed;
  return fail(ErrorKind::unavailable, "no Lustre file system is mounted");
}

class LustreCollector final : public Collector {
 public:
  explicit LustreCollector(const SystemRoot& root) : places_(root), mounts_(places_, "llite") {}

  [[nodiscard]] std::string_view name() const override { return "lustre"; }
  [[nodiscard]] Tier tier() const override { return Tier::medium; }

  [[nodiscard]] Status collect(Samples& out) override {
    const Status listed = mounts_.visit(
        [&](std::string_view name, Mount& mount, AttributeReader& files) {
          if (const auto text = files.read_long({name, "stats"})) emit(name, mount, *text, out);
        },
        [&](Mount& gone) {
          for (SeriesHandle& series : gone.sizes) out.close(series);
          gone.operations.begin();
          gone.operations.finish([&](SeriesHandle& series) { out.close(series); });
        });
    return status_of(places_, listed, mounts_.count());
  }

 private:
  // The metrics: each of reads, then of writes; operations last.
  static constexpr std::size_t kSizes = kLustreMetrics.size() - 1;
  struct Mount {
    std::array<SeriesHandle, kSizes> sizes;
    KnownSeries operations;
  };

  static void emit(std::string_view name, Mount& mount, std::string_view text, Samples& out) {
    mount.operations.begin();
    for_each_lustre_counter(text, [&](const LustreCounter& counter) {
      if (counter.name == "read_bytes") return emit_sizes(name, mount, 0, counter, out);
      if (counter.name == "write_bytes") return emit_sizes(name, mount, 1, counter, out);
      const SeriesHandle* series = mount.operations.next(counter.name, [&] {
        return std::optional(out.open(kLustreMetrics[kSizes], {counter.name, name}));
      });
      out.set(*series, static_cast<double>(counter.samples));
    });
    mount.operations.finish([&](SeriesHandle& gone) { out.close(gone); });
  }

  static void emit_sizes(std::string_view name, Mount& mount, std::size_t direction,
                         const LustreCounter& counter, Samples& out) {
    const std::array<std::optional<std::uint64_t>, kSizes / 2> values = {
        counter.sum, counter.samples, counter.minimum, counter.maximum};
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (!values[i]) continue;
      const std::size_t metric = 2 * i + direction;
      SeriesHandle& series = mount.sizes[metric];
      if (!series.valid()) series = out.open(kLustreMetrics[metric], {name});
      out.set(series, static_cast<double>(*values[i]));
    }
  }

  Places places_;
  LustreDevices<Mount> mounts_;
};

class LustreTargetsCollector final : public Collector {
 public:
  explicit LustreTargetsCollector(const SystemRoot& root)
      : places_(root), disks_(places_, "osc"), metadata_(places_, "mdc") {}

  [[nodiscard]] std::string_view name() const override { return "lustre_targets"; }
  [[nodiscard]] Tier tier() const override { return Tier::slow; }

  [[nodiscard]] Status collect(Samples& out) override {
    Status listed;
    for (LustreDevices<Target>* targets : {&disks_, &metadata_}) {
      const Status here = targets->visit(
          [&](std::string_view name, Target& target, AttributeReader& files) {
            if (const auto text = files.read_long({name, "import"})) {
              emit_import(name, target, *text, out);
            }
            if (const auto text = files.read_long({name, "stats"})) {
              emit_stats(name, target, *text, out);
            }
          },
          [&](Target& gone) {
            for (SeriesHandle& series : gone.series) out.close(series);
          });
      if (!here) listed = here;
    }
    return status_of(places_, listed, disks_.count() + metadata_.count());
  }

 private:
  struct Target {
    std::array<SeriesHandle, kLustreTargetsMetrics.size()> series;
  };

  static void set(std::string_view name, Target& target, std::size_t metric,
                  std::optional<std::uint64_t> value, Samples& out, double divisor = 1) {
    if (!value) return;
    SeriesHandle& series = target.series[metric];
    if (!series.valid()) series = out.open(kLustreTargetsMetrics[metric], {name});
    out.set(series, static_cast<double>(*value) / divisor);
  }

  static void emit_import(std::string_view name, Target& target, std::string_view text,
                          Samples& out) {
    const LustreImport import = parse_lustre_import(text);
    if (!import.state.empty()) set(name, target, 0, import.is_usable() ? 1U : 0U, out);
    set(name, target, 1, import.connection_attempts, out);
    set(name, target, 2, import.in_flight, out);
    set(name, target, 3, import.timeouts, out);
  }

  static void emit_stats(std::string_view name, Target& target, std::string_view text,
                         Samples& out) {
    for_each_lustre_counter(text, [&](const LustreCounter& counter) {
      if (counter.name == "req_waittime") {
        set(name, target, 4, counter.samples, out);
        set(name, target, 5, counter.sum, out, kMicroseconds);
      } else if (counter.name == "read_bytes") {
        set(name, target, 6, counter.sum, out);
      } else if (counter.name == "write_bytes") {
        set(name, target, 7, counter.sum, out);
      }
    });
  }

  Places places_;
  LustreDevices<Target> disks_;
  LustreDevices<Target> metadata_;
};

}  // namespace

std::unique_ptr<Collector> make_lustre_collector(const SystemRoot& root) {
  return std::make_unique<LustreCollector>(root);
}

std::unique_ptr<Collector> make_lustre_targets_collector(const SystemRoot& root) {
  return std::make_unique<LustreTargetsCollector>(root);
}

}  // namespace dynolog
