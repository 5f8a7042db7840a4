// Collector `netdev`.
#include "collectors/netdev.h"

#include "base/file.h"
#include "collectors/known_entries.h"
#include "collectors/net_filter.h"
#include "kernel/net_dev.h"

namespace dynolog {
namespace {

static_assert(kNetdevMetrics.size() == kNetDevFields);
static_assert(kNetdevMetrics[static_cast<std::size_t>(NetDevField::receive_multicast)].id ==
              "net.receive_multicast");
static_assert(kNetdevMetrics[static_cast<std::size_t>(NetDevField::transmit_carrier)].id ==
              "net.carrier_losses");

class NetdevCollector final : public Collector {
 public:
  NetdevCollector(const SystemRoot& root, TrafficFilter filter)
      : file_(root.proc + "/net/dev", Records::short_ones), filter_(std::move(filter)) {}

  [[nodiscard]] std::string_view name() const override { return "netdev"; }
  [[nodiscard]] Tier tier() const override { return Tier::fast; }

  [[nodiscard]] Status collect(Samples& out) override {
    const auto text = file_.read();
    if (!text) return std::unexpected(text.error());
    devices_.begin();
    for_each_net_dev(*text, [&](const NetDevLine& line) {
      const Device* device = devices_.next(line.name, [&] { return open(line.name, out); });
      if (device == nullptr) return;
      for (std::size_t i = 0; i < kNetDevFields; ++i) {
        out.set((*device)[i], static_cast<double>(line.values[i]));
      }
    });
    devices_.finish([&](Device& gone) {
      for (SeriesHandle& series : gone) out.close(series);
    });
    return {};
  }

 private:
  using Device = std::array<SeriesHandle, kNetDevFields>;

  std::optional<Device> open(std::string_view name, Samples& out) const {
    if (!filter_.accepts(name)) return std::nullopt;
    Device device;
    for (std::size_t i = 0; i < kNetDevFields; ++i) {
      device[i] = out.open(kNetdevMetrics[i], {name});
    }
    return device;
  }

  KeptFile file_;
  TrafficFilter filter_;
  KnownEntries<Device> devices_;
};

}  // namespace

Result<std::unique_ptr<Collector>> make_netdev_collector(const SystemRoot& root,
                                                         const CollectorOptions::Net& options) {
  auto filter = TrafficFilter::make(options);
  if (!filter) return std::unexpected(std::move(filter.error()));
  return std::make_unique<NetdevCollector>(root, std::move(*filter));
}

}  // namespace dynolog
