// Collector `netclass`.
#include "collectors/netclass.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <string>
#include <utility>

#include "collectors/known_entries.h"
#include "collectors/net_filter.h"
#include "kernel/sysfs.h"

namespace dynolog {
namespace {

constexpr std::size_t kUp = 0;
constexpr std::size_t kSpeed = 2;
constexpr std::size_t kInfo = kNetclassMetrics.size() - 1;
constexpr std::size_t kNoHandler = kInfo - 1;
static_assert(kNetclassMetrics[kUp].id == "net.up" && kNetclassMetrics[kSpeed].id == "net.speed");
static_assert(kNetclassMetrics[kNoHandler].id == "net.receive_no_handler");

// The file of each metric before net.receive_no_handler, in their order.
constexpr std::array<std::string_view, kNoHandler> kFiles = {"operstate",
                                                             "carrier",
                                                             "speed",
                                                             "mtu",
                                                             "carrier_changes",
                                                             "carrier_up_count",
                                                             "carrier_down_count",
                                                             "tx_queue_len",
                                                             "flags",
                                                             "dormant",
                                                             "addr_assign_type",
                                                             "dev_id",
                                                             "ifindex",
                                                             "iflink",
                                                             "link_mode",
                                                             "name_assign_type",
                                                             "netdev_group",
                                                             "type"};

// What tells that a link changed, read each time; the rest is read when one of these did, and now
// and then besides: a host of containers has hundreds of interfaces, and drivers ask the hardware
// for the speed.
constexpr std::array<std::string_view, 4> kWatchedFiles = {"carrier", "carrier_changes", "flags",
                                                           "ifindex"};
constexpr int kLooksToRest = 6;

constexpr bool is_watched(std::size_t metric) {
  return std::ranges::find(kWatchedFiles, kFiles[metric]) != kWatchedFiles.end();
}

constexpr std::array<std::string_view, 5> kInfoFiles = {"address", "broadcast", "duplex",
                                                        "operstate", "ifalias"};
constexpr std::size_t kState = 3;
static_assert(kInfoFiles[kState] == kFiles[kUp]);

constexpr double kMegabit = 1e6 / 8;

class NetclassCollector final : public Collector {
 public:
  NetclassCollector(const SystemRoot& root, NameFilter filter, TrafficFilter traffic)
      : directory_(root.sys + "/class/net"),
        files_(root.sys + "/class/net"),
        filter_(std::move(filter)),
        traffic_(std::move(traffic)) {}

  [[nodiscard]] std::string_view name() const override { return "netclass"; }
  [[nodiscard]] Tier tier() const override { return Tier::medium; }

  [[nodiscard]] Status collect(Samples& out) override {
    if (!directory_.rewind()) return fail_errno(errno, directory_.path());
    devices_.begin();
    while (const char* name = directory_.next()) {
      if (Device* device = devices_.next(name, [&] { return make(name); })) {
        // One that went in between has no values this time.
        (void)files_.within({name}, [&] { emit(name, *device, out); });
      }
    }
    devices_.finish([&](Device& gone) {
      for (SeriesHandle& series : gone.series) out.close(series);
    });
    return {};
  }

 private:
  struct Device {
    std::array<SeriesHandle, kNetclassMetrics.size()> series;
    std::array<std::optional<double>, kNoHandler> values;
    std::array<std::string, kInfoFiles.size()> info;
    bool has_traffic = false;  // its traffic's counters are wanted
    int looks_left = 0;        // before all of it is read again
  };

  std::optional<Device> make(std::string_view name) {
    // bonding_masters is a file among the devices.
    if (!filter_.accepts(name) || !files_.exists({name, "ifindex"})) return std::nullopt;
    Device device;
    device.has_traffic = traffic_.accepts(name);
    return device;
  }

  // Within the device's directory.
  void emit(std::string_view name, Device& device, Samples& out) {
    const bool changed = watch(device);
    if (changed || device.looks_left == 0) {
      read_rest(name, device, out);
      device.looks_left = kLooksToRest;
    }
    --device.looks_left;
    for (std::size_t i = 0; i < kNoHandler; ++i) {
      set(name, device.series[i], i, device.values[i], out);
    }
    if (device.has_traffic) {
      set(name, device.series[kNoHandler], kNoHandler,
          files_.number({"statistics", "rx_nohandler"}), out);
    }
    out.set(device.series[kInfo], 1);
  }

  // Has any of it changed?
  bool watch(Device& device) {
    bool changed = false;
    for (std::size_t i = 0; i < kNoHandler; ++i) {
      if (!is_watched(i)) continue;
      const auto value = files_.number({kFiles[i]});
      changed |= std::exchange(device.values[i], value) != value;
    }
    const auto state = files_.read({kInfoFiles[kState]});
    device.values[kUp] = state ? std::optional(*state == "up" ? 1.0 : 0.0) : std::nullopt;
    return changed || state.value_or("") != device.info[kState];
  }

  void read_rest(std::string_view name, Device& device, Samples& out) {
    for (std::size_t i = kUp + 1; i < kNoHandler; ++i) {
      if (is_watched(i)) continue;
      device.values[i] = i == kSpeed ? speed() : files_.number({kFiles[i]});
    }
    read_info(name, device, out);
  }

  std::optional<double> speed() {
    const auto value = files_.number({kFiles[kSpeed]});
    // Drivers say -1, or 2^32 - 1, for what they do not know; others answer EINVAL.
    const bool is_known = value && *value >= 0 && *value < 4294967295.0;
    return is_known ? std::optional(*value * kMegabit) : std::nullopt;
  }

  // Its labels are the device's state: when that changes, the series is another one.
  void read_info(std::string_view name, Device& device, Samples& out) {
    bool changed = !device.series[kInfo].valid();
    for (std::size_t i = 0; i < kInfoFiles.size(); ++i) {
      const std::string_view text = files_.read({kInfoFiles[i]}).value_or("");
      if (device.info[i] == text) continue;
      device.info[i] = text;
      changed = true;
    }
    if (!changed) return;
    SeriesHandle& series = device.series[kInfo];
    out.close(series);
    series = out.open(kNetclassMetrics[kInfo], {name, device.info[0], device.info[1],
                                                device.info[2], device.info[3], device.info[4]});
  }

  // Opened at the first value: a device that is down has no carrier and no speed to speak of.
  static void set(std::string_view name, SeriesHandle& series, std::size_t metric,
                  std::optional<double> value, Samples& out) {
    if (!value) return;
    if (!series.valid()) series = out.open(kNetclassMetrics[metric], {name});
    out.set(series, *value);
  }

  KeptDirectory directory_;
  AttributeReader files_;
  NameFilter filter_;
  TrafficFilter traffic_;
  KnownEntries<Device> devices_;
};

}  // namespace

Result<std::unique_ptr<Collector>> make_netclass_collector(const SystemRoot& root,
                                                           const CollectorOptions::Net& options) {
  auto filter = NameFilter::compile(options.attributes);
  if (!filter) return with_context(std::move(filter.error()), "netclass_include, netclass_exclude");
  auto traffic = TrafficFilter::make(options);
  if (!traffic) return std::unexpected(std::move(traffic.error()));
  return std::make_unique<NetclassCollector>(root, std::move(*filter), std::move(*traffic));
}

}  // namespace dynolog
