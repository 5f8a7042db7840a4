// Looks through the host once, for a diagnosis: in a procs worker of its own, so that nothing that
// hangs there keeps others waiting. A process that hangs costs itself only.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "base/log.h"
#include "net/event_loop.h"
#include "processes/process_signs.h"
#include "workers/scan_frames.h"

namespace dynolog {

inline constexpr std::size_t kMaxLookedAt = 4096;
inline constexpr std::size_t kMaxScanned = 512;

struct ScanOptions {
  std::optional<Uid> only_of = std::nullopt;   // nullopt: everybody's processes
  std::vector<Pid> named = {};                 // reported whatever they are; at most kMaxNamedPids
  std::vector<std::string> paths = {};         // whose room is measured; at most kMaxLookedAtPaths
  Nanoseconds time = std::chrono::seconds(3);  // for the whole, however much hangs
};

struct ScanOutcome {
  std::vector<ScannedProcess> processes;  // by pid
  std::vector<ProfilingTool> tools;       // by pid, whoever's they are
  std::size_t refused = 0;                // may not be read, and were not named
  std::vector<Pid> hung;                  // reading of them did not come to its end
  std::optional<HostLook> host;           // nullopt: could not be had
  std::string host_problem;               // then: why
  std::string incomplete;                 // not "": not all processes were looked at, and why
};

// On the loop's thread only.
class HostScan {
 public:
  // `done` is called once, not inside this call and not after the scan's end; it may destroy the
  // scan.
  [[nodiscard]] static std::unique_ptr<HostScan> start(EventLoop& loop, const Clock& clock,
                                                       Log& log, std::string executable,
                                                       ScanOptions options,
                                                       std::function<void(ScanOutcome)> done);
  virtual ~HostScan() = default;
};

}  // namespace dynolog
