// Two rounds: every directory is looked at once; then those whose files would collide again.
#include "daemon/trace_planner.h"

#include <fmt/format.h>

#include <chrono>
#include <set>
#include <utility>

#include "base/random.h"

namespace dynolog {
namespace {

// `dyno` waits 5 s for an answer by default.
constexpr Nanoseconds kPatience = Milliseconds(3500);
constexpr std::uint64_t kLittleRoom = 64ULL << 20U;

std::string new_trace_id() {
  // Positive in a signed 64-bit integer, as clients that parse it as one expect.
  return std::to_string(random_u64() >> 1U);
}

std::string file_name(std::string_view path) {
  return std::string(path.substr(path.rfind('/') + 1));
}

class TwoRoundPlanner final : public TracePlanner {
 public:
  TwoRoundPlanner(World world, std::vector<ProcessEntry> entries, Build build,
                  std::function<void(Plan)> done)
      : world_(std::move(world)),
        entries_(std::move(entries)),
        build_(std::move(build)),
        done_(std::move(done)) {}

  void begin() {
    plan_.items.resize(entries_.size());
    directories_.resize(entries_.size());
    for (std::size_t i = 0; i < entries_.size(); ++i) begin_item(i);
    start_workers();
    patience_ = world_.loop.after(kPatience, [this] { give_up(); });
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      if (plan_.items[i].problem.empty()) prepare(i);
    }
    begun_ = true;
    finish_if_ready();
  }

 private:
  void begin_item(std::size_t i) {
    PlanItem& item = plan_.items[i];
    const ProcessEntry& entry = entries_[i];
    item.key = entry.key;
    if (!entry.facts) {
      item.tenant = {entry.uid, ""};
      item.problem = "nothing could be read about this process";
      return;
    }
    item.tenant = {entry.uid, entry.facts->container};
    build_request(i, "");
  }

  void build_request(std::size_t i, std::string_view suffix) {
    PlanItem& item = plan_.items[i];
    const ProcessEntry& entry = entries_[i];
    const TorchFacts torch = entry.torch.value_or(TorchFacts{});
    auto request = build_(*entry.facts, torch, new_trace_id(), suffix);
    if (!request) {
      item.problem = request.error().message;
      item.problem_kind = request.error().kind;
      return;
    }
    item.request = std::move(*request);
    item.notes = item.request.notes;
  }

  void start_workers() {
    std::map<Tenant, std::vector<FilesIdentity>> identities;
    for (const PlanItem& item : plan_.items) {
      if (item.problem.empty()) identities[item.tenant].push_back({item.key, item.tenant.uid});
    }
    for (auto& [tenant, list] : identities) {
      auto worker = FilesWorker::start(
          world_.loop, world_.log, world_.executable, std::move(list),
          [on_file = world_.on_file, who = tenant](FileEvent event) {
            on_file(who, std::move(event));
          },
          [alive = std::weak_ptr<TwoRoundPlanner*>(self_), on_end = world_.on_worker_end,
           who = tenant](const std::string& why) {
            if (const auto planner = alive.lock()) {
              (*planner)->worker_ended(who, why);
            } else {
              on_end(who, why);
            }
          });
      if (worker) {
        plan_.workers.emplace(tenant, std::move(*worker));
      } else {
        worker_ended(tenant, worker.error().message);
      }
    }
  }

  void prepare(std::size_t i) {
    PlanItem& item = plan_.items[i];
    const auto worker = plan_.workers.find(item.tenant);
    if (worker == plan_.workers.end() || !item.files_unknown.empty()) return;
    open_.insert(i);
    worker->second->prepare(
        item.key.pid, item.request.file,
        [alive = std::weak_ptr<TwoRoundPlanner*>(self_), i](Result<PreparedDirectory> directory) {
          if (const auto planner = alive.lock()) {
            (*planner)->on_prepared(i, std::move(directory));
          }
        });
  }

  void on_prepared(std::size_t i, Result<PreparedDirectory> directory) {
    if (open_.erase(i) == 0) return;
    PlanItem& item = plan_.items[i];
    if (!directory) {
      item.files_unknown = directory.error().message;
    } else if (!directory->usable) {
      item.problem = directory->problem;
    } else {
      directories_[i] = directory->directory_id + "/" + file_name(item.request.file);
      if (directory->free_bytes < kLittleRoom) {
        item.notes.push_back(
            fmt::format("only {} MiB are free there", directory->free_bytes >> 20U));
      }
      if (directory->file_exists) {
        item.notes.push_back("a file of that name is there and will be replaced");
      }
    }
    finish_if_ready();
  }

  // Two processes with equal pids in their namespaces that see one directory.
  void separate_files() {
    std::set<std::string> taken;
    for (std::size_t i = 0; i < plan_.items.size(); ++i) {
      PlanItem& item = plan_.items[i];
      if (!item.problem.empty() || directories_[i].empty()) continue;
      if (taken.insert(directories_[i]).second) continue;
      const std::string old_file = item.request.file;
      build_request(i, fmt::format("host{}", item.key.pid.value));
      if (!item.problem.empty()) continue;
      if (item.request.file == old_file) {
        item.problem = "would write the same file as another process of this request: " + old_file;
        continue;
      }
      prepare(i);
    }
  }

  void worker_ended(const Tenant& tenant, const std::string& why) {
    for (std::size_t i = 0; i < plan_.items.size(); ++i) {
      if (plan_.items[i].tenant != tenant) continue;
      plan_.items[i].files_unknown = why.empty() ? "its files worker ended" : why;
      open_.erase(i);
    }
    finish_if_ready();
  }

  void give_up() {
    for (const std::size_t i : open_) {
      plan_.items[i].files_unknown = "its directory did not answer in time (a hung mount?)";
    }
    open_.clear();
    separated_ = true;
    finish_if_ready();
  }

  void finish_if_ready() {
    if (!begun_ || !open_.empty() || finished_) return;
    if (!separated_) {
      separated_ = true;
      separate_files();
      if (!open_.empty()) return;
    }
    finished_ = true;
    patience_.cancel();
    // Not at once: the caller destroys the planner, and this may run in a worker's callback.
    finish_ = world_.loop.after(Nanoseconds(0), [this] {
      self_.reset();
      const auto done = std::move(done_);
      done(std::move(plan_));
    });
  }

  World world_;
  std::vector<ProcessEntry> entries_;
  Build build_;
  std::function<void(Plan)> done_;
  Plan plan_;
  std::vector<std::string> directories_;  // "dev:inode/name" by item
  std::set<std::size_t> open_;
  bool begun_ = false;
  bool separated_ = false;
  bool finished_ = false;
  Timer patience_;
  Timer finish_;
  // Workers outlive the planner; whether it is still there decides who hears of their end.
  std::shared_ptr<TwoRoundPlanner*> self_ = std::make_shared<TwoRoundPlanner*>(this);
};

}  // namespace

std::unique_ptr<TracePlanner> TracePlanner::start(World world, std::vector<ProcessEntry> entries,
                                                  Build build, std::function<void(Plan)> done) {
  auto planner = std::make_unique<TwoRoundPlanner>(std::move(world), std::move(entries),
                                                   std::move(build), std::move(done));
  planner->begin();
  return planner;
}

}  // namespace dynolog
