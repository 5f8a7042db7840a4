// One session as the daemon remembers it over a restart: its state machines (profiling/session.h),
// and what it knows of the processes and was told about their files. Text and back.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/ids.h"
#include "processes/process_table.h"
#include "profiling/session.h"

namespace dynolog {

// What is known of a traced process and of its file beside the trace's state: by the time that the
// file is delivered, the process may be gone.
struct TracedProcess {
  std::int32_t namespace_pid = 0;
  std::optional<int> rank;
  std::optional<int> local_rank;
  std::optional<int> world_size;
  std::string scheduler;
  std::string job;
  std::string step;
  std::string command;
  std::string container;
  std::string torch_version;
  bool holds_gpu = false;
  std::vector<int> gpus;
  // Sentences on the file that the trace's delivery does not hold.
  std::vector<std::string> notes;
  bool operator==(const TracedProcess&) const = default;
};
[[nodiscard]] TracedProcess traced_process(const ProcessEntry& entry);
// As far as they are kept: for the record beside the trace.
[[nodiscard]] ProcessFacts facts_of(const TracedProcess& process, const ProcessKey& key, Uid uid);

struct SessionFacts {
  bool attended = true;  // somebody waits for what is to be brought
  bool gzip = false;     // of what is delivered on the host
  std::map<Pid, TracedProcess> processes;
  bool operator==(const SessionFacts&) const = default;
};

struct SessionRecord {
  Session session;
  SessionFacts facts;
};

[[nodiscard]] std::string record_text(const Session& session, const SessionFacts& facts,
                                      MonotonicTime now, WallTime wall);
// Strict: errors (invalid) for what is not whole, not ours, or of another version.
[[nodiscard]] Result<SessionRecord> parse_record(std::string_view text, MonotonicTime now,
                                                 WallTime wall);

}  // namespace dynolog
