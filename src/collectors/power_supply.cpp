// Collector `powersupplyclass`. A battery is asked over a slow bus: once a minute.
#include "collectors/power_supply.h"

#include "collectors/attribute_series.h"
#include "collectors/class_devices.h"

namespace dynolog {
namespace {

constexpr const MetricDescriptor* kValue = &kPowerSupplyMetrics[0];
constexpr const MetricDescriptor* kTemperature = &kPowerSupplyMetrics[1];
constexpr const MetricDescriptor* kTime = &kPowerSupplyMetrics[2];
constexpr const MetricDescriptor& kInfo = kPowerSupplyMetrics[3];
constexpr double kMicro = 1e6;
constexpr double kTenth = 10;

constexpr std::array kFiles = {
    AttributeMetric{"authentic", kValue, 1, "authentic"},
    AttributeMetric{"calibrate", kValue, 1, "calibrate"},
    AttributeMetric{"capacity", kValue, 1, "capacity"},
    AttributeMetric{"capacity_alert_max", kValue, 1, "capacity_alert_max"},
    AttributeMetric{"capacity_alert_min", kValue, 1, "capacity_alert_min"},
    AttributeMetric{"cycle_count", kValue, 1, "cyclecount"},
    AttributeMetric{"online", kValue, 1, "online"},
    AttributeMetric{"present", kValue, 1, "present"},
    AttributeMetric{"current_boot", kValue, kMicro, "current_boot"},
    AttributeMetric{"current_max", kValue, kMicro, "current_max"},
    AttributeMetric{"current_now", kValue, kMicro, "current_ampere"},
    AttributeMetric{"energy_empty", kValue, kMicro, "energy_empty"},
    AttributeMetric{"energy_empty_design", kValue, kMicro, "energy_empty_design"},
    AttributeMetric{"energy_full", kValue, kMicro, "energy_full"},
    AttributeMetric{"energy_full_design", kValue, kMicro, "energy_full_design"},
    AttributeMetric{"energy_now", kValue, kMicro, "energy_watthour"},
    AttributeMetric{"voltage_boot", kValue, kMicro, "voltage_boot"},
    AttributeMetric{"voltage_max", kValue, kMicro, "voltage_max"},
    AttributeMetric{"voltage_max_design", kValue, kMicro, "voltage_max_design"},
    AttributeMetric{"voltage_min", kValue, kMicro, "voltage_min"},
    AttributeMetric{"voltage_min_design", kValue, kMicro, "voltage_min_design"},
    AttributeMetric{"voltage_now", kValue, kMicro, "voltage_volt"},
    AttributeMetric{"voltage_ocv", kValue, kMicro, "voltage_ocv"},
    AttributeMetric{"charge_control_limit", kValue, kMicro, "charge_control_limit"},
    AttributeMetric{"charge_control_limit_max", kValue, kMicro, "charge_control_limit_max"},
    AttributeMetric{"charge_counter", kValue, kMicro, "charge_counter"},
    AttributeMetric{"charge_empty", kValue, kMicro, "charge_empty"},
    AttributeMetric{"charge_empty_design", kValue, kMicro, "charge_empty_design"},
    AttributeMetric{"charge_full", kValue, kMicro, "charge_full"},
    AttributeMetric{"charge_full_design", kValue, kMicro, "charge_full_design"},
    AttributeMetric{"charge_now", kValue, kMicro, "charge_ampere"},
    AttributeMetric{"charge_term_current", kValue, kMicro, "charge_term_current"},
    AttributeMetric{"constant_charge_current", kValue, kMicro, "constant_charge_current"},
    AttributeMetric{"constant_charge_current_max", kValue, kMicro, "constant_charge_current_max"},
    AttributeMetric{"constant_charge_voltage", kValue, kMicro, "constant_charge_voltage"},
    AttributeMetric{"constant_charge_voltage_max", kValue, kMicro, "constant_charge_voltage_max"},
    AttributeMetric{"precharge_current", kValue, kMicro, "precharge_current"},
    AttributeMetric{"input_current_limit", kValue, kMicro, "input_current_limit"},
    AttributeMetric{"power_now", kValue, kMicro, "power_watt"},
    AttributeMetric{"temp", kTemperature, kTenth, "temp"},
    AttributeMetric{"temp_alert_max", kTemperature, kTenth, "temp_alert_max"},
    AttributeMetric{"temp_alert_min", kTemperature, kTenth, "temp_alert_min"},
    AttributeMetric{"temp_ambient", kTemperature, kTenth, "temp_ambient"},
    AttributeMetric{"temp_ambient_max", kTemperature, kTenth, "temp_ambient_max"},
    AttributeMetric{"temp_ambient_min", kTemperature, kTenth, "temp_ambient_min"},
    AttributeMetric{"temp_max", kTemperature, kTenth, "temp_max"},
    AttributeMetric{"temp_min", kTemperature, kTenth, "temp_min"},
    AttributeMetric{"time_to_empty_now", kTime, 1, "time_to_empty"},
    AttributeMetric{"time_to_full_now", kTime, 1, "time_to_full"},
};

// The file of each label but the first.
constexpr std::array<std::string_view, power_supply_metrics::kInfoLabels.size() - 1> kInfoFiles = {
    "capacity_level", "charge_type", "health",     "manufacturer", "model_name", "scope",
    "serial_number",  "status",      "technology", "type",         "usb_type"};

class PowerSupplyCollector final : public Collector {
 public:
  explicit PowerSupplyCollector(const SystemRoot& root)
      : supplies_(root.sys + "/class/power_supply") {}

  [[nodiscard]] std::string_view name() const override { return "powersupplyclass"; }
  [[nodiscard]] Tier tier() const override { return Tier::slow; }

  [[nodiscard]] Status collect(Samples& out) override {
    const Status listed =
        supplies_.visit([](std::string_view) { return std::optional(Supply{}); },
                        [&](std::string_view name, Supply& supply) { emit(name, supply, out); },
                        [&](Supply& gone) {
                          gone.values.close(out);
                          gone.info.close(out);
                        });
    if (!listed) return listed;
    if (supplies_.count() > 0) return {};
    return fail(ErrorKind::unavailable, "no power supply in " + supplies_.path() +
                                            ": those of servers answer to hwmon or the BMC");
  }

 private:
  struct Supply {
    AttributeSeries<kFiles.size()> values;
    InfoSeries<kInfoFiles.size()> info;
  };

  void emit(std::string_view name, Supply& supply, Samples& out) {
    const std::array<std::string_view, 1> labels = {name};
    AttributeReader& files = supplies_.files();
    for (std::size_t i = 0; i < kFiles.size(); ++i) {
      supply.values.set(i, kFiles[i], labels, files.number({name, kFiles[i].file}), out);
    }
    for (std::size_t i = 0; i < kInfoFiles.size(); ++i) {
      supply.info.take(i, files.read({name, kInfoFiles[i]}).value_or(""));
    }
    supply.info.emit(kInfo, name, out);
  }

  ClassDevices<Supply> supplies_;
};

}  // namespace

std::unique_ptr<Collector> make_power_supply_collector(const SystemRoot& root) {
  return std::make_unique<PowerSupplyCollector>(root);
}

}  // namespace dynolog
