// Collector `diskstats`: /proc/diskstats, each device that the options let through.
#pragma once

#include <array>
#include <memory>

#include "base/error.h"
#include "base/system_root.h"
#include "collectors/options.h"
#include "metrics/collector.h"
#include "metrics/descriptor.h"

namespace dynolog {

namespace diskstats_metrics {

inline constexpr LabelKey kDevice{"device", "system.device"};
// Milliseconds in 32 bits: on a busy device they wrap within days.
inline constexpr CounterTraits kMilliseconds{.bits = 32, .scale = 1e-3};

struct Names {
  std::string_view id, prometheus, json;
  SchemeName otlp;
};

constexpr MetricDescriptor counter(const Names& names, Unit unit, std::string_view help,
                                   CounterTraits traits = {}) {
  return {.id = names.id,
          .kind = MetricKind::counter,
          .unit = unit,
          .help = help,
          .source = "/proc/diskstats",
          .labels = {kDevice},
          .counter = traits,
          .prometheus = {.name = names.prometheus},
          .otlp = names.otlp,
          .json = {.name = names.json}};
}

constexpr SchemeName directed(std::string_view name, std::string_view direction) {
  return {.name = name, .fixed_key = "disk.io.direction", .fixed_value = direction};
}

inline constexpr std::array kInfoLabels = {
    LabelKey{"device", "system.device"},       LabelKey{"major", "dynolog.disk.major"},
    LabelKey{"minor", "dynolog.disk.minor"},   LabelKey{"path", "dynolog.disk.path"},
    LabelKey{"wwn", "dynolog.disk.wwn"},       LabelKey{"model", "dynolog.disk.model"},
    LabelKey{"serial", "dynolog.disk.serial"}, LabelKey{"revision", "dynolog.disk.revision"}};

}  // namespace diskstats_metrics

// The first 17 in DiskField's order.
inline constexpr std::array kDiskstatsMetrics = [] {
  using namespace diskstats_metrics;
  return std::array{
      counter({"disk.reads", "node_disk_reads_completed_total", "disk_reads.{device}",
               directed("system.disk.operations", "read")},
              Unit::operations, "Reads that are done"),
      counter({"disk.reads_merged", "node_disk_reads_merged_total", "",
               directed("system.disk.merged", "read")},
              Unit::operations, "Reads that the kernel joined to others in its queue"),
      counter({"disk.read_bytes", "node_disk_read_bytes_total", "disk_read_bytes.{device}",
               directed("system.disk.io", "read")},
              Unit::bytes, "Bytes read"),
      counter({"disk.read_time", "node_disk_read_time_seconds_total", "disk_read_seconds.{device}",
               directed("system.disk.operation_time", "read")},
              Unit::seconds, "Time that reads took, added up over all of them", kMilliseconds),
      counter({"disk.writes", "node_disk_writes_completed_total", "disk_writes.{device}",
               directed("system.disk.operations", "write")},
              Unit::operations, "Writes that are done"),
      counter({"disk.writes_merged", "node_disk_writes_merged_total", "",
               directed("system.disk.merged", "write")},
              Unit::operations, "Writes that the kernel joined to others in its queue"),
      counter({"disk.written_bytes", "node_disk_written_bytes_total", "disk_write_bytes.{device}",
               directed("system.disk.io", "write")},
              Unit::bytes, "Bytes written"),
      counter({"disk.write_time", "node_disk_write_time_seconds_total",
               "disk_write_seconds.{device}", directed("system.disk.operation_time", "write")},
              Unit::seconds, "Time that writes took, added up over all of them", kMilliseconds),
      MetricDescriptor{.id = "disk.in_flight",
                       .kind = MetricKind::gauge,
                       .unit = Unit::operations,
                       .help = "Operations that the device has been given and has not ended",
                       .source = "/proc/diskstats",
                       .labels = {kDevice},
                       .prometheus = {.name = "node_disk_io_now"},
                       .otlp = {.name = "dynolog.disk.in_flight"},
                       .json = {.name = "disk_in_flight.{device}"}},
      counter({"disk.io_time",
               "node_disk_io_time_seconds_total",
               "disk_io_seconds.{device}",
               {.name = "system.disk.io_time"}},
              Unit::seconds, "Time in which the device had something to do", kMilliseconds),
      counter({"disk.weighted_io_time",
               "node_disk_io_time_weighted_seconds_total",
               "",
               {.name = "dynolog.disk.weighted_io_time"}},
              Unit::seconds, "Time in which it had something to do, times the operations in flight",
              kMilliseconds),
      counter({"disk.discards",
               "node_disk_discards_completed_total",
               "",
               {.name = "dynolog.disk.discards"}},
              Unit::operations, "Discards that are done"),
      counter({"disk.discards_merged",
               "node_disk_discards_merged_total",
               "",
               {.name = "dynolog.disk.discards_merged"}},
              Unit::operations, "Discards that the kernel joined to others in its queue"),
      counter({"disk.discarded_sectors",
               "node_disk_discarded_sectors_total",
               "",
               {.name = "dynolog.disk.discarded_sectors"}},
              Unit::none, "Sectors of 512 bytes that were discarded"),
      counter({"disk.discard_time",
               "node_disk_discard_time_seconds_total",
               "",
               {.name = "dynolog.disk.discard_time"}},
              Unit::seconds, "Time that discards took, added up over all of them", kMilliseconds),
      counter(
          {"disk.flushes", "node_disk_flush_requests_total", "", {.name = "dynolog.disk.flushes"}},
          Unit::operations, "Flushes of the device's cache that are done"),
      counter({"disk.flush_time",
               "node_disk_flush_requests_time_seconds_total",
               "",
               {.name = "dynolog.disk.flush_time"}},
              Unit::seconds, "Time that flushes took, added up over all of them", kMilliseconds),
      MetricDescriptor{.id = "disk.info",
                       .kind = MetricKind::info,
                       .help = "What is known of a device, as labels; the value is 1",
                       .source = "/proc/diskstats, udev",
                       .labels = LabelKeys(kInfoLabels),
                       .prometheus = {.name = "node_disk_info"},
                       .otlp = {.name = "dynolog.disk.info"}},
      MetricDescriptor{
          .id = "disk.class",
          .kind = MetricKind::info,
          .help = "Whether a device is physical, a partition, or made of others (virtual): sums "
                  "over one class count nothing twice; the value is 1",
          .source = "/sys/class/block",
          .labels = {kDevice, LabelKey{"class", "dynolog.disk.class"}},
          .prometheus = {.name = "dynolog_disk_class_info"},
          .otlp = {.name = "dynolog.disk.class"}},
  };
}();

// An error of kind invalid when the options' expressions are none.
[[nodiscard]] Result<std::unique_ptr<Collector>> make_diskstats_collector(
    const SystemRoot& root, const CollectorOptions::Disk& options);

}  // namespace dynolog
