// Registered processes of a made-up host, with the facts that the real ones would have.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "processes/job_facts.h"
#include "processes/process_table.h"

namespace dynolog {

class ProcessEntries {
 public:
  static constexpr MonotonicTime kNow{std::chrono::seconds(100)};
  static constexpr Uid kUser{1000};

  // A process that polls; the job follows from environment and command (words by blanks). Its
  // parents have been added before.
  ProcessFacts& add(int pid, int parent, const std::string& command,
                    const Environment& environment = {}) {
    add_silent(pid, parent);
    ProcessEntry& entry = entries_.emplace_back();
    entry.key = {Pid{pid}, static_cast<std::uint64_t>(pid) * 10};
    entry.uid = kUser;
    entry.last_poll = kNow - std::chrono::seconds(1);
    ProcessFacts facts;
    facts.key = entry.key;
    facts.uid = kUser;
    facts.namespace_pid = pid;
    facts.parent = Pid{parent};
    for (int above = parent_of(parent); above > 1; above = parent_of(above)) {
      facts.ancestors.push_back(Pid{above});
    }
    facts.thread_name = "python";
    facts.command = command;
    std::vector<std::string> words;
    for (const std::string_view word : split(command, ' ')) words.emplace_back(word);
    facts.job = job_facts({}, environment, words);
    facts.descriptors_read = facts.environment_read = facts.mapped_files_read = true;
    facts.complete = true;
    entry.facts = std::move(facts);
    return *entry.facts;
  }

  // One that does not: a shell, or what only starts others.
  void add_silent(int pid, int parent) { parents_[pid] = parent; }

  ProcessEntry& entry(int pid) {
    for (ProcessEntry& entry : entries_) {
      if (entry.key.pid.value == pid) return entry;
    }
    std::abort();
  }

  [[nodiscard]] std::vector<const ProcessEntry*> all() const {
    std::vector<const ProcessEntry*> entries;
    for (const ProcessEntry& entry : entries_) entries.push_back(&entry);
    return entries;
  }

  void clear() {
    entries_.clear();
    parents_.clear();
  }

 private:
  [[nodiscard]] int parent_of(int pid) const {
    const auto found = parents_.find(pid);
    return found == parents_.end() ? 0 : found->second;
  }

  std::deque<ProcessEntry> entries_;
  std::map<int, int> parents_;
};

// What torchrun tells the processes that it starts.
inline Environment torchrun_environment(int rank, int world_size, int local_rank,
                                        int local_world_size) {
  return {{"RANK", std::to_string(rank)},
          {"WORLD_SIZE", std::to_string(world_size)},
          {"LOCAL_RANK", std::to_string(local_rank)},
          {"LOCAL_WORLD_SIZE", std::to_string(local_world_size)},
          {"MASTER_ADDR", "n1"},
          {"MASTER_PORT", "29500"},
          {"TORCHELASTIC_RUN_ID", "none"}};
}

// The command line of everything that Python's multiprocessing starts anew.
inline constexpr auto kSpawned =
    "python -c from multiprocessing.spawn import spawn_main; spawn_main(tracker_fd=6, "
    "pipe_handle=11) --multiprocessing-fork";

}  // namespace dynolog
