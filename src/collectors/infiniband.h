// Collectors `infiniband` and `infiniband_hw`: /sys/class/infiniband. State and counters of the
// ports of InfiniBand, RoCE and EFA, and what the hardware counts besides.
#pragma once

#include <array>
#include <memory>
#include <string_view>

#include "base/system_root.h"
#include "metrics/collector.h"
#include "metrics/descriptor.h"

namespace dynolog {

namespace infiniband_metrics {

inline constexpr LabelKey kDevice{"device", "dynolog.infiniband.device"};
inline constexpr LabelKey kPort{"port", "dynolog.infiniband.port"};
inline constexpr std::array kInfoLabels = {
    kDevice, LabelKey{"board_id", "dynolog.infiniband.board_id"},
    LabelKey{"firmware_version", "dynolog.infiniband.firmware_version"},
    LabelKey{"hca_type", "dynolog.infiniband.hca_type"}};

constexpr MetricDescriptor of_port(std::string_view id, MetricKind kind, Unit unit,
                                   std::string_view help, std::string_view prometheus,
                                   std::string_view otlp, std::string_view json = "") {
  return {.id = id,
          .kind = kind,
          .unit = unit,
          .help = help,
          .source = "/sys/class/infiniband",
          .labels = {kDevice, kPort},
          .prometheus = {.name = prometheus},
          .otlp = {.name = otlp},
          .json = {.name = json}};
}

// A file of a port's directory, and the counter that it is.
struct PortCounter {
  std::string_view file;
  MetricDescriptor metric;
  double divisor = 1;
};

// Data are counted in words of four bytes.
inline constexpr double kWords = 0.25;

inline constexpr std::array kPortCounters = [] {
  using enum MetricKind;
  return std::array{
      PortCounter{"counters_ext/port_multicast_rcv_packets",
                  of_port("infiniband.legacy_multicast_received", counter, Unit::packets,
                          "Multicast packets received, on kernels before 4.5",
                          "node_infiniband_legacy_multicast_packets_received_total",
                          "dynolog.infiniband.legacy_multicast_received"),
                  1},
      PortCounter{"counters_ext/port_multicast_xmit_packets",
                  of_port("infiniband.legacy_multicast_sent", counter, Unit::packets,
                          "Multicast packets sent, on kernels before 4.5",
                          "node_infiniband_legacy_multicast_packets_transmitted_total",
                          "dynolog.infiniband.legacy_multicast_sent"),
                  1},
      PortCounter{"counters_ext/port_rcv_data_64",
                  of_port("infiniband.legacy_bytes_received", counter, Unit::bytes,
                          "Bytes received, on kernels before 4.5",
                          "node_infiniband_legacy_data_received_bytes_total",
                          "dynolog.infiniband.legacy_bytes_received"),
                  kWords},
      PortCounter{"counters_ext/port_rcv_packets_64",
                  of_port("infiniband.legacy_packets_received", counter, Unit::packets,
                          "Packets received, on kernels before 4.5",
                          "node_infiniband_legacy_packets_received_total",
                          "dynolog.infiniband.legacy_packets_received"),
                  1},
      PortCounter{"counters_ext/port_unicast_rcv_packets",
                  of_port("infiniband.legacy_unicast_received", counter, Unit::packets,
                          "Unicast packets received, on kernels before 4.5",
                          "node_infiniband_legacy_unicast_packets_received_total",
                          "dynolog.infiniband.legacy_unicast_received"),
                  1},
      PortCounter{"counters_ext/port_unicast_xmit_packets",
                  of_port("infiniband.legacy_unicast_sent", counter, Unit::packets,
                          "Unicast packets sent, on kernels before 4.5",
                          "node_infiniband_legacy_unicast_packets_transmitted_total",
                          "dynolog.infiniband.legacy_unicast_sent"),
                  1},
      PortCounter{"counters_ext/port_xmit_data_64",
                  of_port("infiniband.legacy_bytes_sent", counter, Unit::bytes,
                          "Bytes sent, on kernels before 4.5",
                          "node_infiniband_legacy_data_transmitted_bytes_total",
                          "dynolog.infiniband.legacy_bytes_sent"),
                  kWords},
      PortCounter{"counters_ext/port_xmit_packets_64",
                  of_port("infiniband.legacy_packets_sent", counter, Unit::packets,
                          "Packets sent, on kernels before 4.5",
                          "node_infiniband_legacy_packets_transmitted_total",
                          "dynolog.infiniband.legacy_packets_sent"),
                  1},
      PortCounter{"counters/excessive_buffer_overrun_errors",
                  of_port("infiniband.buffer_overruns", counter, Unit::none,
                          "Periods of flow control in a row that each overran a buffer",
                          "node_infiniband_excessive_buffer_overrun_errors_total",
                          "dynolog.infiniband.buffer_overruns"),
                  1},
      PortCounter{"counters/link_downed",
                  of_port("infiniband.link_downs", counter, Unit::none,
                          "How often the link failed for good and went down",
                          "node_infiniband_link_downed_total", "dynolog.infiniband.link_downs",
                          "ib_link_downs.{device}.{port}"),
                  1},
      PortCounter{
          "counters/link_error_recovery",
          of_port("infiniband.link_recoveries", counter, Unit::none,
                  "How often the link recovered from errors by itself",
                  "node_infiniband_link_error_recovery_total", "dynolog.infiniband.link_recoveries",
                  "ib_link_recoveries.{device}.{port}"),
          1},
      PortCounter{"counters/local_link_integrity_errors",
                  of_port("infiniband.integrity_errors", counter, Unit::none,
                          "How often there were too many local physical errors",
                          "node_infiniband_local_link_integrity_errors_total",
                          "dynolog.infiniband.integrity_errors"),
                  1},
      PortCounter{"counters/multicast_rcv_packets",
                  of_port("infiniband.multicast_received", counter, Unit::packets,
                          "Multicast packets received, those with errors too",
                          "node_infiniband_multicast_packets_received_total",
                          "dynolog.infiniband.multicast_received"),
                  1},
      PortCounter{"counters/multicast_xmit_packets",
                  of_port("infiniband.multicast_sent", counter, Unit::packets,
                          "Multicast packets sent, those with errors too",
                          "node_infiniband_multicast_packets_transmitted_total",
                          "dynolog.infiniband.multicast_sent"),
                  1},
      PortCounter{"counters/port_rcv_constraint_errors",
                  of_port("infiniband.receive_constraint_errors", counter, Unit::packets,
                          "Packets received by a switch's port that were discarded",
                          "node_infiniband_port_constraint_errors_received_total",
                          "dynolog.infiniband.receive_constraint_errors"),
                  1},
      PortCounter{"counters/port_rcv_data",
                  of_port("infiniband.bytes_received", counter, Unit::bytes, "Bytes received",
                          "node_infiniband_port_data_received_bytes_total",
                          "dynolog.infiniband.bytes_received", "ib_rx_bytes.{device}.{port}"),
                  kWords},
      PortCounter{"counters/port_rcv_discards",
                  of_port("infiniband.receive_discards", counter, Unit::packets,
                          "Packets received and discarded: the port was down or congested",
                          "node_infiniband_port_discards_received_total",
                          "dynolog.infiniband.receive_discards"),
                  1},
      PortCounter{
          "counters/port_rcv_errors",
          of_port("infiniband.receive_errors", counter, Unit::packets,
                  "Packets received with an error", "node_infiniband_port_errors_received_total",
                  "dynolog.infiniband.receive_errors", "ib_rx_errors.{device}.{port}"),
          1},
      PortCounter{"counters/port_rcv_packets",
                  of_port("infiniband.packets_received", counter, Unit::packets,
                          "Packets received, those with errors too",
                          "node_infiniband_port_packets_received_total",
                          "dynolog.infiniband.packets_received", "ib_rx_packets.{device}.{port}"),
                  1},
      PortCounter{"counters/port_rcv_remote_physical_errors",
                  of_port("infiniband.remote_physical_errors", counter, Unit::packets,
                          "Packets that were marked bad on their way here",
                          "node_infiniband_port_receive_remote_physical_errors_total",
                          "dynolog.infiniband.remote_physical_errors"),
                  1},
      PortCounter{"counters/port_rcv_switch_relay_errors",
                  of_port("infiniband.switch_relay_errors", counter, Unit::packets,
                          "Packets that the switch could not forward",
                          "node_infiniband_port_receive_switch_relay_errors_total",
                          "dynolog.infiniband.switch_relay_errors"),
                  1},
      PortCounter{"counters/port_xmit_constraint_errors",
                  of_port("infiniband.send_constraint_errors", counter, Unit::packets,
                          "Packets that a switch's port did not send",
                          "node_infiniband_port_constraint_errors_transmitted_total",
                          "dynolog.infiniband.send_constraint_errors"),
                  1},
      PortCounter{"counters/port_xmit_data",
                  of_port("infiniband.bytes_sent", counter, Unit::bytes, "Bytes sent",
                          "node_infiniband_port_data_transmitted_bytes_total",
                          "dynolog.infiniband.bytes_sent", "ib_tx_bytes.{device}.{port}"),
                  kWords},
      PortCounter{"counters/port_xmit_discards",
                  of_port("infiniband.send_discards", counter, Unit::packets,
                          "Packets to send that were discarded: the port was down or congested",
                          "node_infiniband_port_discards_transmitted_total",
                          "dynolog.infiniband.send_discards", "ib_tx_discards.{device}.{port}"),
                  1},
      PortCounter{"counters/port_xmit_packets",
                  of_port("infiniband.packets_sent", counter, Unit::packets,
                          "Packets sent, those with errors too",
                          "node_infiniband_port_packets_transmitted_total",
                          "dynolog.infiniband.packets_sent", "ib_tx_packets.{device}.{port}"),
                  1},
      PortCounter{"counters/port_xmit_wait",
                  of_port("infiniband.send_waits", counter, Unit::none,
                          "Ticks in which there was something to send but no credit to send it",
                          "node_infiniband_port_transmit_wait_total",
                          "dynolog.infiniband.send_waits", "ib_tx_wait.{device}.{port}"),
                  1},
      PortCounter{"counters/symbol_error",
                  of_port("infiniband.symbol_errors", counter, Unit::none,
                          "Minor errors of the physical link", "node_infiniband_symbol_error_total",
                          "dynolog.infiniband.symbol_errors", "ib_symbol_errors.{device}.{port}"),
                  1},
      PortCounter{"counters/unicast_rcv_packets",
                  of_port("infiniband.unicast_received", counter, Unit::packets,
                          "Unicast packets received, those with errors too",
                          "node_infiniband_unicast_packets_received_total",
                          "dynolog.infiniband.unicast_received"),
                  1},
      PortCounter{"counters/unicast_xmit_packets",
                  of_port("infiniband.unicast_sent", counter, Unit::packets,
                          "Unicast packets sent, those with errors too",
                          "node_infiniband_unicast_packets_transmitted_total",
                          "dynolog.infiniband.unicast_sent"),
                  1},
      PortCounter{"counters/VL15_dropped",
                  of_port("infiniband.vl15_drops", counter, Unit::packets,
                          "Packets of subnet management dropped for want of room",
                          "node_infiniband_vl15_dropped_total", "dynolog.infiniband.vl15_drops"),
                  1},
  };
}();

// The name of a file of hw_counters, and the counter that it is.
struct HardwareCounter {
  std::string_view file;
  MetricDescriptor metric;
  bool is_efa = false;  // of Amazon's adapter only: other drivers mean something else by it
};

inline constexpr std::array kHardwareCounters = [] {
  using enum MetricKind;
  return std::array{
      HardwareCounter{"duplicate_request",
                      of_port("infiniband.hw.duplicate_requests", counter, Unit::none,
                              "Requests received that had been carried out before",
                              "node_infiniband_duplicate_requests_packets_total",
                              "dynolog.infiniband.hw.duplicate_requests")},
      HardwareCounter{"implied_nak_seq_err",
                      of_port("infiniband.hw.implied_nak_errors", counter, Unit::none,
                              "Answers that skipped a request: one was lost",
                              "node_infiniband_implied_nak_seq_errors_total",
                              "dynolog.infiniband.hw.implied_nak_errors")},
      HardwareCounter{
          "local_ack_timeout_err",
          of_port("infiniband.hw.ack_timeouts", counter, Unit::none,
                  "Times that an acknowledgement did not come in time; the request is repeated",
                  "node_infiniband_local_ack_timeout_errors_total",
                  "dynolog.infiniband.hw.ack_timeouts")},
      HardwareCounter{"np_cnp_sent", of_port("infiniband.hw.cnps_sent", counter, Unit::none,
                                             "Notifications of congestion sent (CNP)",
                                             "node_infiniband_np_cnp_packets_sent_total",
                                             "dynolog.infiniband.hw.cnps_sent")},
      HardwareCounter{"np_ecn_marked_roce_packets",
                      of_port("infiniband.hw.ecn_marked_received", counter, Unit::none,
                              "RoCE packets received that a switch had marked for congestion (ECN)",
                              "node_infiniband_np_ecn_marked_roce_packets_received_total",
                              "dynolog.infiniband.hw.ecn_marked_received")},
      HardwareCounter{"out_of_buffer", of_port("infiniband.hw.out_of_buffer", counter, Unit::none,
                                               "Packets dropped because no receive was posted",
                                               "node_infiniband_out_of_buffer_drops_total",
                                               "dynolog.infiniband.hw.out_of_buffer")},
      HardwareCounter{"out_of_sequence",
                      of_port("infiniband.hw.out_of_sequence", counter, Unit::none,
                              "Packets received out of order",
                              "node_infiniband_out_of_sequence_packets_received_total",
                              "dynolog.infiniband.hw.out_of_sequence")},
      HardwareCounter{"packet_seq_err",
                      of_port("infiniband.hw.sequence_errors", counter, Unit::none,
                              "Requests refused for their order by the other side (NAK)",
                              "node_infiniband_packet_sequence_errors_total",
                              "dynolog.infiniband.hw.sequence_errors")},
      HardwareCounter{"req_cqe_error", of_port("infiniband.hw.requester_errors", counter,
                                               Unit::none, "Own requests that ended with an error",
                                               "node_infiniband_req_cqes_errors_total",
                                               "dynolog.infiniband.hw.requester_errors")},
      HardwareCounter{"req_cqe_flush_error", of_port("infiniband.hw.requester_flushes", counter,
                                                     Unit::none, "Own requests that were flushed",
                                                     "node_infiniband_req_cqes_flush_errors_total",
                                                     "dynolog.infiniband.hw.requester_flushes")},
      HardwareCounter{"req_remote_access_errors",
                      of_port("infiniband.hw.requester_access_errors", counter, Unit::none,
                              "Own requests that the other side's memory protection refused",
                              "node_infiniband_req_remote_access_errors_total",
                              "dynolog.infiniband.hw.requester_access_errors")},
      HardwareCounter{"req_remote_invalid_request",
                      of_port("infiniband.hw.requester_invalid_requests", counter, Unit::none,
                              "Own requests that the other side took for invalid",
                              "node_infiniband_req_remote_invalid_request_errors_total",
                              "dynolog.infiniband.hw.requester_invalid_requests")},
      HardwareCounter{"resp_cqe_error",
                      of_port("infiniband.hw.responder_errors", counter, Unit::none,
                              "Requests of others that ended with an error",
                              "node_infiniband_resp_cqes_errors_total",
                              "dynolog.infiniband.hw.responder_errors")},
      HardwareCounter{"resp_cqe_flush_error",
                      of_port("infiniband.hw.responder_flushes", counter, Unit::none,
                              "Requests of others that were flushed",
                              "node_infiniband_resp_cqes_flush_errors_total",
                              "dynolog.infiniband.hw.responder_flushes")},
      HardwareCounter{"resp_local_length_error",
                      of_port("infiniband.hw.responder_length_errors", counter, Unit::none,
                              "Requests of others that were too long for what was posted",
                              "node_infiniband_resp_local_length_errors_total",
                              "dynolog.infiniband.hw.responder_length_errors")},
      HardwareCounter{"resp_remote_access_errors",
                      of_port("infiniband.hw.responder_access_errors", counter, Unit::none,
                              "Requests of others that own memory protection refused",
                              "node_infiniband_resp_remote_access_errors_total",
                              "dynolog.infiniband.hw.responder_access_errors")},
      HardwareCounter{"rnr_nak_retry_err",
                      of_port("infiniband.hw.receiver_not_ready", counter, Unit::none,
                              "Requests refused because the other side had no receive posted (RNR)",
                              "node_infiniband_rnr_nak_retry_packets_received_total",
                              "dynolog.infiniband.hw.receiver_not_ready")},
      HardwareCounter{"roce_adp_retrans", of_port("infiniband.hw.adaptive_retransmits", counter,
                                                  Unit::none, "Adaptive retransmissions of RoCE",
                                                  "node_infiniband_roce_adp_retransmits_total",
                                                  "dynolog.infiniband.hw.adaptive_retransmits")},
      HardwareCounter{"roce_adp_retrans_to",
                      of_port("infiniband.hw.adaptive_timeouts", counter, Unit::none,
                              "Adaptive retransmissions of RoCE that timed out",
                              "node_infiniband_roce_adp_retransmits_timeout_total",
                              "dynolog.infiniband.hw.adaptive_timeouts")},
      HardwareCounter{"roce_slow_restart", of_port("infiniband.hw.slow_restarts_used", counter,
                                                   Unit::none, "How often RoCE restarted slowly",
                                                   "node_infiniband_roce_slow_restart_used_total",
                                                   "dynolog.infiniband.hw.slow_restarts_used")},
      HardwareCounter{"roce_slow_restart_cnps",
                      of_port("infiniband.hw.slow_restart_cnps", counter, Unit::none,
                              "Notifications of congestion from slow restarts",
                              "node_infiniband_roce_slow_restart_cnps_total",
                              "dynolog.infiniband.hw.slow_restart_cnps")},
      HardwareCounter{"roce_slow_restart_trans",
                      of_port("infiniband.hw.slow_restarts", counter, Unit::none,
                              "How often RoCE changed to a slow restart",
                              "node_infiniband_roce_slow_restart_total",
                              "dynolog.infiniband.hw.slow_restarts")},
      HardwareCounter{"rp_cnp_handled",
                      of_port("infiniband.hw.cnps_handled", counter, Unit::none,
                              "Notifications of congestion received that slowed a sender down",
                              "node_infiniband_rp_cnp_packets_handled_total",
                              "dynolog.infiniband.hw.cnps_handled")},
      HardwareCounter{"rp_cnp_ignored",
                      of_port("infiniband.hw.cnps_ignored", counter, Unit::none,
                              "Notifications of congestion received and ignored: ECN is not set up",
                              "node_infiniband_rp_cnp_ignored_packets_received_total",
                              "dynolog.infiniband.hw.cnps_ignored")},
      HardwareCounter{"rx_atomic_requests", of_port("infiniband.hw.atomic_requests", counter,
                                                    Unit::none, "Atomic requests received",
                                                    "node_infiniband_rx_atomic_requests_total",
                                                    "dynolog.infiniband.hw.atomic_requests")},
      HardwareCounter{"rx_dct_connect", of_port("infiniband.hw.dct_connects", counter, Unit::none,
                                                "Requests received to connect to a DCT",
                                                "node_infiniband_rx_dct_connect_requests_total",
                                                "dynolog.infiniband.hw.dct_connects")},
      HardwareCounter{"rx_icrc_encapsulated",
                      of_port("infiniband.hw.icrc_errors", counter, Unit::none,
                              "RoCE packets received with a wrong checksum (ICRC)",
                              "node_infiniband_rx_icrc_encapsulated_errors_total",
                              "dynolog.infiniband.hw.icrc_errors")},
      HardwareCounter{
          "rx_read_requests",
          of_port("infiniband.hw.read_requests", counter, Unit::none, "RDMA reads received",
                  "node_infiniband_rx_read_requests_total", "dynolog.infiniband.hw.read_requests")},
      HardwareCounter{"rx_write_requests",
                      of_port("infiniband.hw.write_requests", counter, Unit::none,
                              "RDMA writes received", "node_infiniband_rx_write_requests_total",
                              "dynolog.infiniband.hw.write_requests")},
      HardwareCounter{
          "rx_drops",
          of_port("infiniband.hw.efa.receive_drops", counter, Unit::none,
                  "EFA: packets received and dropped", "node_infiniband_efa_rx_drops_total",
                  "dynolog.infiniband.hw.efa.receive_drops"),
          true},
      HardwareCounter{
          "retrans_pkts",
          of_port("infiniband.hw.efa.retransmitted_packets", counter, Unit::none,
                  "EFA: packets sent again", "node_infiniband_efa_retrans_packets_total",
                  "dynolog.infiniband.hw.efa.retransmitted_packets"),
          true},
      HardwareCounter{"retrans_bytes",
                      of_port("infiniband.hw.efa.retransmitted_bytes", counter, Unit::bytes,
                              "EFA: bytes sent again", "node_infiniband_efa_retrans_bytes_total",
                              "dynolog.infiniband.hw.efa.retransmitted_bytes"),
                      true},
      HardwareCounter{"retrans_timeout_events",
                      of_port("infiniband.hw.efa.retransmit_timeouts", counter, Unit::none,
                              "EFA: times that sending again timed out",
                              "node_infiniband_efa_retrans_timeout_events_total",
                              "dynolog.infiniband.hw.efa.retransmit_timeouts"),
                      true},
      HardwareCounter{"unresponsive_remote_events",
                      of_port("infiniband.hw.efa.unresponsive_remotes", counter, Unit::none,
                              "EFA: times that the other side did not answer",
                              "node_infiniband_efa_unresponsive_remote_events_total",
                              "dynolog.infiniband.hw.efa.unresponsive_remotes"),
                      true},
      HardwareCounter{"impaired_remote_conn_events",
                      of_port("infiniband.hw.efa.impaired_remotes", counter, Unit::none,
                              "EFA: times that the way to the other side was impaired",
                              "node_infiniband_efa_impaired_remote_conn_events_total",
                              "dynolog.infiniband.hw.efa.impaired_remotes"),
                      true},
      HardwareCounter{
          "rdma_read_bytes",
          of_port("infiniband.hw.efa.read_bytes", counter, Unit::bytes, "EFA: bytes of RDMA reads",
                  "node_infiniband_efa_rdma_read_bytes_total",
                  "dynolog.infiniband.hw.efa.read_bytes"),
          true},
      HardwareCounter{
          "rdma_write_bytes",
          of_port("infiniband.hw.efa.write_bytes", counter, Unit::bytes,
                  "EFA: bytes of RDMA writes", "node_infiniband_efa_rdma_write_bytes_total",
                  "dynolog.infiniband.hw.efa.write_bytes"),
          true},
  };
}();

}  // namespace infiniband_metrics

inline constexpr std::size_t kInfinibandStates = 4;  // before the counters
inline constexpr std::array kInfinibandMetrics = [] {
  using namespace infiniband_metrics;
  using enum MetricKind;
  std::array<MetricDescriptor, kInfinibandStates + kPortCounters.size()> metrics;
  metrics[0] = {.id = "infiniband.info",
                .kind = info,
                .help = "What an adapter is, as labels; the value is 1",
                .source = "/sys/class/infiniband",
                .labels = LabelKeys(kInfoLabels),
                .prometheus = {.name = "node_infiniband_info"},
                .otlp = {.name = "dynolog.infiniband.info"}};
  metrics[1] =
      of_port("infiniband.state", gauge, Unit::none,
              "State of a port: 1 down, 2 being set up, 3 armed, 4 active, 5 active with "
              "an error put off",
              "node_infiniband_state_id", "dynolog.infiniband.state", "ib_state.{device}.{port}");
  metrics[2] = of_port("infiniband.physical_state", gauge, Unit::none,
                       "Physical state of a port: 1 sleep, 2 polling, 3 disabled, 4 training, 5 "
                       "link up, 6 recovering, 7 test",
                       "node_infiniband_physical_state_id", "dynolog.infiniband.physical_state");
  metrics[3] =
      of_port("infiniband.rate", gauge, Unit::bytes, "Speed of a port's link in bytes a second",
              "node_infiniband_rate_bytes_per_second", "dynolog.infiniband.rate",
              "ib_rate_bytes.{device}.{port}");
  for (std::size_t i = 0; i < kPortCounters.size(); ++i) {
    metrics[kInfinibandStates + i] = kPortCounters[i].metric;
  }
  return metrics;
}();

inline constexpr std::array kInfinibandHwMetrics = [] {
  using namespace infiniband_metrics;
  using enum MetricKind;
  std::array<MetricDescriptor, 2 + kHardwareCounters.size()> metrics;
  metrics[0] = of_port("infiniband.hw.lifespan", gauge, Unit::seconds,
                       "For how long the adapter answers with the same counts",
                       "node_infiniband_lifespan_seconds", "dynolog.infiniband.hw.lifespan");
  metrics[1] = {.id = "infiniband.hw.other",
                .kind = counter,
                .help = "What an adapter counts under a name of its driver's own",
                .source = "/sys/class/infiniband",
                .labels = {kDevice, kPort, LabelKey{"counter", "dynolog.infiniband.counter"}},
                .prometheus = {.name = "dynolog_infiniband_hw_counters_total"},
                .otlp = {.name = "dynolog.infiniband.hw.other"}};
  for (std::size_t i = 0; i < kHardwareCounters.size(); ++i) {
    metrics[2 + i] = kHardwareCounters[i].metric;
  }
  return metrics;
}();

[[nodiscard]] std::unique_ptr<Collector> make_infiniband_collector(const SystemRoot& root);
[[nodiscard]] std::unique_ptr<Collector> make_infiniband_hw_collector(const SystemRoot& root);

}  // namespace dynolog
