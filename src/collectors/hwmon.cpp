// Collector `hwmon`. Reading a sensor may ask a slow bus or firmware, so it is done once a minute.
#include "collectors/hwmon.h"

#include <algorithm>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "collectors/class_devices.h"
#include "kernel/hwmon_names.h"

namespace dynolog {
namespace {

consteval std::size_t index_of(std::string_view id) {
  std::size_t i = 0;
  while (kHwmonMetrics.at(i).id != id) ++i;  // one that there is not does not compile
  return i;
}

constexpr std::size_t kChipName = index_of("hwmon.chip_name");
constexpr std::size_t kSensorLabel = index_of("hwmon.sensor_label");
constexpr double kMilli = 1000;
constexpr double kMicro = 1e6;

struct Meaning {
  std::size_t metric;
  double divisor;
};

Meaning power_of(std::string_view element) {
  if (element == "input" || element.empty()) return {index_of("hwmon.power"), kMicro};
  if (element == "accuracy") return {index_of("hwmon.value.element"), kMicro};
  if (element.starts_with("average_interval")) return {index_of("hwmon.power.interval"), kMilli};
  return {index_of("hwmon.power.element"), kMicro};
}

// What a file's number is. Names and units are node_exporter's, odd ones ("..._alarm_celsius")
// included: dashboards have them.
Meaning meaning_of(const HwmonFile& file) {
  const std::string_view type = file.type;
  const std::string_view element = file.element;
  const bool is_reading = element == "input" || element.empty();
  if (type == "beep_enable") return {index_of("hwmon.beep_enabled"), 1};
  if (type == "vrm") return {index_of("hwmon.regulator_version"), 1};
  if (type == "update_interval") return {index_of("hwmon.update_interval"), kMilli};
  if (element == "beep") return {index_of("hwmon.beep"), 1};
  if (element != "fault" && element != "alarm") {
    if (type == "in" || type == "cpu") {
      return {is_reading ? index_of("hwmon.voltage") : index_of("hwmon.voltage.element"), kMilli};
    }
    if (type == "temp" && element != "type") {
      return {is_reading ? index_of("hwmon.temperature") : index_of("hwmon.temperature.element"),
              kMilli};
    }
    if (type == "curr") {
      return {is_reading ? index_of("hwmon.current") : index_of("hwmon.current.element"), kMilli};
    }
    if (type == "power") return power_of(element);
    if (type == "energy" && is_reading) return {index_of("hwmon.energy"), kMicro};
    if (type == "humidity" && is_reading) return {index_of("hwmon.humidity"), kMicro};
    if (type == "freq" && is_reading) return {index_of("hwmon.frequency"), kMicro};
    if (type == "fan" && is_reading) return {index_of("hwmon.fan"), 1};
    if (type == "fan" && (element == "min" || element == "max" || element == "target")) {
      return {index_of("hwmon.fan.element"), 1};
    }
  }
  return {is_reading ? index_of("hwmon.value") : index_of("hwmon.value.element"), 1};
}

struct Value {
  std::string file;
  bool in_device = false;  // older drivers have their files beside the chip's directory
  Meaning meaning{};
  SeriesHandle series;
};

struct Chip {
  std::string name;
  SeriesHandle name_series;
  std::vector<SeriesHandle> labels;
  std::vector<Value> values;
};

class HwmonCollector final : public Collector {
 public:
  explicit HwmonCollector(const SystemRoot& root) : chips_(root.sys + "/class/hwmon") {}

  [[nodiscard]] std::string_view name() const override { return "hwmon"; }
  [[nodiscard]] Tier tier() const override { return Tier::slow; }

  [[nodiscard]] Status collect(Samples& out) override {
    const Status listed =
        chips_.visit([&](std::string_view entry) { return std::optional(make(entry, out)); },
                     [&](std::string_view entry, Chip& chip) { emit(entry, chip, out); },
                     [&](Chip& gone) { close(gone, out); });
    if (!listed) return listed;
    if (chips_.count() > 0) return {};
    return fail(ErrorKind::unavailable, "no chip in " + chips_.path() +
                                            ": no driver of one is loaded, or it is a virtual "
                                            "machine");
  }

 private:
  Chip make(std::string_view entry, Samples& out) {
    Chip chip;
    chip.name = free_name(entry);
    if (const auto text = chips_.files().read({entry, "name"}); text && !text->empty()) {
      chip.name_series = out.open(kHwmonMetrics[kChipName], {chip.name, clean_hwmon_name(*text)});
    }
    add_files(entry, false, chip, out);
    add_files(entry, true, chip, out);
    return chip;
  }

  // By the device that it is of, as the number of hwmonN follows the order of loading; that number
  // as well where a device has two.
  std::string free_name(std::string_view entry) {
    std::string name = name_of(entry);
    if (std::ranges::find(names_, name) != names_.end()) name += "_" + std::string(entry);
    names_.push_back(name);
    return name;
  }

  std::string name_of(std::string_view entry) {
    std::error_code error;
    const auto device =
        std::filesystem::canonical(chips_.path() + "/" + std::string(entry) + "/device", error);
    if (!error) {
      const std::string own = clean_hwmon_name(device.filename().string());
      const std::string type = clean_hwmon_name(device.parent_path().filename().string());
      if (!own.empty()) return type.empty() ? own : type + "_" + own;
    }
    const std::string given = clean_hwmon_name(chips_.files().read({entry, "name"}).value_or(""));
    return given.empty() ? clean_hwmon_name(entry) : given;
  }

  void add_files(std::string_view entry, bool in_device, Chip& chip, Samples& out) {
    KeptDirectory directory(chips_.path() + "/" + std::string(entry) +
                            (in_device ? "/device" : ""));
    if (!directory.rewind()) return;
    while (const char* name = directory.next()) {
      const auto file = parse_hwmon_file(name);
      const auto is_same = [&](const Value& value) { return value.file == name; };
      if (!file || std::ranges::any_of(chip.values, is_same)) continue;
      if (file->element == "label") {
        add_label(*file, read(entry, in_device, name), chip, out);
      } else {
        chip.values.push_back({name, in_device, meaning_of(*file), {}});
      }
    }
  }

  static void add_label(const HwmonFile& file, std::optional<std::string_view> text, Chip& chip,
                        Samples& out) {
    if (!text || text->empty()) return;
    chip.labels.push_back(
        out.open(kHwmonMetrics[kSensorLabel], {chip.name, sensor_name(file), *text}));
  }

  std::optional<std::string_view> read(std::string_view entry, bool in_device,
                                       std::string_view file) {
    return in_device ? chips_.files().read({entry, "device", file})
                     : chips_.files().read({entry, file});
  }

  void emit(std::string_view entry, Chip& chip, Samples& out) {
    if (chip.name_series.valid()) out.set(chip.name_series, 1);
    for (const SeriesHandle label : chip.labels) out.set(label, 1);
    for (Value& value : chip.values) {
      const auto number = value.in_device ? chips_.files().number({entry, "device", value.file})
                                          : chips_.files().number({entry, value.file});
      if (!number) continue;  // a sensor that is off, or has nothing attached, is an error to read
      if (!value.series.valid()) value.series = open(entry, chip.name, value, out);
      out.set(value.series, *number / value.meaning.divisor);
    }
  }

  SeriesHandle open(std::string_view entry, std::string_view chip, const Value& value,
                    Samples& out) {
    const HwmonFile file = *parse_hwmon_file(value.file);
    std::string sensor = sensor_name(file);
    if (file.type == "freq") {  // node_exporter calls a clock by what it is of
      const auto label = read(entry, value.in_device, sensor + "_label");
      if (label && !label->empty()) sensor = clean_hwmon_name(*label);
    }
    const MetricDescriptor& metric = kHwmonMetrics[value.meaning.metric];
    std::array<std::string_view, 4> labels{chip, sensor};
    for (std::size_t i = 2; i < label_count(metric); ++i) {
      labels[i] = metric.labels[i].key == hwmon_metrics::kType.key ? file.type : file.element;
    }
    return out.open(metric, std::span(labels).first(label_count(metric)));
  }

  void close(Chip& gone, Samples& out) {
    std::erase(names_, gone.name);
    out.close(gone.name_series);
    for (SeriesHandle& label : gone.labels) out.close(label);
    for (Value& value : gone.values) out.close(value.series);
  }

  ClassDevices<Chip> chips_;
  std::vector<std::string> names_;  // of the chips there are
};

}  // namespace

std::unique_ptr<Collector> make_hwmon_collector(const SystemRoot& root) {
  return std::make_unique<HwmonCollector>(root);
}

}  // namespace dynolog
