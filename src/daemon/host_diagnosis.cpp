// Each area of the host is a small function that gives its verdicts: problems, or one line that all
// is well.
#include "daemon/host_diagnosis.h"

#include <fmt/format.h>
#include <linux/capability.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include "base/number.h"
#include "base/text.h"
#include "processes/diagnosis.h"

namespace dynolog {
namespace {

using Verdicts = std::vector<Verdict>;

constexpr std::uint64_t kMega = 1ULL << 20U;

Verdict ok(std::string check, std::string what) {
  return {std::move(check), Level::ok, std::move(what), "", ""};
}

std::uint64_t counter(const rpc::StatusReply& status, std::string_view name) {
  for (const auto& [known, value] : status.counters) {
    if (known == name) return value;
  }
  return 0;
}

void daemon_itself(const HostFacts& facts, Verdicts& verdicts) {
  const rpc::StatusReply& status = facts.status;
  verdicts.push_back(ok("daemon", fmt::format("dynolog {} runs on {}, pid {}, {} mode, run "
                                              "directory {}",
                                              status.version, status.host, status.pid.value_or(0),
                                              status.mode, status.run_dir)));
  if (facts.system_mode) return;
  verdicts.push_back({"daemon", Level::note, "the daemon is a user's own",
                      "it knows the processes of its own user only",
                      "for everybody's: run it as root, `systemctl start dynolog`"});
}

// --- endpoints, RPC, priority: the features that `dyno status` shows ---

Verdict abstract_endpoint(const rpc::FeatureState& feature, bool may_name_holder) {
  if (feature.state == "off") {
    return {"endpoint", Level::note, "the abstract name @dynolog is not served: " + feature.reason,
            "only jobs with KINETO_IPC_SOCKET_DIR reach this daemon",
            "start jobs with what `dyno env` prints, or the daemon with --enable_ipc_monitor"};
  }
  const std::string problem =
      may_name_holder ? feature.reason
                      : "the abstract name @dynolog cannot be had: another process holds it";
  return {"endpoint", Level::broken, problem,
          "jobs without KINETO_IPC_SOCKET_DIR call its holder, and cannot be traced from here",
          advice_on_held_name(problem)};
}

Verdict directory_endpoint(const rpc::FeatureState& feature) {
  const std::string_view where = std::string_view(feature.name).substr(feature.name.find(':') + 1);
  return {"endpoint", feature.state == "off" ? Level::note : Level::broken,
          fmt::format("no socket for jobs in {}: {}", where, feature.reason),
          "jobs whose KINETO_IPC_SOCKET_DIR it is cannot be traced",
          "the sentence says what is in the way; the daemon tries again every 5 s"};
}

Verdict rpc_socket(const rpc::FeatureState& feature) {
  const std::string_view where = std::string_view(feature.name).substr(feature.name.find(':') + 1);
  return {"rpc", feature.state == "off" ? Level::note : Level::broken,
          fmt::format("commands are not taken at {}: {}", where, feature.reason),
          "dyno and existing clients cannot reach the daemon there",
          "end what holds the port or path, or choose others: --port, --run_dir"};
}

Verdict other_feature(const rpc::FeatureState& feature) {
  if (feature.state == "off" && feature.reason.starts_with("by --")) {
    return {
        "feature", Level::note, fmt::format("{} is off: {}", feature.name, feature.reason),
        "it was switched off; what it is for does not work",
        fmt::format("where it is wanted, start the daemon without {}", feature.reason.substr(3))};
  }
  return {"feature", feature.state == "off" ? Level::note : Level::warning,
          fmt::format("{} is {}: {}", feature.name, feature.state, feature.reason),
          "what it is for does not work; all else does",
          "the sentence says what is in the way; the daemon's log has it too"};
}

Verdict realtime(const rpc::FeatureState& feature) {
  return {"realtime", feature.state == "off" ? Level::note : Level::warning,
          "calls are answered at normal priority: " + feature.reason,
          "on a busy host answers may come after Kineto has given up, and requests are then lost",
          "give the daemon CAP_SYS_NICE (systemd: AmbientCapabilities=, or LimitRTPRIO=1)"};
}

void features(const HostFacts& facts, Verdicts& verdicts) {
  std::size_t endpoints = 0;
  std::vector<std::string> sockets;
  bool is_realtime = false;
  for (const rpc::FeatureState& feature : facts.status.features) {
    const bool good = feature.state == "ok";
    if (feature.name == "kineto:realtime") {
      is_realtime = good;
      if (!good) verdicts.push_back(realtime(feature));
    } else if (feature.name == "kineto:abstract") {
      endpoints += good ? 1 : 0;
      if (!good) verdicts.push_back(abstract_endpoint(feature, facts.may_name_holder));
    } else if (feature.name.starts_with("kineto:")) {
      endpoints += good ? 1 : 0;
      if (!good) verdicts.push_back(directory_endpoint(feature));
    } else if (feature.name.starts_with("rpc:")) {
      if (good) sockets.push_back(feature.name.substr(4));
      if (!good) verdicts.push_back(rpc_socket(feature));
    } else if (!good) {
      verdicts.push_back(other_feature(feature));
    }
  }
  if (!sockets.empty()) {
    verdicts.push_back(
        ok("rpc", fmt::format("commands are taken at {}", fmt::join(sockets, " and "))));
  }
  if (endpoints > 0) {
    verdicts.push_back(ok("endpoint", fmt::format("jobs are served at {} place{}", endpoints,
                                                  endpoints == 1 ? "" : "s")));
  } else {
    verdicts.push_back({"endpoint", Level::warning, "there is no place yet where jobs are served",
                        "no job can call in",
                        "`dyno env` has a directory made for you and prints what a job needs"});
  }
  if (is_realtime) verdicts.push_back(ok("realtime", "calls are answered at real-time priority"));
}

void queue_length(const HostFacts& facts, Verdicts& verdicts) {
  constexpr int kEnough = 64;
  if (!facts.queue_length) return;
  if (*facts.queue_length >= kEnough || facts.may_raise_queue_length) {
    verdicts.push_back(ok("queue", "the daemon's sockets queue enough calls"));
    return;
  }
  verdicts.push_back(
      {"queue", Level::note,
       fmt::format("a socket of this host queues {} datagrams", *facts.queue_length),
       "the ranks of a host often call at once, and those that find the queue full wait",
       "sysctl -w net.unix.max_dgram_qlen=512 before the daemon starts"});
}

// --- rights ---

struct Needed {
  int capability;
  std::string_view name;
  std::string_view what_for;
};

// What the system's daemon does with privileges, and what each of them is for.
constexpr std::array<Needed, 7> kNeeded = {
    Needed{CAP_SYS_PTRACE, "CAP_SYS_PTRACE",
           "to read who other users' processes are, and to find their files"},
    Needed{CAP_DAC_READ_SEARCH, "CAP_DAC_READ_SEARCH", "to read who other users' processes are"},
    Needed{CAP_DAC_OVERRIDE, "CAP_DAC_OVERRIDE",
           "to make its sockets in users' own directories (`dyno env`)"},
    Needed{CAP_CHOWN, "CAP_CHOWN", "to make users' own directories (`dyno env`)"},
    Needed{CAP_SETUID, "CAP_SETUID", "to check and bring traces as their owners"},
    Needed{CAP_SETGID, "CAP_SETGID", "to check and bring traces as their owners"},
    Needed{CAP_KILL, "CAP_KILL", "to end its workers that act as users"}};

void capabilities(const HostFacts& facts, Verdicts& verdicts) {
  if (!facts.system_mode || !facts.capabilities) return;
  bool all = true;
  for (const Needed& needed : kNeeded) {
    if ((*facts.capabilities >> static_cast<unsigned>(needed.capability) & 1U) != 0) continue;
    all = false;
    verdicts.push_back({"capability", Level::warning,
                        fmt::format("the daemon lacks {}", needed.name),
                        fmt::format("it needs it {}", needed.what_for),
                        fmt::format("give it {}: systemd's CapabilityBoundingSet=, a container's "
                                    "securityContext.capabilities",
                                    needed.name)});
  }
  if (all) verdicts.push_back(ok("capability", "the daemon has the rights that its features need"));
}

// --- the host ---

void room(const HostLook::Space& space, std::string_view what_for, std::uint64_t enough,
          std::uint64_t least, Verdicts& verdicts) {
  if (!space.problem.empty()) {
    verdicts.push_back(
        {"disk", Level::warning,
         fmt::format("the room at {} cannot be measured: {}", space.path, space.problem),
         fmt::format("it is for {}", what_for), "see whether the directory is there"});
    return;
  }
  if (space.free_bytes >= enough) return;
  verdicts.push_back({"disk", space.free_bytes < least ? Level::broken : Level::warning,
                      fmt::format("{} has {} MB of room", space.path, space.free_bytes / kMega),
                      fmt::format("it is for {}", what_for),
                      fmt::format("make room there: `df {}`", space.path)});
}

void disk(const HostFacts& facts, Verdicts& verdicts) {
  if (!facts.look) {
    verdicts.push_back({"disk", Level::warning,
                        "the room for files cannot be measured: " + facts.look_problem,
                        "a file system that hangs keeps traces from being written",
                        "see with `df` which one does not answer"});
    return;
  }
  const std::size_t before = verdicts.size();
  for (const HostLook::Space& space : facts.look->spaces) {
    if (space.path == "/tmp") {
      room(space, "traces, which may take hundreds of MB each", 1024 * kMega, 16 * kMega, verdicts);
    } else {
      room(space, "the daemon's own state", 64 * kMega, kMega, verdicts);
    }
  }
  if (verdicts.size() == before) verdicts.push_back(ok("disk", "there is room for traces"));
}

void clock(const HostFacts& facts, Verdicts& verdicts) {
  if (!facts.clock) {
    verdicts.push_back({"clock", Level::note, "whether the clock is synchronised cannot be told",
                        "traces of several hosts are laid side by side by their clocks",
                        "see with `timedatectl` or `chronyc tracking`"});
    return;
  }
  const double error =
      std::chrono::duration<double, std::milli>(facts.clock->largest_error).count();
  constexpr double kMuch = 100;
  if (!facts.clock->synchronised) {
    verdicts.push_back(
        {"clock", Level::warning, "the clock is not synchronised",
         "traces of several hosts are laid side by side by their clocks, and a start "
         "that is agreed upon between hosts is missed",
         "start chronyd, ntpd, systemd-timesyncd or ptp4l with phc2sys"});
  } else if (error > kMuch) {
    verdicts.push_back({"clock", Level::warning,
                        fmt::format("the clock may be off by {:.0f} ms", error),
                        "traces of several hosts are laid side by side by their clocks",
                        "see with `chronyc tracking` what it follows"});
  } else {
    verdicts.push_back(
        ok("clock", fmt::format("the clock is synchronised, off by at most {:.1f} ms", error)));
  }
}

void gpu_driver(const HostFacts& facts, Verdicts& verdicts) {
  if (!facts.look || !facts.look->nvidia_driver) return;
  if (facts.look->nvidia_problem.empty()) {
    verdicts.push_back(ok("gpu_driver", "the NVIDIA driver answers"));
    return;
  }
  verdicts.push_back(
      {"gpu_driver", Level::warning,
       "the NVIDIA driver is loaded, but the daemon cannot open its device: " +
           facts.look->nvidia_problem,
       "what cannot be opened here cannot be watched, and may be out of the jobs' reach too",
       "make the device with `nvidia-modprobe`, or pass it to the daemon's container and device "
       "cgroup"});
}

void base_configuration(const HostFacts& facts, Verdicts& verdicts) {
  if (facts.base_configuration && !facts.base_configuration->empty()) {
    verdicts.push_back(ok("base_configuration", "/etc/libkineto.conf is there"));
    return;
  }
  verdicts.push_back(
      {"base_configuration", Level::warning,
       facts.base_configuration ? "/etc/libkineto.conf is empty"
                                : "there is no /etc/libkineto.conf",
       "with it jobs call every second instead of every 5 s, and PyTorch 2.7 to 2.9 does not crash "
       "at its import beside a daemon",
       "echo ON_DEMAND_CONFIG_UPDATE_INTERVAL_SECS=1 | sudo tee /etc/libkineto.conf; containers "
       "need the file in their image, or another one that KINETO_CONFIG names"});
}

void profilers(const HostFacts& facts, Verdicts& verdicts) {
  bool dcgm = facts.dcgm_runs;
  for (const ProfilingTool& tool : facts.tools) {
    if (tool.name == "nv-hostengine" || tool.name == "dcgm-exporter") {
      dcgm = true;
      continue;
    }
    verdicts.push_back(
        {"profiler", Level::note, fmt::format("{} runs (pid {})", tool.name, tool.pid.value),
         "CUPTI serves one tool in a process, and a GPU's counters one tool at a time: traces of "
         "what it profiles may lack GPU kernels",
         "trace when it has ended"});
  }
  if (!dcgm) return;
  verdicts.push_back(
      {"profiler", Level::note, "DCGM runs on this host",
       "while it watches profiling metrics it may hold the GPU's counters, which a "
       "trace with CUPTI_PM_SAMPLING_METRICS needs too",
       "`dcgmi profile --pause` before such a trace, `dcgmi profile --resume` after"});
}

void processes(const HostFacts& facts, Verdicts& verdicts) {
  if (facts.hung > 0) {
    verdicts.push_back(
        {"processes", Level::warning,
         fmt::format("{} process{} cannot be read to the end", facts.hung,
                     facts.hung == 1 ? "" : "es"),
         "what hangs in the kernel, for storage or a driver, holds up who looks at it",
         "find them: ps -eo pid,stat,wchan:32,comm | grep ' D'"});
  }
  if (facts.refused > 0) {
    verdicts.push_back(
        {"processes", Level::warning,
         fmt::format("the daemon may not look into {} process{}", facts.refused,
                     facts.refused == 1 ? "" : "es"),
         "what of them has PyTorch in it is not known: it is missing here unless it has called in",
         "give the daemon CAP_SYS_PTRACE over them: systemd's CapabilityBoundingSet=, docker run "
         "--cap-add SYS_PTRACE; or have their users start daemons of their own"});
  }
  if (!facts.incomplete.empty()) {
    verdicts.push_back(
        {"processes", Level::warning, "not all processes were looked at: " + facts.incomplete,
         "a process that has not called in may be missing here", "name it: dyno doctor --pid PID"});
  }
  if (const auto unseen = counter(facts.status, "kineto_no_credentials"); unseen > 0) {
    verdicts.push_back(
        {"processes", Level::warning,
         fmt::format("{} calls came from processes that the daemon cannot see", unseen),
         "it answers only processes of its own pid namespace and those below it",
         "run the daemon in the host's pid namespace (Kubernetes: hostPID: true)"});
  }
}

}  // namespace

std::vector<Verdict> diagnose_host(const HostFacts& facts) {
  Verdicts verdicts;
  daemon_itself(facts, verdicts);
  features(facts, verdicts);
  queue_length(facts, verdicts);
  capabilities(facts, verdicts);
  disk(facts, verdicts);
  clock(facts, verdicts);
  gpu_driver(facts, verdicts);
  base_configuration(facts, verdicts);
  profilers(facts, verdicts);
  processes(facts, verdicts);
  return verdicts;
}

std::optional<std::uint64_t> effective_capabilities(std::string_view status) {
  for (std::string_view line : split(status, '\n')) {
    constexpr std::string_view kName = "CapEff:";
    if (!line.starts_with(kName)) continue;
    line.remove_prefix(kName.size());
    return parse_number<std::uint64_t>(trim(line), 16);
  }
  return std::nullopt;
}

}  // namespace dynolog
