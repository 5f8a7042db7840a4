// Collector `arp`. The table may have thousands of lines: not each second.
#include "collectors/arp.h"

#include <algorithm>
#include <string>
#include <vector>

#include "base/file.h"
#include "kernel/proc_net_arp.h"

namespace dynolog {
namespace {

class ArpCollector final : public Collector {
 public:
  explicit ArpCollector(const SystemRoot& root) : file_(root.proc + "/net/arp") {}

  [[nodiscard]] std::string_view name() const override { return "arp"; }
  [[nodiscard]] Tier tier() const override { return Tier::medium; }

  [[nodiscard]] Status collect(Samples& out) override {
    const auto text = file_.read();
    if (!text) return std::unexpected(text.error());
    for (Device& device : devices_) device.entries = 0;
    for_each_arp_entry(*text, [&](std::string_view name) { ++find(name, out).entries; });
    for (Device& device : devices_) {
      if (device.entries > 0) {
        out.set(device.series, static_cast<double>(device.entries));
      } else {
        out.close(device.series);
      }
    }
    std::erase_if(devices_, [](const Device& device) { return device.entries == 0; });
    return {};
  }

 private:
  struct Device {
    std::string name;
    SeriesHandle series;
    std::size_t entries = 0;
  };

  Device& find(std::string_view name, Samples& out) {
    const auto known = std::ranges::find(devices_, name, &Device::name);
    if (known != devices_.end()) return *known;
    return devices_.emplace_back(Device{std::string(name), out.open(kArpMetrics[0], {name}), 0});
  }

  KeptFile file_;
  std::vector<Device> devices_;
};

}  // namespace

std::unique_ptr<Collector> make_arp_collector(const SystemRoot& root) {
  return std::make_unique<ArpCollector>(root);
}

}  // namespace dynolog
