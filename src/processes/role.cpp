// Roles, from who started whom, what each was told about its rank, and what it calls itself.
#include "processes/role.h"

#include <fmt/format.h>

#include <optional>
#include <tuple>
#include <utility>

#include "processes/family.h"

namespace dynolog {
namespace {

constexpr std::string_view kTorchrun = "pt_elastic";  // what its main thread calls itself
constexpr std::string_view kCompiler = "torch/_inductor/compile_worker";

// Children have their parent's environment, so only what differs from it is a rank of their own.
bool has_rank_of_its_own(const JobFacts& job, const JobFacts& starters) {
  const auto numbers = [](const JobFacts& facts) {
    return std::tuple(facts.rank, facts.local_rank, facts.world_size);
  };
  return (job.rank || job.launched) && numbers(job) != numbers(starters);
}

std::string name_of(const ProcessEntry& entry, const Family& family) {
  const std::optional<int> rank = family.job(entry).rank;
  if (!rank) return fmt::format("process {}", entry.key.pid.value);
  return fmt::format("process {} (rank {})", entry.key.pid.value, *rank);
}

// Of a process that a worker started, and that has no rank of its own.
Part part_of_child(const ProcessEntry& entry, const ProcessEntry& starter, const Family& family) {
  const std::string parent = name_of(starter, family);
  if (entry.facts->command.find(kCompiler) != std::string::npos) {
    return {Role::helper, "compiles kernels for " + parent};
  }
  const std::optional<bool> own = holds_gpu(entry);
  const std::optional<bool> starters = holds_gpu(starter);
  if (own == true && starters == false) return {};
  const JobFacts& job = family.job(starter);
  const bool is_one_rank = job.launched || job.rank_source == RankSource::title;
  const bool lacks_gpu = own == false && starters == true;
  // Else it may be a rank of torch.multiprocessing.spawn(), whose number is told to nobody.
  if (!is_one_rank && !lacks_gpu) return {};
  if (is_multiprocessing(*entry.facts)) {
    return {Role::data_loader, "data loader or the like of " + parent};
  }
  if (own == true) return {};
  if (is_one_rank) return {Role::helper, "child of " + parent + ", without a rank of its own"};
  return {Role::helper, "child of " + parent + ", which holds a GPU while it does not"};
}

Part part_of(const ProcessEntry& entry, const Family& family, const Parts& older) {
  if (!entry.facts) return {};
  const ProcessFacts& facts = *entry.facts;
  if (facts.job.launcher || (facts.thread_name == kTorchrun && !facts.job.launched)) {
    return {Role::launcher, "launcher of the job: it registers, but trains nothing"};
  }
  const ProcessEntry* starter = family.starter(entry);
  if (is_named_data_loader(facts)) {
    if (starter == nullptr) return {Role::data_loader, "data loader"};
    return {Role::data_loader, "data loader of " + name_of(*starter, family)};
  }
  if (family.starts_ranks(entry) && holds_gpu(entry) == false) {
    return {Role::launcher, "starts the ranks of the job, and is none itself"};
  }
  if (starter == nullptr) return {};
  const Role above = older.at(starter->key.pid).role;
  if (above == Role::launcher) return {};
  if (above != Role::worker) {
    return {Role::helper, "child of " + name_of(*starter, family) + ", which does not train"};
  }
  const bool lacks_gpu = holds_gpu(entry) == false && holds_gpu(*starter) == true;
  const bool only_feeds = lacks_gpu && is_multiprocessing(facts);
  if (!only_feeds && has_rank_of_its_own(facts.job, family.job(*starter))) return {};
  return part_of_child(entry, *starter, family);
}

}  // namespace

std::string_view to_string(Role role) {
  switch (role) {
    case Role::worker:
      return "worker";
    case Role::launcher:
      return "launcher";
    case Role::data_loader:
      return "data_loader";
    case Role::helper:
      return "helper";
  }
  std::unreachable();
}

Parts parts_of(const Family& family) {
  Parts parts;
  for (const ProcessEntry* entry : family.oldest_first()) {
    parts[entry->key.pid] = part_of(*entry, family, parts);
  }
  return parts;
}

Parts parts_of(const std::vector<const ProcessEntry*>& entries) {
  return parts_of(Family(entries));
}

}  // namespace dynolog
