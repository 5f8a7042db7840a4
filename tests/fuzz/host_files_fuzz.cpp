// The host's other /proc and /sys files: fields, devices, CPUs, interrupts; and answers of network
// drivers and of the kernel's socket diagnosis.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernel/cgroup.h"
#include "kernel/cpu_list.h"
#include "kernel/cpuinfo.h"
#include "kernel/diskstats.h"
#include "kernel/ethtool.h"
#include "kernel/hwmon_names.h"
#include "kernel/interrupts.h"
#include "kernel/key_values.h"
#include "kernel/lustre_stats.h"
#include "kernel/mdstat.h"
#include "kernel/meminfo.h"
#include "kernel/mounts.h"
#include "kernel/net_dev.h"
#include "kernel/net_snmp.h"
#include "kernel/nfs_stats.h"
#include "kernel/os_release.h"
#include "kernel/per_cpu_files.h"
#include "kernel/pressure.h"
#include "kernel/proc_net_arp.h"
#include "kernel/process_census.h"
#include "kernel/process_usage.h"
#include "kernel/tcp_diag.h"
#include "kernel/udev_data.h"
#include "kernel/udp_sockets.h"

namespace {

using namespace dynolog;

void require(bool holds) {
  if (!holds) std::abort();
}

// Views are parts of the text, or empty.
void require_part(std::string_view text, std::string_view part) {
  if (part.empty()) return;
  require(part.data() >= text.data() && part.data() + part.size() <= text.data() + text.size());
}

void check_fields(std::string_view text) {
  const auto visit = [&](std::string_view protocol, std::string_view name,
                         const std::optional<double>&) {
    require_part(text, protocol);
    require_part(text, name);
    require(!name.empty());
  };
  for_each_snmp_field(text, visit);
  for_each_snmp6_field(text, visit);
  for_each_sockstat_field(text, visit);
  for_each_key_value(
      text, [&](std::string_view name, const std::optional<double>&) { require_part(text, name); });
  for_each_meminfo_field(text, [&](const MeminfoField& field) {
    require_part(text, field.name);
    require(meminfo_field_name(field.name).find_first_of("()") == std::string::npos);
  });
}

void check_devices(std::string_view text) {
  for_each_disk(text, [&](const DiskLine& disk) {
    require_part(text, disk.name);
    require(!disk.name.empty() && disk.count >= 11 && disk.count <= kDiskFields);
  });
  for_each_net_dev(text, [&](const NetDevLine& device) {
    require_part(text, device.name);
    require(!device.name.empty());
  });
  std::vector<MdArray> arrays;
  parse_mdstat(text, arrays);
  for (const MdArray& array : arrays) require_part(text, array.name);
  (void)sum_udp_queues(text);
  if (const auto file = parse_hwmon_file(text)) {
    require_part(text, file->type);
    require_part(text, file->element);
    require(!sensor_name(*file).empty());
  }
  require(clean_hwmon_name(text).size() <= text.size());
  for_each_arp_entry(text, [&](std::string_view device) { require(!device.empty()); });
  require_part(text, udev_property(text, "ID_MODEL"));
}

void check_cpus(std::string_view text) {
  for_each_softnet(text, [](const SoftnetLine&) {});
  for_each_schedstat_cpu(text, [](const SchedstatLine&) {});
  for_each_hex_column(text, [&](std::string_view name, std::uint64_t) { require(!name.empty()); });
  for_each_cpuinfo(text, [&](const CpuinfoEntry& cpu) {
    require(!cpu.cpu.empty());
    require_part(text, cpu.model_name);
  });
  std::size_t listed = 0;
  for_each_in_cpu_list(text, [&](std::uint32_t) { ++listed; });
  require(listed <= 16384);
}

void check_interrupts(std::string_view text) {
  std::string_view rest = text;
  std::vector<std::uint32_t> cpus;
  if (!take_interrupt_cpus(rest, cpus)) return;
  require(!cpus.empty());
  InterruptLine line;
  while (take_interrupt_line(rest, line)) {
    require(!line.type.empty());
    for (std::size_t i = 0; i < cpus.size() && take_count(line.rest); ++i) continue;
    const InterruptWords words = describe_interrupt(line, line.rest);
    require_part(text, words.info);
    require(words.devices.size() <= text.size());
  }
}

void check_mounts(std::string_view text) {
  require(decode_mount_text(text).size() <= text.size());
  std::vector<Mount> mounts = parse_mountinfo(text);
  const std::size_t all = mounts.size();
  require(reachable_mounts(std::move(mounts)).size() <= all);
  for_each_rpc_line(text, [&](std::string_view name, const auto& numbers) {
    require_part(text, name);
    require(numbers.count <= kMaxRpcNumbers);
  });
  for_each_nfs_mount(text, [&](const NfsMount& mount) {
    require_part(text, mount.device);
    require_part(text, mount.address);
    require(mount.bytes.count > 0 && mount.transport_count <= kMaxNfsTransports);
    for_each_nfs_operation(mount.operations, [&](std::string_view name, const auto& numbers) {
      require_part(text, name);
      require(numbers.count >= 8);
    });
  });
}

void check_lustre(std::string_view text) {
  for_each_lustre_counter(text, [&](const LustreCounter& counter) {
    require_part(text, counter.name);
    require_part(text, counter.unit);
    require(!counter.name.empty() && !counter.unit.empty());
    require(counter.minimum || !counter.maximum);
    require(counter.maximum || !counter.sum);
  });
  require_part(text, parse_lustre_import(text).state);
}

void check_groups_and_processes(std::string_view text) {
  if (const auto place = cgroup_place(text)) {
    require(!place->job.empty());
    for (const std::string_view part : {place->job, place->step, place->task}) {
      require_part(text, part);
    }
  }
  if (const auto limit = cgroup_limit(text)) require(*limit >= 0);
  if (const auto cpus = cgroup_cpu_limit(text)) require(*cpus >= 0);
  (void)parse_cgroup_io(text);
  (void)parse_blkio(text);
  require_part(text, process_name(text));
  (void)parse_process_usage(text);
  (void)parse_process_switches(text);
  (void)parse_process_io(text);
}

// What a driver calls its statistics, and how they are named on the page.
void check_ethtool(std::string_view text) {
  constexpr std::size_t kNameBytes = 32;
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyz0123456789_";
  const std::vector<std::string> names = ethtool_names(text);
  require(names.size() == text.size() / kNameBytes);
  for (const std::string& name : names) {
    require(name.size() <= kNameBytes && name.find('\0') == std::string::npos);
    const std::string metric = ethtool_metric_name(name);
    require(metric.find_first_not_of(kPlain) == std::string::npos && !metric.starts_with('_'));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check_fields(text);
  check_devices(text);
  check_cpus(text);
  check_interrupts(text);
  check_mounts(text);
  check_lustre(text);
  check_groups_and_processes(text);
  check_ethtool(text);
  if (const auto pressure = parse_pressure(text)) require(pressure->some_us || pressure->full_us);
  if (const auto brief = parse_process_brief(text)) require(brief->state != '\0' || size > 0);
  (void)os_release_value(text, "NAME");
  if (const auto version = os_version_number(text)) require(*version >= 0);
  TcpConnections connections;
  (void)add_tcp_diag(std::as_bytes(std::span(data, size)), connections);
  return 0;
}
