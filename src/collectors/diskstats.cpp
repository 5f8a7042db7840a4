// Collector `diskstats`.
#include "collectors/diskstats.h"

#include <fmt/format.h>

#include "base/file.h"
#include "collectors/known_entries.h"
#include "kernel/diskstats.h"
#include "kernel/sysfs.h"
#include "kernel/udev_data.h"

namespace dynolog {
namespace {

constexpr const MetricDescriptor& kInfo = kDiskstatsMetrics[kDiskFields];
constexpr const MetricDescriptor& kClass = kDiskstatsMetrics[kDiskFields + 1];
static_assert(kInfo.id == "disk.info" && kClass.id == "disk.class");

// What one of the kernel's units is in the metric's unit, in DiskField's order.
constexpr std::array<double, kDiskFields> kUnits = {1,    1,    512, 1e-3, 1, 1,    512, 1e-3, 1,
                                                    1e-3, 1e-3, 1,   1,    1, 1e-3, 1,   1e-3};
static_assert(kDiskstatsMetrics[static_cast<std::size_t>(DiskField::flush_ms)].id ==
              "disk.flush_time");
static_assert(kDiskstatsMetrics[static_cast<std::size_t>(DiskField::in_flight)].id ==
              "disk.in_flight");

constexpr std::size_t kMaxUdevData = 1U << 16U;

class DiskstatsCollector final : public Collector {
 public:
  DiskstatsCollector(const SystemRoot& root, NameFilter filter)
      : file_(root.proc + "/diskstats", Records::short_ones),
        blocks_(root.sys + "/class/block"),
        udev_data_(root.run + "/udev/data"),
        filter_(std::move(filter)) {}

  [[nodiscard]] std::string_view name() const override { return "diskstats"; }
  [[nodiscard]] Tier tier() const override { return Tier::fast; }

  [[nodiscard]] Status collect(Samples& out) override {
    const auto text = file_.read();
    if (!text) return std::unexpected(text.error());
    devices_.begin();
    for_each_disk(*text, [&](const DiskLine& disk) {
      const Device* device = devices_.next(disk.name, [&] { return open(disk, out); });
      if (device == nullptr) return;
      for (std::size_t i = 0; i < disk.count; ++i) {
        out.set(device->fields[i], static_cast<double>(disk.values[i]) * kUnits[i]);
      }
      out.set(device->info, 1);
      out.set(device->device_class, 1);
    });
    devices_.finish([&](Device& gone) {
      for (SeriesHandle& field : gone.fields) out.close(field);
      out.close(gone.info);
      out.close(gone.device_class);
    });
    return {};
  }

 private:
  struct Device {
    std::array<SeriesHandle, kDiskFields> fields;  // those that the kernel prints
    SeriesHandle info;
    SeriesHandle device_class;
  };

  std::optional<Device> open(const DiskLine& disk, Samples& out) {
    if (!filter_.accepts(disk.name)) return std::nullopt;
    Device device;
    for (std::size_t i = 0; i < disk.count; ++i) {
      device.fields[i] = out.open(kDiskstatsMetrics[i], {disk.name});
    }
    const std::string major = fmt::to_string(disk.major);
    const std::string minor = fmt::to_string(disk.minor);
    // Not there in most containers.
    const auto notes = read_file(fmt::format("{}/b{}:{}", udev_data_, major, minor), kMaxUdevData);
    const auto property = [&](std::string_view key) {
      return notes ? udev_property(*notes, key) : std::string_view();
    };
    const std::string_view scsi_serial = property("SCSI_IDENT_SERIAL");
    device.info = out.open(
        kInfo,
        {disk.name, major, minor, property("ID_PATH"), property("ID_WWN"), property("ID_MODEL"),
         scsi_serial.empty() ? property("ID_SERIAL_SHORT") : scsi_serial, property("ID_REVISION")});
    device.device_class = out.open(kClass, {disk.name, class_of(disk.name)});
    return device;
  }

  std::string_view class_of(std::string_view device) {
    std::string entry(device);
    std::ranges::replace(entry, '/', '!');  // as sysfs spells it
    if (blocks_.exists({entry, "partition"})) return "partition";
    return blocks_.exists({entry, "device"}) ? "physical" : "virtual";
  }

  KeptFile file_;
  AttributeReader blocks_;
  std::string udev_data_;
  NameFilter filter_;
  KnownEntries<Device> devices_;
};

}  // namespace

Result<std::unique_ptr<Collector>> make_diskstats_collector(const SystemRoot& root,
                                                            const CollectorOptions::Disk& options) {
  auto filter = NameFilter::compile(options.devices);
  if (!filter) return with_context(std::move(filter.error()), "disk_include, disk_exclude");
  return std::make_unique<DiskstatsCollector>(root, std::move(*filter));
}

}  // namespace dynolog
