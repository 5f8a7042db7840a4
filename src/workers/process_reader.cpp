// Facts about processes, out of /proc.
#include "workers/process_reader.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "base/number.h"
#include "base/text.h"
#include "kernel/proc_pid.h"
#include "processes/identity.h"
#include "processes/job_facts.h"
#include "workers/proc_entry.h"

namespace dynolog {
namespace {

constexpr std::size_t kMaxCgroup = 64U << 10U;
constexpr std::size_t kMaxCommandLine = 64U << 10U;
constexpr std::size_t kMaxCommand = 1024;
constexpr std::size_t kMaxEnvironment = 1U << 20U;
constexpr std::size_t kMaxMaps = 32U << 20U;
constexpr std::size_t kMaxDescriptors = 65536;
constexpr std::size_t kMaxPath = 4096;
constexpr std::size_t kMaxThreadName = 64;  // the kernel has 15 bytes, of which some it escapes
constexpr std::size_t kMaxContainer = kMaxContainerIdentity;
constexpr std::string_view kLibrary = "/libtorch_cpu.so";

constexpr std::array<std::string_view, 6> kOwnVariables = {
    "KINETO_ONDEMAND_TRACE_DIR",  "KINETO_CONFIG",
    "KINETO_IPC_SOCKET_DIR",      "KINETO_USE_DAEMON",
    "KINETO_DAEMON_INIT_DELAY_S", "CUDA_VISIBLE_DEVICES"};

void add_missing(ProcessFacts& facts, std::string_view what, const Error& error) {
  facts.missing.push_back(clean_text(fmt::format("{}: {}", what, error.message), 256));
}

// A path as the kernel shows it to us is below our root when the process has a chroot: as the
// process sees it.
std::string inside_root(std::string path, const std::string& process_root) {
  if (process_root.size() > 1 && path.size() > process_root.size() &&
      path.starts_with(process_root) && path[process_root.size()] == '/') {
    path.erase(0, process_root.size());
  }
  return path;
}

// The N of "/dev/nvidia<N>".
std::optional<int> nvidia_device(std::string_view target) {
  constexpr std::string_view kNvidia = "/dev/nvidia";
  if (!target.starts_with(kNvidia)) return std::nullopt;
  const auto number = parse_number<int>(target.substr(kNvidia.size()));
  if (!number || *number < 0) return std::nullopt;
  return number;
}

bool is_other_gpu(std::string_view target) {
  return target == "/dev/kfd" || target.starts_with("/dev/dri/renderD");
}

std::vector<std::string> words_of(std::string_view command_line) {
  std::vector<std::string> words;
  while (command_line.ends_with('\0')) command_line.remove_suffix(1);
  if (command_line.empty()) return words;
  for (const std::string_view word : split(command_line, '\0')) words.emplace_back(word);
  return words;
}

// Whoever may make cgroups can make his own unreadable: the kernel refuses a path that is too long.
// A process whose container is not known is nobody's, not the host's.
Result<std::vector<CgroupLine>> read_cgroup(const ProcEntry& entry) {
  const auto text = entry.read("cgroup", kMaxCgroup);
  if (!text) return with_context(text.error(), "which container it is in");
  if (text->size() == kMaxCgroup) {
    return fail(ErrorKind::exhausted, "which container it is in: its list of cgroups is too long");
  }
  auto lines = parse_proc_pid_cgroup(*text);
  if (lines.empty()) {
    return fail(ErrorKind::failed, "which container it is in: its list of cgroups is empty");
  }
  return lines;
}

void take_identity(const ProcPidStatus& status, const std::vector<CgroupLine>& cgroup,
                   ProcessFacts& facts) {
  // Files are made under the effective uid, so this is whose process it is.
  facts.uid.value = status.uids[1];
  facts.namespace_pid = status.namespace_pids.empty() ? status.pid : status.namespace_pids.back();
  facts.container = clean_text(container_of(cgroup), kMaxContainer);
}

// A parent that is younger than its child is another process with the same pid.
void read_ancestors(const SystemRoot& root, const ProcPidStat& stat, ProcessFacts& facts) {
  facts.parent.value = stat.parent_pid;
  ProcPidStat child = stat;
  while (child.parent_pid > 1 && facts.ancestors.size() < kMaxAncestors) {
    const auto entry = ProcEntry::open(root, Pid{child.parent_pid});
    const auto parent = entry ? entry->stat() : std::unexpected(entry.error());
    if (!parent || parent->start_ticks > child.start_ticks || parent->parent_pid <= 1) return;
    facts.ancestors.push_back(Pid{parent->parent_pid});
    child = *parent;
  }
}

void read_descriptors(const ProcEntry& entry, ProcessFacts& facts) {
  std::set<int> devices;
  const Status read = entry.each_link("fd", kMaxDescriptors, [&](std::string_view target) {
    const auto device = nvidia_device(target);
    if (device && devices.size() < kMaxHeldGpus) devices.insert(*device);
    facts.holds_gpu = facts.holds_gpu || device || is_other_gpu(target);
    return true;
  });
  facts.gpus.assign(devices.begin(), devices.end());
  facts.descriptors_read = read.has_value();
  if (!read) add_missing(facts, "descriptors", read.error());
}

void read_library(const ProcEntry& entry, const std::string& process_root, ProcessFacts& facts) {
  const Status read = entry.each_line("maps", kMaxMaps, [&](std::string_view line) {
    const std::string_view path = parse_maps_line(line).path;
    if (!path.ends_with(kLibrary)) return true;
    facts.torch_library = clean_text(inside_root(std::string(path), process_root), kMaxPath);
    return false;
  });
  facts.mapped_files_read = read.has_value();
  if (!read) add_missing(facts, "mapped files", read.error());
}

Environment read_environment(const ProcEntry& entry, ProcessFacts& facts) {
  std::vector<std::string_view> wanted = job_environment_variables();
  wanted.insert(wanted.end(), kOwnVariables.begin(), kOwnVariables.end());
  const auto text = entry.read("environ", kMaxEnvironment);
  if (!text) {
    add_missing(facts, "environment", text.error());
    return {};
  }
  facts.environment_read = true;
  Environment environment = parse_environ(*text, wanted);
  const auto take = [&](const char* name) {
    const auto found = environment.find(name);
    return found == environment.end() ? std::string() : found->second;
  };
  facts.ondemand_trace_dir = take("KINETO_ONDEMAND_TRACE_DIR");
  facts.kineto_config = take("KINETO_CONFIG");
  facts.ipc_socket_dir = take("KINETO_IPC_SOCKET_DIR");
  facts.uses_daemon = environment.contains("KINETO_USE_DAEMON");
  facts.kineto_init_delay = take("KINETO_DAEMON_INIT_DELAY_S");
  facts.cuda_visible_devices = take("CUDA_VISIBLE_DEVICES");
  return environment;
}

std::vector<std::string> read_command_line(const ProcEntry& entry, ProcessFacts& facts) {
  const auto text = entry.read("cmdline", kMaxCommandLine);
  if (!text) {
    add_missing(facts, "command line", text.error());
    return {};
  }
  std::vector<std::string> words = words_of(*text);
  facts.command = clean_text(fmt::format("{}", fmt::join(words, " ")), kMaxCommand);
  return words;
}

// A sandbox or a hardened kernel may hide pid 1's namespaces even from root. The kernel's first
// ones have fixed numbers (linux/proc_ns.h); for the mounts' the daemon's own then stands in.
Result<std::string> namespace_of_host(const SystemRoot& root, const ProcEntry& init,
                                      std::string_view name) {
  auto of_init = init.read_link(fmt::format("ns/{}", name).c_str());
  if (of_init || of_init.error().kind != ErrorKind::denied) return of_init;
  if (name == "user") return "user:[4026531837]";
  if (name == "pid") return "pid:[4026531836]";
  const auto own = ProcEntry::open(root, Pid{::getpid()});
  if (!own) return std::unexpected(own.error());
  return own->read_link("ns/mnt");
}

bool in_namespaces_of_init(const SystemRoot& root, const ProcEntry& entry) {
  const auto init = ProcEntry::open(root, Pid{1});
  if (!init) return false;
  return std::ranges::all_of(std::array{"user", "pid", "mnt"}, [&](const char* name) {
    const auto theirs = entry.read_link(fmt::format("ns/{}", name).c_str());
    const auto of_host = namespace_of_host(root, *init, name);
    return theirs && of_host && *theirs == *of_host;
  });
}

}  // namespace

bool is_gpu_device(std::string_view target) {
  return nvidia_device(target) || is_other_gpu(target);
}

Result<ProcessFacts> read_process_facts(const SystemRoot& root, const ProcessKey& key,
                                        const std::function<void(const ProcessFacts&)>& early) {
  const auto entry = ProcEntry::open(root, key.pid);
  if (!entry) return std::unexpected(entry.error());
  const auto stat = entry->stat();
  if (!stat) return std::unexpected(stat.error());
  if (stat->start_ticks != key.start_ticks) {
    return fail(ErrorKind::not_found,
                fmt::format("process {} has ended, and its pid is another's", key.pid.value));
  }
  const auto status = entry->status();
  if (!status) return std::unexpected(status.error());
  const auto cgroup = read_cgroup(*entry);
  if (!cgroup) return std::unexpected(cgroup.error());

  ProcessFacts facts;
  facts.key = key;
  take_identity(*status, *cgroup, facts);
  facts.thread_name = clean_text(status->name, kMaxThreadName);
  read_ancestors(root, *stat, facts);
  facts.job = job_facts(*cgroup, {}, {});
  early(facts);

  const std::string process_root = entry->read_link("root").value_or("/");
  if (auto directory = entry->read_link("cwd")) {
    facts.working_directory =
        clean_text(inside_root(std::move(*directory), process_root), kMaxPath);
  } else {
    add_missing(facts, "working directory", directory.error());
  }
  read_descriptors(*entry, facts);
  const std::vector<std::string> words = read_command_line(*entry, facts);
  const Environment environment = read_environment(*entry, facts);
  read_library(*entry, process_root, facts);
  facts.job = job_facts(*cgroup, environment, words);
  facts.complete = facts.missing.empty();
  return facts;
}

Result<SocketHolder> read_holder_facts(const SystemRoot& root, const ProcEntry& entry, Pid pid) {
  const auto stat = entry.stat();
  if (!stat) return std::unexpected(stat.error());
  const auto status = entry.status();
  if (!status) return std::unexpected(status.error());
  const auto cgroup = read_cgroup(entry);
  if (!cgroup) return std::unexpected(cgroup.error());
  SocketHolder holder;
  holder.key = {pid, stat->start_ticks};
  holder.uid.value = status->uids[1];
  holder.container = clean_text(container_of(*cgroup), kMaxContainer);
  holder.host_namespaces = in_namespaces_of_init(root, entry);
  return holder;
}

Result<SocketHolder> read_holder_facts(const SystemRoot& root, Pid pid) {
  const auto entry = ProcEntry::open(root, pid);
  if (!entry) return std::unexpected(entry.error());
  return read_holder_facts(root, *entry, pid);
}

}  // namespace dynolog
