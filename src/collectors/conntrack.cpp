// Collector `conntrack`.
#include "collectors/conntrack.h"

#include <algorithm>

#include "base/file.h"
#include "kernel/per_cpu_files.h"
#include "kernel/scan.h"

namespace dynolog {
namespace {

// Those that node_exporter has; the others are internal or always 0.
constexpr std::array<std::string_view, 8> kEvents = {"found",      "invalid",       "ignore",
                                                     "insert",     "insert_failed", "drop",
                                                     "early_drop", "search_restart"};

class ConntrackCollector final : public Collector {
 public:
  explicit ConntrackCollector(const SystemRoot& root)
      : count_(root.proc + "/sys/net/netfilter/nf_conntrack_count", Records::one_piece),
        limit_(root.proc + "/sys/net/netfilter/nf_conntrack_max", Records::one_piece),
        events_(root.proc + "/net/stat/nf_conntrack", Records::short_ones) {}

  [[nodiscard]] std::string_view name() const override { return "conntrack"; }
  [[nodiscard]] Tier tier() const override { return Tier::fast; }

  [[nodiscard]] Status collect(Samples& out) override {
    const auto count = count_.read();
    if (!count) return std::unexpected(count.error());
    set(0, single_value(*count), out);
    const auto limit = limit_.read_if_there();
    if (limit) set(1, single_value(*limit), out);
    const auto events = events_.read_if_there();
    if (events) emit_events(*events, out);
    return {};
  }

 private:
  void set(std::size_t metric, std::optional<double> value, Samples& out) {
    if (!series_[metric].valid()) series_[metric] = out.open(kConntrackMetrics[metric], {});
    if (value) out.set(series_[metric], *value);
  }

  // Sums over the CPUs. Each of them wraps at 32 bits, which the sum shows as a reset.
  void emit_events(std::string_view text, Samples& out) {
    std::array<std::optional<double>, kEvents.size()> sums;
    for_each_hex_column(text, [&](std::string_view name, std::uint64_t value) {
      const auto* event = std::ranges::find(kEvents, name);
      if (event == kEvents.end()) return;
      auto& sum = sums[static_cast<std::size_t>(event - kEvents.begin())];
      sum = sum.value_or(0) + static_cast<double>(value);
    });
    for (std::size_t i = 0; i < kEvents.size(); ++i) {
      if (!sums[i]) continue;
      if (!events_series_[i].valid()) {
        events_series_[i] = out.open(kConntrackMetrics[2], {kEvents[i]});
      }
      out.set(events_series_[i], *sums[i]);
    }
  }

  KeptFile count_;
  KeptFile limit_;
  KeptFile events_;
  std::array<SeriesHandle, 2> series_;
  std::array<SeriesHandle, kEvents.size()> events_series_;
};

}  // namespace

std::unique_ptr<Collector> make_conntrack_collector(const SystemRoot& root) {
  return std::make_unique<ConntrackCollector>(root);
}

}  // namespace dynolog
