// Collector `timex`.
#include "collectors/timex.h"

namespace dynolog {
namespace {

class TimexCollector final : public Collector {
 public:
  explicit TimexCollector(std::function<Result<Timex>()> read) : read_(std::move(read)) {}

  [[nodiscard]] std::string_view name() const override { return "timex"; }
  [[nodiscard]] Tier tier() const override { return Tier::fast; }

  [[nodiscard]] Status collect(Samples& out) override {
    const auto timex = read_();
    if (!timex) return std::unexpected(timex.error());
    const double values[] = {timex->is_synchronised ? 1.0 : 0.0,
                             timex->status,
                             timex->offset_s,
                             timex->frequency_ratio,
                             timex->max_error_s,
                             timex->estimated_error_s,
                             timex->loop_time_constant,
                             timex->tick_s,
                             timex->pps_frequency_hz,
                             timex->pps_jitter_s,
                             timex->pps_shift_s,
                             timex->pps_stability_hz,
                             timex->pps_jitter_count,
                             timex->pps_calibrations,
                             timex->pps_errors,
                             timex->pps_stability_exceeded,
                             timex->tai_offset_s};
    static_assert(std::size(values) == kTimexMetrics.size());
    for (std::size_t i = 0; i < series_.size(); ++i) {
      if (!series_[i].valid()) series_[i] = out.open(kTimexMetrics[i], {});
      out.set(series_[i], values[i]);
    }
    return {};
  }

 private:
  std::function<Result<Timex>()> read_;
  std::array<SeriesHandle, kTimexMetrics.size()> series_;
};

}  // namespace

std::unique_ptr<Collector> make_timex_collector(std::function<Result<Timex>()> read) {
  return std::make_unique<TimexCollector>(std::move(read));
}

}  // namespace dynolog
