// Collector `ethtool`. Drivers ask firmware for some of it: once a minute.
#include "collectors/ethtool.h"

#include <algorithm>
#include <string>
#include <vector>

#include "collectors/class_devices.h"
#include "collectors/net_filter.h"

namespace dynolog {
namespace {

// node_exporter calls these totals.
constexpr std::array<std::string_view, 7> kTotals = {
    "rx_bytes", "rx_dropped", "rx_errors", "rx_packets", "tx_bytes", "tx_errors", "tx_packets"};

std::string metric_name(std::string_view statistic) {
  std::string name = ethtool_metric_name(statistic);
  if (std::ranges::find(kTotals, statistic) != kTotals.end()) name += "_total";
  return name;
}

class EthtoolCollector final : public Collector {
 public:
  EthtoolCollector(const SystemRoot& root, TrafficFilter devices, NameFilter statistics,
                   std::unique_ptr<Ethtool> ethtool)
      : devices_(root.sys + "/class/net"),
        device_filter_(std::move(devices)),
        statistic_filter_(std::move(statistics)),
        ethtool_(std::move(ethtool)) {}

  [[nodiscard]] std::string_view name() const override { return "ethtool"; }
  [[nodiscard]] Tier tier() const override { return Tier::slow; }

  [[nodiscard]] Status collect(Samples& out) override {
    return devices_.visit([&](std::string_view name) { return make(name); },
                          [&](std::string_view name, Device& device) { emit(name, device, out); },
                          [&](Device& gone) { close(gone, out); });
  }

 private:
  struct Statistic {
    std::size_t index;
    SeriesHandle series;
  };
  struct Device {
    bool is_known = false;  // its driver has answered
    SeriesHandle info;
    std::vector<Statistic> wanted;
    std::vector<std::uint64_t> values;  // of all there are
  };

  // bonding_masters is a file among the devices.
  std::optional<Device> make(std::string_view name) {
    const bool wanted = device_filter_.accepts(name) && devices_.files().exists({name, "ifindex"});
    return wanted ? std::optional(Device{}) : std::nullopt;
  }

  void find_statistics(std::string_view name, Device& device, Samples& out) {
    const auto driver = ethtool_->driver(name);
    if (!driver) return;
    device.is_known = true;
    if (driver->statistics > 0) open_statistics(name, driver->statistics, device, out);
    // Containers' interfaces have no bus, and there are hundreds: theirs would tell nothing.
    if (driver->bus.empty() && device.wanted.empty()) return;
    device.info = out.open(kEthtoolMetrics[0], {name, driver->bus, driver->driver, driver->rom,
                                                driver->firmware, driver->version});
  }

  void open_statistics(std::string_view name, std::uint32_t count, Device& device, Samples& out) {
    const auto names = ethtool_->names(name, count);
    if (!names) return;
    device.values.resize(names->size());
    std::vector<std::string> taken;
    for (std::size_t i = 0; i < names->size(); ++i) {
      if (!statistic_filter_.accepts((*names)[i])) continue;
      std::string metric = metric_name((*names)[i]);
      // Two names may be one when what they differ in is no part of a name.
      if (metric.empty() || std::ranges::find(taken, metric) != taken.end()) continue;
      device.wanted.push_back({i, out.open(kEthtoolMetrics[1], {name, metric})});
      taken.push_back(std::move(metric));
    }
  }

  void emit(std::string_view name, Device& device, Samples& out) {
    if (!device.is_known) find_statistics(name, device, out);
    if (!device.wanted.empty() && !ethtool_->values(name, device.values)) {
      // A driver changes their number with the number of queues: they are looked up anew.
      close(device, out);
      device = {};
      find_statistics(name, device, out);
      if (device.wanted.empty() || !ethtool_->values(name, device.values)) return;
    }
    if (device.info.valid()) out.set(device.info, 1);
    for (const Statistic& statistic : device.wanted) {
      out.set(statistic.series, static_cast<double>(device.values[statistic.index]));
    }
  }

  static void close(Device& gone, Samples& out) {
    out.close(gone.info);
    for (Statistic& statistic : gone.wanted) out.close(statistic.series);
  }

  ClassDevices<Device> devices_;
  TrafficFilter device_filter_;
  NameFilter statistic_filter_;
  std::unique_ptr<Ethtool> ethtool_;
};

}  // namespace

Result<std::unique_ptr<Collector>> make_ethtool_collector(const SystemRoot& root,
                                                          const CollectorOptions& options,
                                                          std::unique_ptr<Ethtool> ethtool) {
  auto devices = TrafficFilter::make(options.net);
  if (!devices) return std::unexpected(std::move(devices.error()));
  auto statistics = NameFilter::compile(options.ethtool.statistics);
  if (!statistics) {
    return with_context(std::move(statistics.error()), "ethtool_include, ethtool_exclude");
  }
  return std::make_unique<EthtoolCollector>(root, std::move(*devices), std::move(*statistics),
                                            std::move(ethtool));
}

}  // namespace dynolog
