// The table, as the conventions of August 2026 have it.
#include "sinks/otlp_conventions.h"

#include <algorithm>
#include <array>

namespace dynolog {
namespace {

using enum Instrument;

constexpr std::array kConventions = {
    Convention{"container.cpu.time", counter, "s"},
    Convention{"container.cpu.usage", gauge, "{cpu}"},
    Convention{"container.disk.io", counter, "By"},
    Convention{"container.memory.usage", up_down_counter, "By"},
    Convention{"container.network.io", counter, "By"},
    Convention{"container.uptime", gauge, "s"},
    Convention{"hw.battery.charge", gauge, "1"},
    Convention{"hw.battery.charge.limit", gauge, "1"},
    Convention{"hw.battery.time_left", gauge, "s"},
    Convention{"hw.cpu.speed", gauge, "Hz"},
    Convention{"hw.cpu.speed.limit", gauge, "Hz"},
    Convention{"hw.energy", counter, "J"},
    Convention{"hw.errors", counter, "{error}"},
    Convention{"hw.fan.speed", gauge, "rpm"},
    Convention{"hw.fan.speed_ratio", gauge, "1"},
    Convention{"hw.gpu.io", counter, "By"},
    Convention{"hw.gpu.memory.limit", up_down_counter, "By"},
    Convention{"hw.gpu.memory.usage", up_down_counter, "By"},
    Convention{"hw.gpu.memory.utilization", gauge, "1"},
    Convention{"hw.gpu.utilization", gauge, "1"},
    Convention{"hw.logical_disk.limit", up_down_counter, "By"},
    Convention{"hw.logical_disk.usage", up_down_counter, "By"},
    Convention{"hw.logical_disk.utilization", gauge, "1"},
    Convention{"hw.memory.size", up_down_counter, "By"},
    Convention{"hw.network.bandwidth.limit", up_down_counter, "By/s"},
    Convention{"hw.network.bandwidth.utilization", gauge, "1"},
    Convention{"hw.network.io", counter, "By"},
    Convention{"hw.network.packets", counter, "{packet}"},
    Convention{"hw.network.up", up_down_counter, "1"},
    Convention{"hw.physical_disk.endurance_utilization", gauge, "1"},
    Convention{"hw.physical_disk.size", up_down_counter, "By"},
    Convention{"hw.physical_disk.smart", gauge, "1"},
    Convention{"hw.power", gauge, "W"},
    Convention{"hw.status", up_down_counter, "1"},
    Convention{"hw.temperature", gauge, "Cel"},
    Convention{"hw.temperature.limit", gauge, "Cel"},
    Convention{"hw.voltage", gauge, "V"},
    Convention{"hw.voltage.limit", gauge, "V"},
    Convention{"hw.voltage.nominal", gauge, "V"},
    Convention{"nfs.client.net.count", counter, "{record}"},
    Convention{"nfs.client.net.tcp.connection.accepted", counter, "{connection}"},
    Convention{"nfs.client.operation.count", counter, "{operation}"},
    Convention{"nfs.client.procedure.count", counter, "{procedure}"},
    Convention{"nfs.client.rpc.authrefresh.count", counter, "{authrefresh}"},
    Convention{"nfs.client.rpc.count", counter, "{request}"},
    Convention{"nfs.client.rpc.retransmit.count", counter, "{retransmit}"},
    Convention{"process.context_switches", counter, "{context_switch}"},
    Convention{"process.cpu.time", counter, "s"},
    Convention{"process.cpu.utilization", gauge, "1"},
    Convention{"process.disk.io", counter, "By"},
    Convention{"process.memory.usage", up_down_counter, "By"},
    Convention{"process.memory.virtual", up_down_counter, "By"},
    Convention{"process.network.io", counter, "By"},
    Convention{"process.paging.faults", counter, "{fault}"},
    Convention{"process.thread.count", up_down_counter, "{thread}"},
    Convention{"process.unix.file_descriptor.count", up_down_counter, "{file_descriptor}"},
    Convention{"process.uptime", gauge, "s"},
    Convention{"system.cpu.frequency", gauge, "Hz"},
    Convention{"system.cpu.logical.count", up_down_counter, "{cpu}"},
    Convention{"system.cpu.physical.count", up_down_counter, "{cpu}"},
    Convention{"system.cpu.time", counter, "s"},
    Convention{"system.cpu.utilization", gauge, "1"},
    Convention{"system.disk.io", counter, "By"},
    Convention{"system.disk.io_time", counter, "s"},
    Convention{"system.disk.limit", up_down_counter, "By"},
    Convention{"system.disk.merged", counter, "{operation}"},
    Convention{"system.disk.operation_time", counter, "s"},
    Convention{"system.disk.operations", counter, "{operation}"},
    Convention{"system.filesystem.limit", up_down_counter, "By"},
    Convention{"system.filesystem.usage", up_down_counter, "By"},
    Convention{"system.filesystem.utilization", gauge, "1"},
    Convention{"system.memory.limit", up_down_counter, "By"},
    Convention{"system.memory.linux.available", up_down_counter, "By"},
    Convention{"system.memory.linux.hugepages.limit", up_down_counter, "{page}"},
    Convention{"system.memory.linux.hugepages.page_size", up_down_counter, "By"},
    Convention{"system.memory.linux.hugepages.reserved", up_down_counter, "{page}"},
    Convention{"system.memory.linux.hugepages.surplus", up_down_counter, "{page}"},
    Convention{"system.memory.linux.hugepages.usage", up_down_counter, "{page}"},
    Convention{"system.memory.linux.hugepages.utilization", gauge, "1"},
    Convention{"system.memory.linux.shared", up_down_counter, "By"},
    Convention{"system.memory.linux.slab.usage", up_down_counter, "By"},
    Convention{"system.memory.usage", up_down_counter, "By"},
    Convention{"system.memory.utilization", gauge, "1"},
    Convention{"system.network.connection.count", up_down_counter, "{connection}"},
    Convention{"system.network.errors", counter, "{error}"},
    Convention{"system.network.io", counter, "By"},
    Convention{"system.network.packet.count", counter, "{packet}"},
    Convention{"system.network.packet.dropped", counter, "{packet}"},
    Convention{"system.paging.faults", counter, "{fault}"},
    Convention{"system.paging.operations", counter, "{operation}"},
    Convention{"system.paging.usage", up_down_counter, "By"},
    Convention{"system.paging.utilization", gauge, "1"},
    Convention{"system.process.count", up_down_counter, "{process}"},
    Convention{"system.process.created", counter, "{process}"},
    Convention{"system.uptime", gauge, "s"},
};
static_assert(std::ranges::is_sorted(kConventions, {}, &Convention::name));

std::string_view ucum(Unit unit) {
  switch (unit) {
    case Unit::none:
      return "1";
    case Unit::seconds:
      return "s";
    case Unit::bytes:
      return "By";
    case Unit::hertz:
      return "Hz";
    case Unit::celsius:
      return "Cel";
    case Unit::volts:
      return "V";
    case Unit::watts:
      return "W";
    case Unit::joules:
      return "J";
    case Unit::rpm:
      return "rpm";
    case Unit::percent:
      return "%";
    case Unit::packets:
      return "{packet}";
    case Unit::operations:
      return "{operation}";
  }
  return "1";
}

}  // namespace

const Convention* convention_of(std::string_view name) {
  const auto* const found = std::ranges::lower_bound(kConventions, name, {}, &Convention::name);
  return found != kConventions.end() && found->name == name ? found : nullptr;
}

OtlpShape otlp_shape(const MetricDescriptor& descriptor) {
  if (const Convention* convention = convention_of(descriptor.otlp.name)) {
    return {convention->instrument, convention->unit};
  }
  const bool counts = descriptor.kind == MetricKind::counter;
  return {counts ? Instrument::counter : Instrument::gauge, ucum(descriptor.unit)};
}

bool is_integer_attribute(std::string_view key) {
  return key == "cpu.logical_number" || key == "process.pid";
}

}  // namespace dynolog
