// Collector `thermal_zone`. A zone's temperature may be asked of firmware: once a minute.
#include "collectors/thermal.h"

#include "collectors/attribute_series.h"
#include "collectors/class_devices.h"

namespace dynolog {
namespace {

constexpr std::string_view kZone = "thermal_zone";
constexpr std::string_view kCooling = "cooling_device";
constexpr std::array kZoneFiles = {AttributeMetric{"temp", &kThermalMetrics[0], 1000}};
constexpr std::array kCoolingFiles = {AttributeMetric{"cur_state", &kThermalMetrics[1]},
                                      AttributeMetric{"max_state", &kThermalMetrics[2]}};

class ThermalCollector final : public Collector {
 public:
  explicit ThermalCollector(const SystemRoot& root) : devices_(root.sys + "/class/thermal") {}

  [[nodiscard]] std::string_view name() const override { return "thermal_zone"; }
  [[nodiscard]] Tier tier() const override { return Tier::slow; }

  [[nodiscard]] Status collect(Samples& out) override {
    const Status listed =
        devices_.visit([&](std::string_view entry) { return make(entry); },
                       [&](std::string_view entry, Device& device) { emit(entry, device, out); },
                       [&](Device& gone) { gone.series.close(out); });
    if (!listed) return listed;
    if (devices_.count() > 0) return {};
    return fail(ErrorKind::unavailable, "no thermal zone in " + devices_.path());
  }

 private:
  struct Device {
    bool is_zone = false;
    std::string number;
    std::string type;
    AttributeSeries<2> series;
  };

  std::optional<Device> make(std::string_view entry) {
    Device device;
    device.is_zone = entry.starts_with(kZone);
    if (!device.is_zone && !entry.starts_with(kCooling)) return std::nullopt;
    device.number = entry.substr(device.is_zone ? kZone.size() : kCooling.size());
    device.type = devices_.files().read({entry, "type"}).value_or("");
    return device;
  }

  void emit(std::string_view entry, Device& device, Samples& out) {
    const std::array<std::string_view, 2> labels = {device.number, device.type};
    const std::span<const AttributeMetric> wanted =
        device.is_zone ? std::span<const AttributeMetric>(kZoneFiles) : kCoolingFiles;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      device.series.set(i, wanted[i], labels, devices_.files().number({entry, wanted[i].file}),
                        out);
    }
  }

  ClassDevices<Device> devices_;
};

}  // namespace

std::unique_ptr<Collector> make_thermal_collector(const SystemRoot& root) {
  return std::make_unique<ThermalCollector>(root);
}

}  // namespace dynolog
