// Collector `netdev`: /proc/net/dev, the traffic of each interface that the options let through.
#pragma once

#include <array>
#include <memory>

#include "base/error.h"
#include "base/system_root.h"
#include "collectors/options.h"
#include "metrics/collector.h"
#include "metrics/descriptor.h"

namespace dynolog {

namespace netdev_metrics {

inline constexpr LabelKey kDevice{"device", "network.interface.name"};

constexpr MetricDescriptor counter(std::string_view id, Unit unit, std::string_view help,
                                   std::string_view prometheus, SchemeName otlp,
                                   std::string_view json = "") {
  return {.id = id,
          .kind = MetricKind::counter,
          .unit = unit,
          .help = help,
          .source = "/proc/net/dev",
          .labels = {kDevice},
          .prometheus = {.name = prometheus},
          .otlp = otlp,
          .json = {.name = json}};
}

constexpr SchemeName received(std::string_view name) {
  return {.name = name, .fixed_key = "network.io.direction", .fixed_value = "receive"};
}
constexpr SchemeName sent(std::string_view name) {
  return {.name = name, .fixed_key = "network.io.direction", .fixed_value = "transmit"};
}

}  // namespace netdev_metrics

// In NetDevField's order.
inline constexpr std::array kNetdevMetrics = [] {
  using namespace netdev_metrics;
  constexpr auto kPackets = Unit::packets;
  return std::array{
      counter("net.received_bytes", Unit::bytes, "Bytes received",
              "node_network_receive_bytes_total", received("system.network.io"),
              "rx_bytes.{device}"),
      counter("net.received_packets", kPackets, "Packets received",
              "node_network_receive_packets_total", received("system.network.packet.count"),
              "rx_packets.{device}"),
      counter("net.receive_errors", kPackets, "Packets received damaged",
              "node_network_receive_errs_total", received("system.network.errors"),
              "rx_errors.{device}"),
      counter("net.receive_drops", kPackets, "Packets received and dropped for want of room",
              "node_network_receive_drop_total", received("system.network.packet.dropped"),
              "rx_drops.{device}"),
      counter("net.receive_fifo_errors", kPackets,
              "Packets lost because the device's queue ran over", "node_network_receive_fifo_total",
              {.name = "dynolog.network.receive_fifo_errors"}),
      counter("net.receive_frame_errors", kPackets, "Packets received with a bad frame",
              "node_network_receive_frame_total", {.name = "dynolog.network.receive_frame_errors"}),
      counter("net.receive_compressed", kPackets, "Packets received compressed",
              "node_network_receive_compressed_total",
              {.name = "dynolog.network.receive_compressed"}),
      counter("net.receive_multicast", kPackets, "Packets received by multicast",
              "node_network_receive_multicast_total",
              {.name = "dynolog.network.receive_multicast"}),
      counter("net.sent_bytes", Unit::bytes, "Bytes sent", "node_network_transmit_bytes_total",
              sent("system.network.io"), "tx_bytes.{device}"),
      counter("net.sent_packets", kPackets, "Packets sent", "node_network_transmit_packets_total",
              sent("system.network.packet.count"), "tx_packets.{device}"),
      counter("net.send_errors", kPackets, "Packets that could not be sent",
              "node_network_transmit_errs_total", sent("system.network.errors"),
              "tx_errors.{device}"),
      counter("net.send_drops", kPackets, "Packets dropped before they were sent",
              "node_network_transmit_drop_total", sent("system.network.packet.dropped"),
              "tx_drops.{device}"),
      counter("net.send_fifo_errors", kPackets, "Packets not sent because a queue ran over",
              "node_network_transmit_fifo_total", {.name = "dynolog.network.send_fifo_errors"}),
      counter("net.collisions", kPackets, "Collisions while sending",
              "node_network_transmit_colls_total", {.name = "dynolog.network.collisions"}),
      counter("net.carrier_losses", kPackets, "Packets not sent for want of a carrier",
              "node_network_transmit_carrier_total", {.name = "dynolog.network.carrier_losses"}),
      counter("net.send_compressed", kPackets, "Packets sent compressed",
              "node_network_transmit_compressed_total",
              {.name = "dynolog.network.send_compressed"}),
  };
}();

// An error of kind invalid when the options' expressions are none.
[[nodiscard]] Result<std::unique_ptr<Collector>> make_netdev_collector(
    const SystemRoot& root, const CollectorOptions::Net& options);

}  // namespace dynolog
