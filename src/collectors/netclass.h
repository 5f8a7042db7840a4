// Collector `netclass`: /sys/class/net, what each interface is and the state of its link.
#pragma once

#include <array>
#include <memory>

#include "base/error.h"
#include "base/system_root.h"
#include "collectors/options.h"
#include "metrics/collector.h"
#include "metrics/descriptor.h"

namespace dynolog {

namespace netclass_metrics {

inline constexpr LabelKey kDevice{"device", "network.interface.name"};
inline constexpr std::array kInfoLabels = {kDevice,
                                           LabelKey{"address", "dynolog.network.address"},
                                           LabelKey{"broadcast", "dynolog.network.broadcast"},
                                           LabelKey{"duplex", "dynolog.network.duplex"},
                                           LabelKey{"operstate", "dynolog.network.operstate"},
                                           LabelKey{"ifalias", "dynolog.network.ifalias"}};

constexpr MetricDescriptor metric(std::string_view id, MetricKind kind, Unit unit,
                                  std::string_view help, std::string_view prometheus,
                                  std::string_view otlp, std::string_view json = "") {
  return {.id = id,
          .kind = kind,
          .unit = unit,
          .help = help,
          .source = "/sys/class/net",
          .labels = {kDevice},
          .prometheus = {.name = prometheus},
          .otlp = {.name = otlp},
          .json = {.name = json}};
}

}  // namespace netclass_metrics

inline constexpr std::array kNetclassMetrics = [] {
  using namespace netclass_metrics;
  using enum MetricKind;
  return std::array{
      metric("net.up", gauge, Unit::none, "Whether the link is up (1) or not (0)",
             "node_network_up", "dynolog.network.up", "net_up.{device}"),
      metric("net.carrier", gauge, Unit::none, "Whether the device has a carrier (1) or not (0)",
             "node_network_carrier", "dynolog.network.carrier"),
      metric("net.speed", gauge, Unit::bytes,
             "Speed of the link in bytes a second, where it is known", "node_network_speed_bytes",
             "dynolog.network.speed", "net_speed_bytes.{device}"),
      metric("net.mtu", gauge, Unit::bytes, "Largest packet that the device sends in one piece",
             "node_network_mtu_bytes", "dynolog.network.mtu"),
      metric("net.carrier_changes", counter, Unit::none, "How often the carrier came or went",
             "node_network_carrier_changes_total", "dynolog.network.carrier_changes",
             "net_carrier_changes.{device}"),
      metric("net.carrier_ups", counter, Unit::none, "How often the carrier came",
             "node_network_carrier_up_changes_total", "dynolog.network.carrier_ups"),
      metric("net.carrier_downs", counter, Unit::none, "How often the carrier went",
             "node_network_carrier_down_changes_total", "dynolog.network.carrier_downs"),
      metric("net.send_queue_length", gauge, Unit::packets, "Packets that the send queue may hold",
             "node_network_transmit_queue_length", "dynolog.network.send_queue_length"),
      newest_only(metric("net.flags", gauge, Unit::none, "The interface's flags, as a number",
                         "node_network_flags", "dynolog.network.flags")),
      metric("net.dormant", gauge, Unit::none,
             "Whether the link waits for something outside, such as authentication (1), or not (0)",
             "node_network_dormant", "dynolog.network.dormant"),
      metric("net.address_assign_type", gauge, Unit::none,
             "How the hardware address came to be, by the kernel's number",
             "node_network_address_assign_type", "dynolog.network.address_assign_type"),
      metric("net.device_id", gauge, Unit::none,
             "Tells devices with the same hardware address apart", "node_network_device_id",
             "dynolog.network.device_id"),
      metric("net.index", gauge, Unit::none, "The kernel's number of the interface",
             "node_network_iface_id", "dynolog.network.index"),
      metric("net.link_index", gauge, Unit::none, "The number of the interface below this one",
             "node_network_iface_link", "dynolog.network.link_index"),
      metric("net.link_mode", gauge, Unit::none, "Link mode, by the kernel's number",
             "node_network_iface_link_mode", "dynolog.network.link_mode"),
      metric("net.name_assign_type", gauge, Unit::none,
             "How the interface got its name, by the kernel's number",
             "node_network_name_assign_type", "dynolog.network.name_assign_type"),
      metric("net.group", gauge, Unit::none, "The group that the interface is in",
             "node_network_net_dev_group", "dynolog.network.group"),
      metric("net.protocol_type", gauge, Unit::none, "ARP hardware type, by the kernel's number",
             "node_network_protocol_type", "dynolog.network.protocol_type"),
      metric("net.receive_no_handler", counter, Unit::packets,
             "Packets received that nothing on the host took",
             "node_network_receive_nohandler_total", "dynolog.network.receive_no_handler"),
      MetricDescriptor{.id = "net.info",
                       .kind = info,
                       .help = "What is known of an interface, as labels; the value is 1",
                       .source = "/sys/class/net",
                       .labels = LabelKeys(kInfoLabels),
                       .prometheus = {.name = "node_network_info"},
                       .otlp = {.name = "dynolog.network.info"}},
  };
}();

// An error of kind invalid when the options' expressions are none.
[[nodiscard]] Result<std::unique_ptr<Collector>> make_netclass_collector(
    const SystemRoot& root, const CollectorOptions::Net& options);

}  // namespace dynolog
