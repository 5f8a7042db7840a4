// Directories and small writes of cgroup version 2.
#include "daemon/worker_cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/text.h"
#include "base/unique_fd.h"
#include "kernel/proc_pid.h"

namespace dynolog {
namespace {

constexpr std::size_t kMaxFile = 64U << 10U;
constexpr std::string_view kDaemon = "/daemon";
constexpr std::string_view kWorkers = "/workers";

bool exists(const std::string& path) {
  struct stat status{};
  return ::stat(path.c_str(), &status) == 0;
}

// Of version 2, as this process sees it; nullopt: none.
std::optional<std::string> own_directory(const SystemRoot& root) {
  const auto text = read_file(root.proc + "/self/cgroup", kMaxFile);
  if (!text) return std::nullopt;
  const auto lines = parse_proc_pid_cgroup(*text);
  const auto line = std::ranges::find_if(lines, [](const CgroupLine& candidate) {
    return candidate.hierarchy == 0 && candidate.controllers.empty();
  });
  // One outside of this process's cgroup namespace begins with "/..".
  if (line == lines.end() || line->path.contains("/..")) return std::nullopt;
  for (const char* mount : {"/fs/cgroup", "/fs/cgroup/unified"}) {
    const std::string top = root.sys + mount;
    if (!exists(top + "/cgroup.controllers")) continue;
    return line->path == "/" ? top : top + line->path;
  }
  return std::nullopt;
}

// In one piece, which is how the kernel takes it. Never makes a file.
Status write_value(const std::string& path, std::string_view value) {
  const UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!fd.valid()) return fail_errno(errno, "opening " + path);
  if (::write(fd.get(), value.data(), value.size()) != static_cast<ssize_t>(value.size())) {
    return fail_errno(errno, "writing " + std::string(value) + " to " + path);
  }
  return {};
}

Status make_directory(const std::string& path) {
  if (::mkdir(path.c_str(), 0755) == 0 || errno == EEXIST) return {};
  return fail_errno(errno, "making " + path);
}

bool is_alone(const std::string& directory, Pid pid) {
  const auto text = read_file(directory + "/cgroup.procs", kMaxFile);
  return text && trim(*text) == std::to_string(pid.value);
}

// "": done; else why not.
std::string enable(const std::string& directory, std::string_view controller) {
  const auto text = read_file(directory + "/cgroup.controllers", kMaxFile);
  const auto names = split(text ? trim(*text) : std::string_view(), ' ');
  if (std::ranges::find(names, controller) == names.end()) {
    return "the controller '" + std::string(controller) + "' is not delegated";
  }
  const auto written =
      write_value(directory + "/cgroup.subtree_control", "+" + std::string(controller));
  return written ? "" : written.error().message;
}

Status move_in(const std::string& group, Pid pid) {
  return write_value(group + "/cgroup.procs", std::to_string(pid.value));
}

}  // namespace

bool is_delegated_cgroup(const std::string& directory) {
  // The second is for root only, and of older ones.
  return std::ranges::any_of(
      std::array{"user.delegate", "trusted.delegate"}, [&directory](const char* name) {
        char value[2] = {};
        return ::getxattr(directory.c_str(), name, value, sizeof value) == 1 && value[0] == '1';
      });
}

Result<WorkerCgroup> WorkerCgroup::make(const CgroupWorld& world) {
  const auto own = own_directory(world.root);
  if (!own) return fail(ErrorKind::unavailable, "the daemon is in none of version 2");
  if (!world.is_delegated(*own)) {
    return fail(ErrorKind::unavailable, *own + " is not delegated to it");
  }
  if (!is_alone(*own, world.pid)) {
    return fail(ErrorKind::unavailable, "the daemon is not alone in " + *own);
  }
  const std::string daemon = *own + std::string(kDaemon);
  const std::string workers = *own + std::string(kWorkers);
  if (auto made = make_directory(workers); !made) return std::unexpected(std::move(made.error()));
  if (auto made = make_directory(daemon); !made) return std::unexpected(std::move(made.error()));
  if (auto moved = move_in(daemon, world.pid); !moved) {
    ::rmdir(daemon.c_str());
    ::rmdir(workers.c_str());
    return std::unexpected(std::move(moved.error()));
  }
  // Only now: a group with controllers for those below has no processes of its own.
  static_cast<void>(enable(*own, "pids"));
  std::string no_memory = enable(*own, "memory");
  if (no_memory.empty()) {
    // The one that is too large ends, not all of them: each works for somebody else.
    static_cast<void>(write_value(workers + "/memory.oom.group", "0"));
  }
  return WorkerCgroup(workers, std::move(no_memory));
}

Status WorkerCgroup::limit_memory(std::int64_t megabytes) const {
  if (!no_memory_.empty()) {
    if (megabytes == 0) return {};
    return fail(ErrorKind::unavailable,
                "the workers' memory has no limit of its own: " + no_memory_);
  }
  constexpr std::int64_t kMegabyte = 1 << 20;
  return write_value(workers_ + "/memory.max",
                     megabytes == 0 ? "max" : std::to_string(megabytes * kMegabyte));
}

Status join_worker_cgroup(const CgroupWorld& world) {
  auto own = own_directory(world.root);
  if (!own || !own->ends_with(kDaemon)) return {};
  own->resize(own->size() - kDaemon.size());
  if (!world.is_delegated(*own) || !exists(*own + std::string(kWorkers))) return {};
  return move_in(*own + std::string(kWorkers), world.pid);
}

}  // namespace dynolog
