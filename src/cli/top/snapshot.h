// What `dyno top` shows at one moment, out of the daemon's answers. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "rpc/protocol/messages.h"
#include "rpc/protocol/metrics_messages.h"

namespace dynolog::top {

using Figure = std::optional<double>;  // nullopt: not known here

struct Cpu {
  std::int64_t number = 0;
  std::int64_t node = 0;
  Figure percent;
};
struct Disk {
  std::string name;
  Figure read, written;  // bytes a second
  Figure busy;           // percent
  Figure in_flight;
};
struct Link {  // a network interface, or a port of InfiniBand
  std::string name;
  Figure received, sent;  // bytes a second
  Figure faults;          // errors and drops a second
  std::string state;      // "down"; "": it works, or is not known
};
struct Process {
  std::int64_t pid = 0;
  std::string user;
  std::string job;
  std::string rank;
  std::string state;
  std::string command;
  std::string gpus;  // "0,1"
  Figure cpu;        // percent of one CPU
  Figure memory;     // bytes
};

struct Snapshot {
  std::string host;
  std::int64_t time_ms = 0;  // since the epoch
  Figure uptime_s, load1, load5, load15;
  Figure cpu_percent;
  std::map<std::string, Figure> cpu_shares;  // by mode
  std::vector<Cpu> cpus;                     // by node and number
  Figure memory_used, memory_limit, swap_used, swap_limit;
  Figure pressure_cpu, pressure_memory, pressure_io;
  Figure hottest;  // degrees Celsius
  std::vector<Disk> disks;
  std::vector<Link> links;
  std::vector<Process> processes;
  Figure processes_age_s;  // since their figures were read
  Figure daemon_cpu, daemon_memory;
};

// What to ask, in one request; read_snapshot() takes the answer to it.
[[nodiscard]] rpc::QueryMetricsRequest snapshot_request(std::optional<std::int64_t> at_ms);
[[nodiscard]] Snapshot read_snapshot(const rpc::QueryMetricsReply& reply,
                                     std::optional<std::int64_t> at_ms, std::int64_t now_ms);
// Who is traced, beside what runs: of listProcesses.
void add_processes(Snapshot& snapshot, const rpc::ListProcessesReply& reply);

}  // namespace dynolog::top
