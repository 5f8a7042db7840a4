// The PyTorch processes that have spoken to the daemon. On the loop's thread only; no I/O.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "processes/process_facts.h"

namespace dynolog {

// As the client's own words have it: idle when bit 2 of its poll's type is set.
enum class ProcessState { idle, busy, stalled };
[[nodiscard]] std::string_view to_string(ProcessState state);

struct ProcessEntry {
  ProcessKey key;
  Uid uid;
  std::string endpoint;  // "abstract" or the socket directory
  std::int64_t claimed_job = 0;
  std::vector<std::int32_t> claimed_pids;  // own and ancestors, as the process itself counts
  MonotonicTime first_seen;
  MonotonicTime last_poll;
  WallTime last_poll_wall;
  std::optional<Nanoseconds> poll_period;  // from the last polls; nullopt before the second
  int long_gaps = 0;                       // gaps in a row that were longer than the period
  std::uint64_t polls = 0;
  bool last_idle = true;
  std::optional<ProcessFacts> facts;
  std::optional<TorchFacts> torch;
};

// One poll, as the ipc thread saw it.
struct PollSeen {
  ProcessKey key;
  Uid uid;
  std::string endpoint;
  bool idle = true;
  std::int64_t claimed_job = 0;
  std::vector<std::int32_t> claimed_pids;
  MonotonicTime time;
  WallTime wall;
};

inline constexpr std::size_t kMaxProcesses = 16384;

class ProcessTable {
 public:
  // What one poll meant: `first` asks the owner to have facts read (also when the process's uid has
  // changed); `reused` says that an entry of an older process with this pid was dropped.
  struct PollResult {
    bool known = true;  // false: the table is full
    bool first = false;
    bool reused = false;
  };
  PollResult on_poll(const PollSeen& poll);
  void set_facts(const ProcessKey& key, ProcessFacts facts);
  void set_torch(const ProcessKey& key, TorchFacts torch);
  // The pidfd said so. False when not in the table.
  bool remove(const ProcessKey& key);

  [[nodiscard]] const ProcessEntry* find(Pid pid) const;
  [[nodiscard]] std::vector<const ProcessEntry*> all() const;  // by pid
  [[nodiscard]] std::size_t size() const { return by_pid_.size(); }

 private:
  std::map<Pid, ProcessEntry> by_pid_;
};

// Whose process it is; nullopt before that is known, or when its uid has changed since it was read.
[[nodiscard]] std::optional<Tenant> tenant_of(const ProcessEntry& entry);

// A process whose tenant is not known is only root's to see.
[[nodiscard]] bool may_reach(const Caller& caller, const ProcessEntry& entry);

// Stalled after 2 periods (and at least 2 s) without a poll, counted from a period of 5 s while it
// is not known.
[[nodiscard]] ProcessState state_of(const ProcessEntry& entry, MonotonicTime now);

// "torch 2.7-2.9 without a base configuration may die at its next start": the sentence, or nullopt.
[[nodiscard]] std::optional<std::string> at_risk(const ProcessEntry& entry);

}  // namespace dynolog
