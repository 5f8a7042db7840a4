// From the daemon's answers to what is shown.
#include "cli/top/snapshot.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <tuple>

#include "base/number.h"

namespace dynolog::top {
namespace {

// In the order of the request, and of the answer's results.
enum Asked : std::size_t {
  kBootTime,
  kLoad1,
  kLoad5,
  kLoad15,
  kCpu,
  kShares,
  kCpus,
  kTopology,
  kMemoryUsed,
  kMemoryLimit,
  kSwapTotal,
  kSwapFree,
  kPressureCpu,
  kPressureMemory,
  kPressureIo,
  kDiskRead,
  kDiskWritten,
  kDiskBusy,
  kDiskInFlight,
  kNetReceived,
  kNetSent,
  kNetReceiveErrors,
  kNetSendErrors,
  kNetReceiveDrops,
  kNetSendDrops,
  kNetUp,
  kIbReceived,
  kIbSent,
  kIbState,
  kHottest,
  kDaemonCpu,
  kDaemonMemory,
  kProcessCpu,
  kProcessMemory,
  kAskedCount,
};

constexpr std::array<std::string_view, kAskedCount> kSelectors = {
    "host.boot_time",
    "load.1m",
    "load.5m",
    "load.15m",
    "cpu.utilization",
    "cpu.share",
    "cpu.utilization.cpu",
    "cpu.topology",
    "memory.used",
    "memory.limit",
    R"(memory.field{field="SwapTotal"})",
    R"(memory.field{field="SwapFree"})",
    "pressure.cpu",
    "pressure.memory",
    "pressure.io",
    "disk.read_bytes",
    "disk.written_bytes",
    "disk.utilization",
    "disk.in_flight",
    "net.received_bytes",
    "net.sent_bytes",
    "net.receive_errors",
    "net.send_errors",
    "net.receive_drops",
    "net.send_drops",
    "net.up",
    "infiniband.bytes_received",
    "infiniband.bytes_sent",
    "infiniband.state",
    "hwmon.temperature",
    "self.cpu_utilization",
    "self.resident_memory",
    "process.cpu_time",
    "process.resident_memory"};

constexpr double kActivePort = 4;

std::string_view label_of(const rpc::MetricSeries& series, std::string_view key) {
  for (const auto& [name, value] : series.labels.pairs) {
    if (name == key) return value;
  }
  return {};
}

Figure value_of(const rpc::MetricSeries& series) {
  return series.values.empty() ? std::nullopt : series.values.back();
}

class Reader {
 public:
  explicit Reader(const rpc::QueryMetricsReply& reply) : reply_(reply) {}

  [[nodiscard]] const std::vector<rpc::MetricSeries>& series(Asked what) const {
    static const std::vector<rpc::MetricSeries> kNone;
    return what < reply_.results.size() ? reply_.results[what].series : kNone;
  }
  [[nodiscard]] Figure one(Asked what) const {
    const auto& found = series(what);
    return found.empty() ? std::nullopt : value_of(found.front());
  }
  // How much older its value is than the newest of all; nullopt: it has none, or the daemon does
  // not say.
  [[nodiscard]] Figure age_s(const rpc::MetricSeries& series) const {
    if (!series.newest_ms) return std::nullopt;
    return static_cast<double>(reply_.begin_ms - *series.newest_ms) / 1000;
  }
  [[nodiscard]] bool is_current(const rpc::MetricSeries& series) const {
    constexpr double kSteps = 2;  // the newest values are not all of the same one
    const double step_s = static_cast<double>(reply_.step_ms) / 1000;
    return age_s(series).value_or(0) <= kSteps * step_s;
  }
  // The name, or the uid where the host knows none.
  [[nodiscard]] std::string user(std::string_view uid) const {
    if (reply_.users) {
      for (const auto& [known, name] : reply_.users->pairs) {
        if (known == uid) return name;
      }
    }
    return std::string(uid);
  }

 private:
  const rpc::QueryMetricsReply& reply_;
};

std::vector<Cpu> cpus_of(const Reader& reader) {
  std::map<std::int64_t, std::int64_t> nodes;
  for (const rpc::MetricSeries& series : reader.series(kTopology)) {
    const auto cpu = parse_number<std::int64_t>(label_of(series, "cpu"));
    const auto node = parse_number<std::int64_t>(label_of(series, "node"));
    if (cpu && node) nodes[*cpu] = *node;
  }
  std::vector<Cpu> cpus;
  for (const rpc::MetricSeries& series : reader.series(kCpus)) {
    const auto number = parse_number<std::int64_t>(label_of(series, "cpu"));
    if (!number) continue;
    const auto node = nodes.find(*number);
    cpus.push_back({*number, node == nodes.end() ? 0 : node->second, value_of(series)});
  }
  std::ranges::sort(cpus, {}, [](const Cpu& cpu) { return std::tie(cpu.node, cpu.number); });
  return cpus;
}

void add(Figure& sum, Figure more) {
  if (more) sum = sum.value_or(0) + *more;
}

// The entry of that name, made when it is new.
template <class Entry>
Entry& entry_of(std::vector<Entry>& entries, std::string_view name) {
  const auto found = std::ranges::find(entries, name, &Entry::name);
  if (found != entries.end()) return *found;
  Entry& made = entries.emplace_back();
  made.name = name;
  return made;
}

std::vector<Disk> disks_of(const Reader& reader) {
  std::vector<Disk> disks;
  const auto take = [&](Asked what, Figure Disk::* figure) {
    for (const rpc::MetricSeries& series : reader.series(what)) {
      entry_of(disks, label_of(series, "device")).*figure = value_of(series);
    }
  };
  take(kDiskRead, &Disk::read);
  take(kDiskWritten, &Disk::written);
  take(kDiskBusy, &Disk::busy);
  take(kDiskInFlight, &Disk::in_flight);
  return disks;
}

std::vector<Link> interfaces_of(const Reader& reader) {
  std::vector<Link> links;
  for (const rpc::MetricSeries& series : reader.series(kNetReceived)) {
    entry_of(links, label_of(series, "device")).received = value_of(series);
  }
  const auto known = [&](const rpc::MetricSeries& series) {
    const auto found = std::ranges::find(links, label_of(series, "device"), &Link::name);
    return found == links.end() ? nullptr : &*found;
  };
  for (const rpc::MetricSeries& series : reader.series(kNetSent)) {
    if (Link* link = known(series)) link->sent = value_of(series);
  }
  for (const Asked what : {kNetReceiveErrors, kNetSendErrors, kNetReceiveDrops, kNetSendDrops}) {
    for (const rpc::MetricSeries& series : reader.series(what)) {
      if (Link* link = known(series)) add(link->faults, value_of(series));
    }
  }
  for (const rpc::MetricSeries& series : reader.series(kNetUp)) {
    if (Link* link = known(series); link != nullptr && value_of(series) == 0.0) {
      link->state = "down";
    }
  }
  return links;
}

std::vector<Link> ports_of(const Reader& reader) {
  std::vector<Link> ports;
  const auto name_of = [](const rpc::MetricSeries& series) {
    return std::string(label_of(series, "device")) + ":" + std::string(label_of(series, "port"));
  };
  for (const rpc::MetricSeries& series : reader.series(kIbState)) {
    Link& port = entry_of(ports, name_of(series));
    const Figure state = value_of(series);
    if (state && *state != kActivePort) port.state = "down";
  }
  for (const rpc::MetricSeries& series : reader.series(kIbReceived)) {
    entry_of(ports, name_of(series)).received = value_of(series);
  }
  for (const rpc::MetricSeries& series : reader.series(kIbSent)) {
    entry_of(ports, name_of(series)).sent = value_of(series);
  }
  return ports;
}

// The busiest of the host, as the daemon chooses them.
std::vector<Process> processes_of(const Reader& reader, bool of_the_past) {
  std::vector<Process> processes;
  const auto process_of = [&](const rpc::MetricSeries& series) -> Process* {
    const auto pid = parse_number<std::int64_t>(label_of(series, "pid"));
    if (!pid) return nullptr;
    const auto known = std::ranges::find(processes, *pid, &Process::pid);
    if (known != processes.end()) return &*known;
    Process& made = processes.emplace_back();
    made.pid = *pid;
    made.command = label_of(series, "command");
    made.user = reader.user(label_of(series, "uid"));
    return &made;
  };
  // A process's memory stands until it is read again, or until the process is seen to have ended.
  for (const rpc::MetricSeries& series : reader.series(kProcessMemory)) {
    if (!reader.is_current(series)) continue;
    if (Process* const process = process_of(series)) process->memory = value_of(series);
  }
  constexpr double kPercent = 100;
  for (const rpc::MetricSeries& series : reader.series(kProcessCpu)) {
    const auto pid = parse_number<std::int64_t>(label_of(series, "pid"));
    const auto process = std::ranges::find(processes, pid.value_or(-1), &Process::pid);
    if (const Figure share = value_of(series); process != processes.end() && share) {
      process->cpu = *share * kPercent;
    }
  }
  // Of the past a process is listed by what is known of that moment: those that came later, and
  // those that were gone, have nothing.
  if (of_the_past) {
    std::erase_if(processes,
                  [](const Process& process) { return !process.cpu && !process.memory; });
  }
  return processes;
}

// A rate is of the time up to the last reading.
Figure age_of_processes(const Reader& reader) {
  Figure least;
  for (const rpc::MetricSeries& series : reader.series(kProcessCpu)) {
    const Figure age = reader.age_s(series);
    if (age) least = std::min(least.value_or(*age), *age);
  }
  return least;
}

}  // namespace

rpc::QueryMetricsRequest snapshot_request(std::optional<std::int64_t> at_ms) {
  rpc::QueryMetricsRequest request;
  for (std::size_t i = 0; i < kSelectors.size(); ++i) {
    rpc::MetricExpression expression;
    expression.selector = kSelectors[i];
    if (i == kHottest) expression.join = "max";
    if (i == kProcessCpu) {  // both modes together
      expression.join = "sum";
      expression.by = {"pid", "command", "uid"};
    }
    request.expressions.push_back(std::move(expression));
  }
  request.end_ms = at_ms;
  request.newest_only = true;
  request.absent_ok = true;
  return request;
}

Snapshot read_snapshot(const rpc::QueryMetricsReply& reply, std::optional<std::int64_t> at_ms,
                       std::int64_t now_ms) {
  const Reader reader(reply);
  Snapshot snapshot;
  snapshot.host = reply.host;
  snapshot.time_ms = at_ms.value_or(now_ms);
  if (const Figure boot = reader.one(kBootTime)) {
    constexpr double kMilliseconds = 1000;
    snapshot.uptime_s = static_cast<double>(snapshot.time_ms) / kMilliseconds - *boot;
  }
  snapshot.load1 = reader.one(kLoad1);
  snapshot.load5 = reader.one(kLoad5);
  snapshot.load15 = reader.one(kLoad15);
  snapshot.cpu_percent = reader.one(kCpu);
  for (const rpc::MetricSeries& series : reader.series(kShares)) {
    snapshot.cpu_shares[std::string(label_of(series, "mode"))] = value_of(series);
  }
  snapshot.cpus = cpus_of(reader);
  snapshot.memory_used = reader.one(kMemoryUsed);
  snapshot.memory_limit = reader.one(kMemoryLimit);
  snapshot.swap_limit = reader.one(kSwapTotal);
  if (const Figure free = reader.one(kSwapFree); free && snapshot.swap_limit) {
    snapshot.swap_used = *snapshot.swap_limit - *free;
  }
  snapshot.pressure_cpu = reader.one(kPressureCpu);
  snapshot.pressure_memory = reader.one(kPressureMemory);
  snapshot.pressure_io = reader.one(kPressureIo);
  snapshot.hottest = reader.one(kHottest);
  snapshot.disks = disks_of(reader);
  snapshot.links = ports_of(reader);
  for (Link& link : interfaces_of(reader)) snapshot.links.push_back(std::move(link));
  snapshot.processes = processes_of(reader, at_ms.has_value());
  snapshot.processes_age_s = age_of_processes(reader);
  snapshot.daemon_cpu = reader.one(kDaemonCpu);
  snapshot.daemon_memory = reader.one(kDaemonMemory);
  return snapshot;
}

void add_processes(Snapshot& snapshot, const rpc::ListProcessesReply& reply) {
  for (const rpc::ProcessRow& row : reply.processes) {
    const auto known = std::ranges::find(snapshot.processes, row.pid, &Process::pid);
    Process& process =
        known != snapshot.processes.end() ? *known : snapshot.processes.emplace_back();
    process.pid = row.pid;
    process.user = row.user;
    process.job = row.job;
    process.rank = row.rank ? std::to_string(*row.rank) : "";
    process.state = row.state;
    process.command = row.command;
    process.gpus.clear();
    for (const int gpu : row.gpus) {
      process.gpus += (process.gpus.empty() ? "" : ",") + std::to_string(gpu);
    }
  }
}

}  // namespace dynolog::top
