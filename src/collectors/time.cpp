// Collectors `time` and `clocksource`.
#include "collectors/time.h"

#include <chrono>
#include <ctime>
#include <string>

#include "collectors/known_entries.h"
#include "kernel/scan.h"
#include "kernel/sysfs.h"

namespace dynolog {
namespace {

class TimeCollector final : public Collector {
 public:
  [[nodiscard]] std::string_view name() const override { return "time"; }
  [[nodiscard]] Tier tier() const override { return Tier::fast; }

  [[nodiscard]] Status collect(Samples& out) override {
    const auto since_epoch = out.wall().time_since_epoch();
    if (!time_.valid()) time_ = out.open(kTimeMetrics[0], {});
    // In microseconds, as a double of today's time has no finer ones.
    const auto micros = std::chrono::floor<std::chrono::microseconds>(since_epoch);
    out.set(time_, static_cast<double>(micros.count()) / 1e6);
    emit_zone(std::chrono::floor<std::chrono::seconds>(since_epoch).count(), out);
    return {};
  }

 private:
  // The zone's name changes with daylight saving time: then it is another series. It changes at a
  // whole minute.
  void emit_zone(std::time_t now, Samples& out) {
    if (offset_.valid() && now / 60 == minute_) return out.set(offset_, seconds_east_);
    std::tm local{};
    if (::localtime_r(&now, &local) == nullptr || local.tm_zone == nullptr) return;
    minute_ = now / 60;
    if (!offset_.valid() || zone_ != local.tm_zone) {
      zone_ = local.tm_zone;
      out.close(offset_);
      offset_ = out.open(kTimeMetrics[1], {zone_});
    }
    seconds_east_ = static_cast<double>(local.tm_gmtoff);
    out.set(offset_, seconds_east_);
  }

  SeriesHandle time_;
  SeriesHandle offset_;
  std::string zone_;
  std::time_t minute_ = 0;  // of the offset
  double seconds_east_ = 0;
};

class ClocksourceCollector final : public Collector {
 public:
  explicit ClocksourceCollector(const SystemRoot& root)
      : files_(root.sys + "/devices/system/clocksource/clocksource0") {}

  [[nodiscard]] std::string_view name() const override { return "clocksource"; }
  [[nodiscard]] Tier tier() const override { return Tier::medium; }

  // There is one device, 0.
  [[nodiscard]] Status collect(Samples& out) override {
    const auto current = files_.read({"current_clocksource"});
    if (!current) {
      return fail(ErrorKind::unavailable, "/sys/devices/system/clocksource cannot be read");
    }
    emit(*current, current_, kClocksourceMetrics[0], out);
    const auto available = files_.read({"available_clocksource"});
    emit(available.value_or(""), available_, kClocksourceMetrics[1], out);
    return {};
  }

 private:
  static void emit(std::string_view names, KnownSeries& known, const MetricDescriptor& metric,
                   Samples& out) {
    known.begin();
    for (auto name = take_word(names); !name.empty(); name = take_word(names)) {
      const SeriesHandle* series =
          known.next(name, [&] { return std::optional(out.open(metric, {"0", name})); });
      out.set(*series, 1);
    }
    known.finish([&](SeriesHandle& gone) { out.close(gone); });
  }

  AttributeReader files_;
  KnownSeries current_;
  KnownSeries available_;
};

}  // namespace

std::unique_ptr<Collector> make_time_collector() { return std::make_unique<TimeCollector>(); }

std::unique_ptr<Collector> make_clocksource_collector(const SystemRoot& root) {
  return std::make_unique<ClocksourceCollector>(root);
}

}  // namespace dynolog
