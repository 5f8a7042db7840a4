// The workers in a control group of their own, below the one that the service manager delegated to
// the daemon: a worker that runs out of memory then takes nothing with it. docs/operations.md.
//
//     dynolog.service           delegated: no process is left in it
//       daemon                  the daemon
//       workers                 its workers; memory.max
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/error.h"
#include "base/ids.h"
#include "base/system_root.h"

namespace dynolog {

// Whether the service manager has given this group away: systemd 251 and later say so in an
// extended attribute. That root may write to it is no such sign.
[[nodiscard]] bool is_delegated_cgroup(const std::string& directory);

struct CgroupWorld {
  SystemRoot root;
  Pid pid;  // of this process
  std::function<bool(const std::string& directory)> is_delegated;
};

// Makes the two groups and moves this process, the daemon, into the first. Version 2 only. An error
// of kind unavailable: this process is not alone in a group that was delegated, and nothing was
// touched. Any other: it was, and this could not be done.
class WorkerCgroup {
 public:
  [[nodiscard]] static Result<WorkerCgroup> make(const CgroupWorld& world);

  // 0: none. An error of kind unavailable: memory is not the daemon's to limit.
  [[nodiscard]] Status limit_memory(std::int64_t megabytes) const;

 private:
  WorkerCgroup(std::string workers, std::string no_memory)
      : workers_(std::move(workers)), no_memory_(std::move(no_memory)) {}

  std::string workers_;
  std::string no_memory_;  // why memory cannot be limited; "": it can
};

// In a worker, before it does anything: it joins the workers' group where its daemon made one. (It
// does so itself since moving takes the kernel milliseconds, in which the daemon would not answer.)
[[nodiscard]] Status join_worker_cgroup(const CgroupWorld& world);

}  // namespace dynolog
