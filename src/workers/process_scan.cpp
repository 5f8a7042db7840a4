// One pass over descriptors and mapped files decides whether a process is of interest; only then
// everything is read about it.
#include "workers/process_scan.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/number.h"
#include "base/text.h"
#include "kernel/proc_pid.h"
#include "workers/proc_entry.h"
#include "workers/process_reader.h"
#include "workers/process_signs_reader.h"

namespace dynolog {
namespace {

constexpr std::size_t kMaxDescriptors = 65536;

// The kernel keeps 15 bytes of a name. "rocprof", "rocprofv2" and "rocprofv3" begin alike.
std::optional<std::string> tool_named(std::string_view name) {
  constexpr std::array<std::string_view, 6> kTools = {
      "nsys", "nsys-launcher", "ncu", "nv-nsight-cu-cl", "nv-hostengine", "dcgm-exporter"};
  if (std::ranges::find(kTools, name) != kTools.end() || name.starts_with("rocprof")) {
    return clean_text(name, 64);
  }
  return std::nullopt;
}

Result<std::vector<Pid>> pids_to_look_at(const SystemRoot& root, const ProcsRequest& request) {
  std::vector<Pid> pids = request.pids;
  if (pids.empty()) {
    const std::unique_ptr<DIR, int (*)(DIR*)> listing(::opendir(root.proc.c_str()), ::closedir);
    if (!listing) return fail_errno(errno, root.proc);
    while (const dirent* listed = ::readdir(listing.get())) {
      if (const auto number = parse_number<std::int32_t>(listed->d_name)) {
        pids.push_back(Pid{*number});
      }
    }
  }
  const Pid below = request.key.pid;
  if (below.value > 0) std::erase_if(pids, [below](Pid pid) { return pid >= below; });
  std::ranges::sort(pids, std::ranges::greater());
  const auto repeated = std::ranges::unique(pids);
  pids.erase(repeated.begin(), repeated.end());
  return pids;
}

class Scan {
 public:
  Scan(const SystemRoot& root, const ProcsRequest& request, const std::function<void(Pid)>& looking)
      : root_(root), request_(request), looking_(looking) {}

  void look_at(Pid pid) {
    const auto entry = ProcEntry::open(root_, pid);
    if (!entry) return;
    const auto status = entry->status();
    if (!status) return;
    const Uid uid{status->uids[1]};
    note_tool(*status, pid, uid);
    if (!request_.of_everybody && uid != request_.uid) return;
    const bool named = !request_.pids.empty();
    // The kernel's own threads have no program, and nothing that could be of interest. Whether one
    // is such that may not be read is told by its command.
    const auto program = entry->read_link("exe");
    if (!named && !program && (program.error().kind != ErrorKind::denied || !has_command(*entry))) {
      return;
    }
    ++reply_.looked_at;
    looking_(pid);
    const MappedFiles mapped = read_mapped_files(*entry);
    if (!named && mapped.refused && has_command(*entry)) ++reply_.refused;
    if (!named && mapped.torch_address.empty() && !holds_gpu(*entry)) return;
    add(*entry, pid, mapped);
  }

  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  [[nodiscard]] bool full() const { return reply_.processes.size() >= kMaxScannedInReply; }
  [[nodiscard]] ScanReply& reply() { return reply_; }

 private:
  void note_tool(const ProcPidStatus& status, Pid pid, Uid uid) {
    auto name = tool_named(status.name);
    if (!name || reply_.tools.size() >= kMaxToolsInReply) return;
    reply_.tools.push_back({pid, uid, std::move(*name)});
  }

  static bool has_command(const ProcEntry& entry) {
    const auto command = entry.read("cmdline", 1);
    return command && !command->empty();
  }

  static bool holds_gpu(const ProcEntry& entry) {
    bool holds = false;
    // Of one that has more descriptors than are looked at, those decide.
    static_cast<void>(entry.each_link("fd", kMaxDescriptors, [&](std::string_view target) {
      holds = is_gpu_device(target);
      return !holds;
    }));
    return holds;
  }

  void add(const ProcEntry& entry, Pid pid, const MappedFiles& mapped) {
    const auto stat = entry.stat();
    if (!stat) return;
    auto facts = read_process_facts(root_, {pid, stat->start_ticks}, [](const ProcessFacts&) {});
    if (!facts) return;
    ScannedProcess process{std::move(*facts), read_process_signs(root_, entry, mapped)};
    process.signs.state = stat->state;
    bytes_ += encoded_size(process);
    reply_.processes.push_back(std::move(process));
  }

  const SystemRoot& root_;
  const ProcsRequest& request_;
  const std::function<void(Pid)>& looking_;
  ScanReply reply_;
  std::size_t bytes_ = 0;
};

HostLook::Space room_at(const std::string& path) {
  HostLook::Space space;
  space.path = path;
  struct statvfs status{};
  struct stat directory{};
  if (::statvfs(path.c_str(), &status) != 0 || ::stat(path.c_str(), &directory) != 0) {
    space.problem = fail_errno(errno, path).error().message;
    return space;
  }
  space.free_bytes = static_cast<std::uint64_t>(status.f_bavail) * status.f_frsize;
  space.id = fmt::format("{}:{}", directory.st_dev, directory.st_ino);
  return space;
}

}  // namespace

Result<ScanReply> scan_processes(const SystemRoot& root, const Clock& clock,
                                 const ProcsRequest& request, ScanBudget budget,
                                 const std::function<void(Pid)>& looking) {
  const auto pids = pids_to_look_at(root, request);
  if (!pids) return std::unexpected(pids.error());
  const MonotonicTime until = clock.monotonic() + budget.time;
  Scan scan(root, request, looking);
  for (const Pid pid : *pids) {
    scan.look_at(pid);
    if (pid == pids->back()) break;
    if (clock.monotonic() >= until || scan.bytes() >= budget.bytes || scan.full()) {
      scan.reply().next = pid;
      break;
    }
  }
  return std::move(scan.reply());
}

HostLook look_at_host(const SystemRoot& root, const ProcsRequest& request) {
  HostLook look;
  for (const std::string& path : request.paths) look.spaces.push_back(room_at(path));
  const std::string version = root.proc + "/driver/nvidia/version";
  look.nvidia_driver = ::access(version.c_str(), F_OK) == 0;
  if (look.nvidia_driver) {
    // The control device: unlike a GPU's own, opening it sets no GPU up.
    const std::string device = root.dev + "/nvidiactl";
    const UniqueFd fd(::open(device.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY));
    if (!fd.valid()) look.nvidia_problem = fail_errno(errno, device).error().message;
  }
  return look;
}

}  // namespace dynolog
