// Reads /proc/<pid>/stat and status.
#include "daemon/process_owner.h"

#include <fmt/format.h>

#include "base/file.h"
#include "kernel/proc_pid.h"

namespace dynolog {

std::optional<Uid> owner_now(const SystemRoot& root, const ProcessKey& key) {
  constexpr std::size_t kMax = 64U << 10U;
  const std::string directory = fmt::format("{}/{}", root.proc, key.pid.value);
  const auto stat_text = read_file(directory + "/stat", kMax);
  const auto status_text = read_file(directory + "/status", kMax);
  if (!stat_text || !status_text) return std::nullopt;
  const auto stat = parse_proc_pid_stat(*stat_text);
  const auto status = parse_proc_pid_status(*status_text);
  if (!stat || !status || stat->start_ticks != key.start_ticks) return std::nullopt;
  return Uid{status->uids[1]};
}

}  // namespace dynolog
