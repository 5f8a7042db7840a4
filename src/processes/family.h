// Which registered process started which, and the jobs that follow from it. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/ids.h"
#include "processes/process_table.h"

namespace dynolog {

// Looks at entries while it lives; they must outlive it. Only processes of one tenant have to do
// with each other here.
class Family {
 public:
  explicit Family(const std::vector<const ProcessEntry*>& entries);

  // Oldest first: whoever started a process comes before it.
  [[nodiscard]] const std::vector<const ProcessEntry*>& oldest_first() const { return entries_; }

  // The nearest registered process that started this one, shells and the like between them or not;
  // nullptr when there is none.
  [[nodiscard]] const ProcessEntry* starter(const ProcessEntry& entry) const;

  // The facts on its job; of nothing where none are known. A process without a job that starts
  // ranks 1 and up of this host is rank 0 itself: Lightning starts its first process so.
  [[nodiscard]] const JobFacts& job(const ProcessEntry& entry) const;

  // It, or what it started, started the first rank of this host, and no launcher gave it a rank.
  [[nodiscard]] bool starts_ranks(const ProcessEntry& entry) const;

  // Processes of one job, or that one of them started, directly or not, have the same number.
  [[nodiscard]] std::size_t group(const ProcessEntry& entry) const;

 private:
  void find_starters();
  void find_first_ranks();
  void join_groups();

  std::vector<const ProcessEntry*> entries_;
  std::unordered_map<const ProcessEntry*, const ProcessEntry*> starters_;
  std::unordered_map<const ProcessEntry*, JobFacts> inferred_;
  std::unordered_set<const ProcessEntry*> rank_starters_;
  std::unordered_map<const ProcessEntry*, std::size_t> groups_;
};

// Called so by torch.utils.data itself.
[[nodiscard]] bool is_named_data_loader(const ProcessFacts& facts);

// What Python's multiprocessing, or loky, started: a rank of torch.multiprocessing.spawn() as well
// as a data loader. Its command line does not tell whose script it runs.
[[nodiscard]] bool is_multiprocessing(const ProcessFacts& facts);

// nullopt when its descriptors could not be read.
[[nodiscard]] std::optional<bool> holds_gpu(const ProcessEntry& entry);

}  // namespace dynolog
