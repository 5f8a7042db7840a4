// Collector `self`.
#include "collectors/self.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/version.h"
#include "kernel/proc_self.h"
#include "kernel/proc_stat.h"

namespace dynolog {
namespace {

consteval const MetricDescriptor& metric(std::string_view id) {
  for (const MetricDescriptor& descriptor : kSelfMetrics) {
    if (descriptor.id == id) return descriptor;
  }
  throw "no such metric";
}

constexpr std::size_t kMaxCounters = 256;
constexpr std::size_t kMaxStatFile = 16U << 20U;  // a line for each CPU, and one for each interrupt

// Seconds since the epoch.
std::optional<std::uint64_t> read_boot_time(const SystemRoot& root) {
  const auto text = read_file(root.proc + "/stat", kMaxStatFile);
  ProcStat stat;
  if (!text || !parse_proc_stat(*text, stat)) return std::nullopt;
  return stat.boot_time_s;
}

class SelfCollector final : public Collector {
 public:
  SelfCollector(const SystemRoot& root, ReadCounters read_counters, long page_size,
                long ticks_per_second)
      : stat_(root.proc + "/self/stat", Records::one_piece),
        descriptors_(root),
        read_counters_(std::move(read_counters)),
        page_size_(static_cast<double>(page_size)),
        ticks_per_second_(static_cast<double>(ticks_per_second)),
        boot_time_(read_boot_time(root)) {}

  [[nodiscard]] std::string_view name() const override { return "self"; }
  // Counting descriptors lists a directory on kernels before 6.2.
  [[nodiscard]] Tier tier() const override { return Tier::medium; }

  [[nodiscard]] Status collect(Samples& out) override {
    if (!cpu_.valid()) open(out);
    emit_usage(out);
    emit_counters(out);
    Status status = emit_stat(out);
    if (const auto count = descriptors_.count(); count) {
      out.set(open_descriptors_, static_cast<double>(*count));
    } else if (status) {
      status = std::unexpected(count.error());
    }
    return status;
  }

 private:
  struct Counter {
    std::string name;
    SeriesHandle series;
  };

  void open(Samples& out) {
    cpu_ = out.open(metric("self.cpu_time"), {});
    user_ = out.open(metric("self.cpu_time.mode"), {"user"});
    system_ = out.open(metric("self.cpu_time.mode"), {"system"});
    voluntary_ = out.open(metric("self.context_switches"), {"voluntary"});
    involuntary_ = out.open(metric("self.context_switches"), {"involuntary"});
    resident_ = out.open(metric("self.resident_memory"), {});
    virtual_ = out.open(metric("self.virtual_memory"), {});
    threads_ = out.open(metric("self.threads"), {});
    open_descriptors_ = out.open(metric("self.open_descriptors"), {});
    descriptor_limit_ = out.open(metric("self.descriptor_limit"), {});
    start_time_ = out.open(metric("self.start_time"), {});
    build_ = out.open(metric("self.build"), {kVersion, __VERSION__});
  }

  void emit_usage(Samples& out) const {
    const auto seconds = [](Nanoseconds time) {
      return std::chrono::duration<double>(time).count();
    };
    const SelfUsage usage = read_self_usage();
    out.set(cpu_, seconds(usage.user + usage.system));
    out.set(user_, seconds(usage.user));
    out.set(system_, seconds(usage.system));
    out.set(voluntary_, static_cast<double>(usage.voluntary_switches));
    out.set(involuntary_, static_cast<double>(usage.involuntary_switches));
    out.set(descriptor_limit_, static_cast<double>(read_descriptor_limit()));
    out.set(build_, 1);
  }

  Status emit_stat(Samples& out) {
    const auto text = stat_.read();
    if (!text) return std::unexpected(text.error());
    const auto stat = parse_proc_self_stat(*text);
    if (!stat) return std::unexpected(stat.error());
    out.set(resident_, static_cast<double>(stat->resident_pages) * page_size_);
    out.set(virtual_, static_cast<double>(stat->virtual_bytes));
    out.set(threads_, static_cast<double>(stat->threads));
    if (boot_time_) {
      out.set(start_time_, static_cast<double>(*boot_time_) +
                               static_cast<double>(stat->start_ticks) / ticks_per_second_);
    }
    return {};
  }

  void emit_counters(Samples& out) {
    if (!read_counters_) return;
    next_ = 0;
    out_ = &out;
    read_counters_(
        [this](std::string_view name, std::uint64_t value) { emit_counter(name, value); });
    out_ = nullptr;
  }

  void emit_counter(std::string_view name, std::uint64_t value) {
    // They come in the same order: the next one is nearly always the right one.
    if (next_ >= counters_.size() || counters_[next_].name != name) next_ = find_or_open(name);
    if (next_ >= counters_.size()) return;
    out_->set(counters_[next_].series, static_cast<double>(value));
    ++next_;
  }

  std::size_t find_or_open(std::string_view name) {
    for (std::size_t i = 0; i < counters_.size(); ++i) {
      if (counters_[i].name == name) return i;
    }
    if (counters_.size() >= kMaxCounters) {
      out_->absent({}, AbsentReason::limit);
      return counters_.size();
    }
    counters_.push_back({std::string(name), out_->open(metric("self.count"), {name})});
    return counters_.size() - 1;
  }

  KeptFile stat_;
  SelfDescriptors descriptors_;
  ReadCounters read_counters_;
  double page_size_;
  double ticks_per_second_;
  std::optional<std::uint64_t> boot_time_;
  SeriesHandle cpu_, user_, system_, voluntary_, involuntary_;
  SeriesHandle resident_, virtual_, threads_, open_descriptors_;
  SeriesHandle descriptor_limit_, start_time_, build_;
  std::vector<Counter> counters_;
  std::size_t next_ = 0;
  Samples* out_ = nullptr;  // during emit_counters()
};

}  // namespace

std::unique_ptr<Collector> make_self_collector(const SystemRoot& root, ReadCounters read_counters,
                                               long page_size, long ticks_per_second) {
  return std::make_unique<SelfCollector>(root, std::move(read_counters), page_size,
                                         ticks_per_second);
}

}  // namespace dynolog
