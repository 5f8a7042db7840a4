// `--worker=mounts`: looks at what may keep its reader waiting: the room on each mount and
// directories of text files, whose server may not answer, and systemd's units.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/name_pattern.h"
#include "base/system_root.h"
#include "kernel/mounts.h"
#include "metrics/text_file.h"
#include "metrics/unit_state.h"
#include "net/event_loop.h"
#include "workers/bounded_work.h"

namespace dynolog {

// The child's main: serves requests from the channel until it is closed. Returns the exit status.
// `read_room` is read_mount_room(), or a test's.
using ReadMountRoom = std::function<Result<MountRoom>(const std::string& mount_point)>;
int run_mounts_worker(int channel, const SystemRoot& root, const ReadMountRoom& read_room,
                      BoundedWork::Limits limits);

// The daemon's side. On the loop's thread only; no callback runs inside a call nor after the
// object's end. What hangs, hangs in a thread of the worker: the worker itself answers in time, and
// is only replaced, with back-off, when it does not or ends. It starts with the first request.
class MountsWorker {
 public:
  [[nodiscard]] static std::unique_ptr<MountsWorker> make(EventLoop& loop, const Clock& clock,
                                                          Log& log, std::string executable);
  virtual ~MountsWorker() = default;

  // All mounts of the host that both filters accept, hung ones among them. Takes 10 s at most.
  // Asked again before the answer, that answer is for both; so with the others.
  virtual void file_systems(const NameFilterOptions& mount_points, const NameFilterOptions& types,
                            std::function<void(Result<std::vector<MountUsage>>)> done) = 0;
  // The files "*.prom" of a directory, by name.
  virtual void text_files(const std::string& directory,
                          std::function<void(Result<std::vector<TextFile>>)> done) = 0;
  // Units of systemd, by name; at most kMaxUnits.
  virtual void units(const std::vector<std::string>& names,
                     std::function<void(Result<std::vector<UnitState>>)> done) = 0;
  // For metrics: how often it had to be replaced.
  [[nodiscard]] virtual std::uint64_t restarts() const = 0;
};

}  // namespace dynolog
