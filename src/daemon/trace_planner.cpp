// Every directory is looked at once, and again where the file is placed anew for what was found;
// then those whose files would collide.
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

std::string new_trace_id() {
  // Positive in a signed 64-bit integer, as clients that parse it as one expect.
  return std::to_string(random_u64() >> 1U);
}

const std::string& path_of(const TracePlace& place) {
  return place.in_place ? place.file : place.target;
}

class RoundsPlanner final : public TracePlanner {
 public:
  RoundsPlanner(World world, std::vector<ProcessEntry> entries, PlaceWishes wishes, Build build,
                std::function<void(Plan)> done)
      : world_(std::move(world)),
        entries_(std::move(entries)),
        wishes_(std::move(wishes)),
        build_(std::move(build)),
        done_(std::move(done)) {}

  void begin() {
    plan_.items.resize(entries_.size());
    namings_.resize(entries_.size());
    claims_.resize(entries_.size());
    for (std::size_t i = 0; i < entries_.size(); ++i) begin_item(i);
    start_workers();
    patience_ = world_.loop.after(kPatience, [this] { give_up(); });
    for (std::size_t i = 0; i < entries_.size(); ++i) prepare(i);
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
    namings_[i].trace_id = new_trace_id();
    namings_[i].unique = random_hex64();
    place(i, wishes_.bring == Bring::always ? PlaceKind::brought : PlaceKind::asked);
  }

  // Builds the request anew. False when it cannot be: the item has its problem then.
  bool place(std::size_t i, PlaceKind kind) {
    PlanItem& item = plan_.items[i];
    const ProcessEntry& entry = entries_[i];
    namings_[i].kind = kind;
    auto request = build_(*entry.facts, entry.torch.value_or(TorchFacts{}), namings_[i]);
    if (!request) {
      item.problem = request.error().message;
      item.problem_kind = request.error().kind;
      return false;
    }
    item.request = std::move(*request);
    item.notes = item.request.notes;
    return true;
  }

  // Nobody but the process can look at its directory.
  void leave_to_itself(std::size_t i, const std::string& why) {
    PlanItem& item = plan_.items[i];
    if (!item.problem.empty() || !item.files_unknown.empty()) return;
    claims_[i].clear();
    if (wishes_.bring == Bring::always) {
      item.problem = fmt::format(
          "the trace could not be fetched: nobody but the process can look at {} ({}); name a "
          "path with --log-file",
          item.request.place.file, why);
      return;
    }
    if (!item.request.place.in_place && !place(i, PlaceKind::itself)) {
      item.problem = fmt::format("{} ({})", item.problem, why);
      return;
    }
    item.files_unknown = why;
  }

  void start_workers() {
    std::map<Tenant, std::vector<FilesIdentity>> identities;
    for (const PlanItem& item : plan_.items) {
      if (item.problem.empty()) identities[item.tenant].push_back({item.key, item.tenant.uid});
    }
    for (auto& [tenant, list] : identities) {
      auto worker = world_.start_worker(
          std::move(list),
          [on_file = world_.on_file, who = tenant](FileEvent event) {
            on_file(who, std::move(event));
          },
          [alive = std::weak_ptr<RoundsPlanner*>(self_), on_end = world_.on_worker_end,
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
    if (!item.problem.empty() || !item.files_unknown.empty()) return;
    const auto worker = plan_.workers.find(item.tenant);
    if (worker == plan_.workers.end()) return;
    open_.insert(i);
    worker->second->prepare(
        item.key.pid, places_of(item.request.place, wishes_.may_make_directories()),
        [alive = std::weak_ptr<RoundsPlanner*>(self_), i](Result<PreparedPlaces> prepared) {
          if (const auto planner = alive.lock()) {
            (*planner)->on_prepared(i, std::move(prepared));
          }
        });
  }

  void on_prepared(std::size_t i, Result<PreparedPlaces> prepared) {
    if (open_.erase(i) == 0) return;
    if (prepared) {
      take(i, *prepared);
    } else {
      leave_to_itself(i, prepared.error().message);
    }
    finish_if_ready();
  }

  void take(std::size_t i, const PreparedPlaces& prepared) {
    PlanItem& item = plan_.items[i];
    PlaceChoice choice = choose_place(wishes_, item.request.place, prepared);
    switch (choice.verdict) {
      case PlaceVerdict::good:
        claims_[i] = claimed_file(item.request.place, prepared);
        for (std::string& note : choice.notes) item.notes.push_back(std::move(note));
        break;
      case PlaceVerdict::bring:
        if (!place(i, PlaceKind::brought)) break;
        item.notes.push_back(std::move(choice.why));
        prepare(i);
        break;
      case PlaceVerdict::by_itself:
        leave_to_itself(i, choice.why);
        break;
      case PlaceVerdict::refused:
        item.problem = std::move(choice.why);
        break;
    }
  }

  // Two processes with equal pids in their namespaces, or one rank, that see one directory.
  void separate_files() {
    std::set<std::string> taken;
    for (std::size_t i = 0; i < plan_.items.size(); ++i) {
      PlanItem& item = plan_.items[i];
      if (!item.problem.empty() || claims_[i].empty()) continue;
      if (taken.insert(claims_[i]).second) continue;
      const std::string old_path = path_of(item.request.place);
      namings_[i].unique_suffix = fmt::format("host{}", item.key.pid.value);
      if (!place(i, namings_[i].kind)) continue;
      if (path_of(item.request.place) == old_path) {
        item.problem = "would write the same file as another process of this request: " + old_path;
        continue;
      }
      prepare(i);
    }
  }

  void worker_ended(const Tenant& tenant, const std::string& why) {
    for (std::size_t i = 0; i < plan_.items.size(); ++i) {
      if (plan_.items[i].tenant != tenant) continue;
      leave_to_itself(i, why.empty() ? "its files worker ended" : why);
      open_.erase(i);
    }
    finish_if_ready();
  }

  void give_up() {
    for (const std::size_t i : std::exchange(open_, {})) {
      leave_to_itself(i, "its directory did not answer in time (a hung mount?)");
    }
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
  PlaceWishes wishes_;
  Build build_;
  std::function<void(Plan)> done_;
  Plan plan_;
  std::vector<Naming> namings_;      // by item
  std::vector<std::string> claims_;  // claimed_file() by item
  std::set<std::size_t> open_;
  bool begun_ = false;
  bool separated_ = false;
  bool finished_ = false;
  Timer patience_;
  Timer finish_;
  // Workers outlive the planner; whether it is still there decides who hears of their end.
  std::shared_ptr<RoundsPlanner*> self_ = std::make_shared<RoundsPlanner*>(this);
};

}  // namespace

std::unique_ptr<TracePlanner> TracePlanner::start(World world, std::vector<ProcessEntry> entries,
                                                  PlaceWishes wishes, Build build,
                                                  std::function<void(Plan)> done) {
  auto planner = std::make_unique<RoundsPlanner>(
      std::move(world), std::move(entries), std::move(wishes), std::move(build), std::move(done));
  planner->begin();
  return planner;
}

}  // namespace dynolog
