// What a network driver says of a device through SIOCETHTOOL: who it is, and its own statistics.
#pragma once

#include <cstdint>
#include <expected>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace dynolog {

struct EthtoolDriver {
  std::string driver;
  std::string version;
  std::string firmware;
  std::string bus;
  std::string rom;
  std::uint32_t statistics = 0;  // how many it has
};

// Asks the kernel. Calls take its lock of all network devices.
class Ethtool {
 public:
  virtual ~Ethtool() = default;
  // An errno for an error, so that devices whose driver has nothing to say (EOPNOTSUPP) cost no
  // allocation.
  [[nodiscard]] virtual std::expected<EthtoolDriver, int> driver(std::string_view device) = 0;
  [[nodiscard]] virtual Result<std::vector<std::string>> names(std::string_view device,
                                                               std::uint32_t count) = 0;
  // As many values as `values` has room for; false when the driver has another number of them by
  // now, or the device is gone. Allocates nothing.
  [[nodiscard]] virtual bool values(std::string_view device, std::span<std::uint64_t> values) = 0;
};

[[nodiscard]] std::unique_ptr<Ethtool> make_ethtool();

// The names in a driver's answer: 32 bytes each, ended by a zero or not.
[[nodiscard]] std::vector<std::string> ethtool_names(std::span<const char> bytes);

// As node_exporter says it: "rx_prio0.pause" is "received_prio0_pause".
[[nodiscard]] std::string ethtool_metric_name(std::string_view statistic);

}  // namespace dynolog
