// The table of collectors. To add one: a row here, and its metrics' row below.
#include "collectors/all_collectors.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "collectors/arp.h"
#include "collectors/bonding.h"
#include "collectors/cgroups.h"
#include "collectors/conntrack.h"
#include "collectors/cpu.h"
#include "collectors/cpu_hardware.h"
#include "collectors/diskstats.h"
#include "collectors/edac.h"
#include "collectors/ethtool.h"
#include "collectors/filesystem.h"
#include "collectors/host_info.h"
#include "collectors/hwmon.h"
#include "collectors/infiniband.h"
#include "collectors/interrupts.h"
#include "collectors/kernel_values.h"
#include "collectors/load.h"
#include "collectors/lustre.h"
#include "collectors/mdadm.h"
#include "collectors/meminfo.h"
#include "collectors/meminfo_numa.h"
#include "collectors/mountstats.h"
#include "collectors/netclass.h"
#include "collectors/netdev.h"
#include "collectors/netstat.h"
#include "collectors/nfs.h"
#include "collectors/nvme.h"
#include "collectors/power_supply.h"
#include "collectors/pressure.h"
#include "collectors/processes.h"
#include "collectors/rapl.h"
#include "collectors/schedstat.h"
#include "collectors/self.h"
#include "collectors/selinux.h"
#include "collectors/sockstat.h"
#include "collectors/softnet.h"
#include "collectors/systemd.h"
#include "collectors/tcpstat.h"
#include "collectors/textfile.h"
#include "collectors/thermal.h"
#include "collectors/time.h"
#include "collectors/timex.h"
#include "collectors/top.h"
#include "collectors/udp_queues.h"
#include "collectors/vmstat.h"
#include "kernel/ethtool.h"
#include "kernel/timex.h"
#include "metrics/framework_series.h"

namespace dynolog {
namespace {

using Made = Result<std::unique_ptr<Collector>>;

struct CollectorRow {
  CatalogueSection section;  // its name and tier are the collector's
  Made (*make)(const CollectorWorld& world);
};

constexpr CollectorRow kCollectors[] = {
    {{"arp", Tier::medium, kArpMetrics},
     [](const CollectorWorld& world) -> Made { return make_arp_collector(world.root); }},
    {{"bonding", Tier::medium, kBondingMetrics},
     [](const CollectorWorld& world) -> Made { return make_bonding_collector(world.root); }},
    {{"cgroups", Tier::medium, kCgroupsMetrics},
     [](const CollectorWorld& world) -> Made {
       return make_cgroups_collector(world.root, world.options.cgroups, ::sysconf(_SC_CLK_TCK));
     }},
    {{"clocksource", Tier::medium, kClocksourceMetrics},
     [](const CollectorWorld& world) -> Made { return make_clocksource_collector(world.root); }},
    {{"conntrack", Tier::fast, kConntrackMetrics},
     [](const CollectorWorld& world) -> Made { return make_conntrack_collector(world.root); }},
    {{"cpu", Tier::fast, kCpuMetrics},
     [](const CollectorWorld& world) -> Made {
       return make_cpu_collector(world.root, ::sysconf(_SC_CLK_TCK));
     }},
    {{"cpufreq", Tier::slow, kCpufreqMetrics},
     [](const CollectorWorld& world) -> Made { return make_cpufreq_collector(world.root); }},
    {{"cpuinfo", Tier::slow, kCpuinfoMetrics},
     [](const CollectorWorld& world) -> Made { return make_cpuinfo_collector(world.root); }},
    {{"diskstats", Tier::fast, kDiskstatsMetrics},
     [](const CollectorWorld& world) -> Made {
       return make_diskstats_collector(world.root, world.options.disk);
     }},
    {{"dmi", Tier::slow, kDmiMetrics},
     [](const CollectorWorld& world) -> Made { return make_dmi_collector(world.root); }},
    {{"edac", Tier::slow, kEdacMetrics},
     [](const CollectorWorld& world) -> Made { return make_edac_collector(world.root); }},
    {{"entropy", Tier::medium, kEntropyMetrics},
     [](const CollectorWorld& world) -> Made { return make_entropy_collector(world.root); }},
    {{"ethtool", Tier::slow, kEthtoolMetrics},
     [](const CollectorWorld& world) -> Made {
       return make_ethtool_collector(world.root, world.options, make_ethtool());
     }},
    {{"filefd", Tier::fast, kFilefdMetrics},
     [](const CollectorWorld& world) -> Made { return make_filefd_collector(world.root); }},
    {{"filesystem", Tier::slow, kFilesystemMetrics},
     [](const CollectorWorld& world) -> Made {
       return make_filesystem_collector(world.file_systems);
     }},
    {{"hwmon", Tier::slow, kHwmonMetrics},
     [](const CollectorWorld& world) -> Made { return make_hwmon_collector(world.root); }},
    {{"infiniband", Tier::medium, kInfinibandMetrics},
     [](const CollectorWorld& world) -> Made { return make_infiniband_collector(world.root); }},
    {{"infiniband_hw", Tier::slow, kInfinibandHwMetrics},
     [](const CollectorWorld& world) -> Made { return make_infiniband_hw_collector(world.root); }},
    {{"interrupts", Tier::medium, kInterruptsMetrics},
     [](const CollectorWorld& world) -> Made {
       return make_interrupts_collector(world.root, world.options.interrupts);
     }},
    {{"jobs", Tier::fast, kJobsMetrics},
     [](const CollectorWorld& world) -> Made {
       return make_jobs_collector(world.root, world.ranks, ::sysconf(_SC_PAGESIZE),
                                  ::sysconf(_SC_CLK_TCK));
     }},
    {{"limits", Tier::slow, kLimitsMetrics},
     [](const CollectorWorld& world) -> Made { return make_limits_collector(world.root); }},
    {{"load", Tier::fast, kLoadMetrics},
     [](const CollectorWorld& world) -> Made { return make_load_collector(world.root); }},
    {{"lustre", Tier::medium, kLustreMetrics},
     [](const CollectorWorld& world) -> Made { return make_lustre_collector(world.root); }},
    {{"lustre_targets", Tier::slow, kLustreTargetsMetrics},
     [](const CollectorWorld& world) -> Made { return make_lustre_targets_collector(world.root); }},
    {{"mdadm", Tier::medium, kMdadmMetrics},
     [](const CollectorWorld& world) -> Made { return make_mdadm_collector(world.root); }},
    {{"meminfo", Tier::fast, kMeminfoMetrics},
     [](const CollectorWorld& world) -> Made { return make_meminfo_collector(world.root); }},
    {{"meminfo_numa", Tier::medium, kMeminfoNumaMetrics},
     [](const CollectorWorld& world) -> Made { return make_meminfo_numa_collector(world.root); }},
    {{"mountstats", Tier::medium, kMountstatsMetrics},
     [](const CollectorWorld& world) -> Made { return make_mountstats_collector(world.root); }},
    {{"netclass", Tier::medium, kNetclassMetrics},
     [](const CollectorWorld& world) -> Made {
       return make_netclass_collector(world.root, world.options.net);
     }},
    {{"netdev", Tier::fast, kNetdevMetrics},
     [](const CollectorWorld& world) -> Made {
       return make_netdev_collector(world.root, world.options.net);
     }},
    {{"netstat", Tier::fast, kNetstatMetrics},
     [](const CollectorWorld& world) -> Made {
       return make_netstat_collector(world.root, world.options.netstat);
     }},
    {{"nfs", Tier::fast, kNfsMetrics},
     [](const CollectorWorld& world) -> Made { return make_nfs_collector(world.root); }},
    {{"nfsd", Tier::medium, kNfsdMetrics},
     [](const CollectorWorld& world) -> Made { return make_nfsd_collector(world.root); }},
    {{"nvme", Tier::slow, kNvmeMetrics},
     [](const CollectorWorld& world) -> Made { return make_nvme_collector(world.root); }},
    {{"os", Tier::slow, kOsMetrics},
     [](const CollectorWorld& world) -> Made { return make_os_collector(world.root); }},
    {{"powersupplyclass", Tier::slow, kPowerSupplyMetrics},
     [](const CollectorWorld& world) -> Made { return make_power_supply_collector(world.root); }},
    {{"pressure", Tier::fast, kPressureMetrics},
     [](const CollectorWorld& world) -> Made { return make_pressure_collector(world.root); }},
    {{"processes", Tier::slow, kProcessesMetrics},
     [](const CollectorWorld& world) -> Made { return make_processes_collector(world.root); }},
    {{"rapl", Tier::slow, kRaplMetrics},
     [](const CollectorWorld& world) -> Made { return make_rapl_collector(world.root); }},
    {{"schedstat", Tier::medium, kSchedstatMetrics},
     [](const CollectorWorld& world) -> Made { return make_schedstat_collector(world.root); }},
    {{"selinux", Tier::slow, kSelinuxMetrics},
     [](const CollectorWorld& world) -> Made { return make_selinux_collector(world.root); }},
    {{"sockstat", Tier::fast, kSockstatMetrics},
     [](const CollectorWorld& world) -> Made {
       return make_sockstat_collector(world.root, ::sysconf(_SC_PAGESIZE));
     }},
    {{"softnet", Tier::fast, kSoftnetMetrics},
     [](const CollectorWorld& world) -> Made { return make_softnet_collector(world.root); }},
    {{"systemd", Tier::slow, kSystemdMetrics},
     [](const CollectorWorld& world) -> Made { return make_systemd_collector(world.units); }},
    {{"tcpstat", Tier::slow, kTcpstatMetrics},
     [](const CollectorWorld&) -> Made { return make_tcpstat_collector(); }},
    {{"textfile", Tier::medium, kTextfileMetrics},
     [](const CollectorWorld& world) -> Made { return make_textfile_collector(world.text_files); }},
    {{"thermal_zone", Tier::slow, kThermalMetrics},
     [](const CollectorWorld& world) -> Made { return make_thermal_collector(world.root); }},
    {{"time", Tier::fast, kTimeMetrics},
     [](const CollectorWorld&) -> Made { return make_time_collector(); }},
    {{"timex", Tier::fast, kTimexMetrics},
     [](const CollectorWorld&) -> Made { return make_timex_collector(read_timex); }},
    {{"top", Tier::medium, kTopMetrics},
     [](const CollectorWorld& world) -> Made {
       return make_top_collector(world.root, world.options.top, world.somebody_looks,
                                 ::sysconf(_SC_PAGESIZE), ::sysconf(_SC_CLK_TCK));
     }},
    {{"udp_queues", Tier::medium, kUdpQueuesMetrics},
     [](const CollectorWorld& world) -> Made { return make_udp_queues_collector(world.root); }},
    {{"uname", Tier::medium, kUnameMetrics},
     [](const CollectorWorld& world) -> Made { return make_uname_collector(world.root); }},
    {{"vmstat", Tier::fast, kVmstatMetrics},
     [](const CollectorWorld& world) -> Made {
       return make_vmstat_collector(world.root, world.options.vmstat);
     }},
    {{"self", Tier::medium, kSelfMetrics},
     [](const CollectorWorld& world) -> Made {
       return make_self_collector(world.root, world.read_counters, ::sysconf(_SC_PAGESIZE),
                                  ::sysconf(_SC_CLK_TCK));
     }},
};

constexpr auto kSections = [] {
  std::array<CatalogueSection, std::size(kCollectors) + 1> sections;
  std::ranges::transform(kCollectors, sections.begin(), &CollectorRow::section);
  sections.back() = {"framework", Tier::medium, kFrameworkMetrics};
  return sections;
}();

consteval bool has_unique_collectors() {
  for (std::size_t i = 0; i < kSections.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (kSections[i].name == kSections[j].name) return false;
    }
  }
  return true;
}
static_assert(has_unique_collectors(), "two collectors have the same name");
static_assert(is_well_formed(kSections), "a metric lacks its help or has an unsound name");
static_assert(has_unique_names(kSections), "two metrics share an id or a name");
static_assert(serves_interval_names(kSections), "an interval name is of no metric");
static_assert(serves_derived_metrics(kSections), "a derived metric is of no metric or label");

}  // namespace

Status check_collector_names(const std::vector<std::string>& asked) {
  std::vector<std::string> names;
  for (const CollectorRow& row : kCollectors) names.emplace_back(row.section.name);
  for (const std::string& name : asked) {
    if (std::ranges::find(names, name) != names.end()) continue;
    const std::string close = nearest(name, names);
    return fail(ErrorKind::invalid,
                fmt::format("there is no collector '{}'{}", name,
                            close.empty() ? std::string("; there are: ") +
                                                fmt::format("{}", fmt::join(names, ", "))
                                          : fmt::format(": did you mean '{}'?", close)));
  }
  return {};
}

Result<std::vector<std::unique_ptr<Collector>>> make_collectors(
    const CollectorWorld& world, const std::vector<std::string>& disabled) {
  if (auto known = check_collector_names(disabled); !known) {
    return with_context(std::move(known.error()), "--disabled_collectors");
  }
  std::vector<std::string> timed;
  for (const auto& [name, interval] : world.options.intervals) timed.push_back(name);
  if (auto known = check_collector_names(timed); !known) {
    return with_context(std::move(known.error()), "--collector_interval");
  }
  std::vector<std::unique_ptr<Collector>> collectors;
  for (const CollectorRow& row : kCollectors) {
    if (std::ranges::find(disabled, row.section.name) != disabled.end()) continue;
    auto made = row.make(world);
    if (!made) return std::unexpected(std::move(made.error()));
    collectors.push_back(std::move(*made));
  }
  return collectors;
}

Catalogue metric_catalogue() { return kSections; }

std::string list_metrics(bool json) { return list_catalogue(kSections, json); }

std::string metrics_page() { return catalogue_page(kSections); }

}  // namespace dynolog
