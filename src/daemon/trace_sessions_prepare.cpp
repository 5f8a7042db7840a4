// Preparing a session: who is meant, what each will be handed, where its file will lie.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/random.h"
#include "base/time_text.h"
#include "daemon/trace_sessions.h"
#include "daemon/trace_sessions_live.h"
#include "daemon/wanted_ranks.h"
#include "processes/coverage.h"
#include "processes/selection.h"

namespace dynolog {
namespace {

constexpr std::size_t kMaxSessions = 256;
constexpr auto kUncommitted = std::chrono::seconds(60);
Nanoseconds nanoseconds(double seconds) {
  return std::chrono::duration_cast<Nanoseconds>(std::chrono::duration<double>(seconds));
}

TraceOptions to_options(const rpc::TraceSpec& spec) {
  return {.log_file = spec.log_file,
          .duration_ms = spec.duration_ms,
          .iterations = spec.iterations,
          .iteration_roundup = spec.iteration_roundup,
          .start_time_ms = spec.start_time_ms,
          .warmup_s = spec.warmup_s,
          .record_shapes = spec.record_shapes,
          .profile_memory = spec.profile_memory,
          .with_stacks = spec.with_stacks,
          .with_flops = spec.with_flops,
          .with_modules = spec.with_modules,
          .activity_types = spec.activity_types,
          .buffer_mb = spec.buffer_mb,
          .pm_sampling_metrics = spec.pm_sampling_metrics,
          .pm_sampling_device = spec.pm_sampling_device,
          .set = spec.set};
}

// Every process was refused for the same fault of the request itself.
std::optional<Error> refused_as_a_whole(const std::vector<PlanItem>& items) {
  for (const PlanItem& item : items) {
    if (item.problem.empty() || item.problem_kind != ErrorKind::invalid) return std::nullopt;
    if (item.problem != items.front().problem) return std::nullopt;
  }
  return Error{ErrorKind::invalid, items.front().problem};
}

// Places the file and builds what the process is handed.
Result<TraceRequest> build(TraceOptions options, const PlaceNames& of_all,
                           const ProcessFacts& facts, const TorchFacts& torch,
                           const TracePlanner::Naming& naming) {
  PlaceNames names = of_all;
  names.unique = naming.unique;
  names.unique_suffix = naming.unique_suffix;
  if (naming.kind == PlaceKind::brought) options.log_file.clear();
  auto place = naming.kind == PlaceKind::itself ? place_trace_itself(options, facts, torch, names)
                                                : place_trace(options, facts, torch, names);
  if (!place) return std::unexpected(std::move(place.error()));
  return build_trace_request(options, facts, torch, naming.trace_id, std::move(*place));
}

}  // namespace

// Others' processes may take their time to become known.
std::vector<ProcessKey> keys_for(const Caller& caller, const ProcessTable& table) {
  std::vector<ProcessKey> keys;
  for (const ProcessEntry* entry : table.all()) {
    if (caller.host_root || entry->uid == caller.tenant.uid) keys.push_back(entry->key);
  }
  return keys;
}

// Every session costs memory and, while it is open, a worker for each tenant.
Status TraceSessions::may_plan(const Caller& caller) {
  constexpr std::ptrdiff_t kMaxOpenPerUser = 16;
  forget_old();
  if (caller.host_root) return {};
  const auto open = std::ranges::count_if(sessions_, [&](const auto& entry) {
    const Session& session = entry.second->session;
    return session.phase != SessionPhase::ended && session.owner.tenant.uid == caller.tenant.uid;
  });
  if (open >= kMaxOpenPerUser) {
    return fail(
        ErrorKind::exhausted,
        fmt::format("{} of your trace sessions are open: wait for one to end, or cancel one",
                    open));
  }
  if (sessions_.size() >= kMaxSessions) {
    return fail(ErrorKind::exhausted, "too many trace sessions are open on this host: try again");
  }
  return {};
}

void TraceSessions::plan(const Caller& caller, std::vector<ProcessKey> chosen, PlaceWishes wishes,
                         TracePlanner::Build build, std::function<void(Live&, Plan)> done) {
  const SessionId id{random_hex64()};
  auto live = std::make_unique<Live>();
  live->session.id = id;
  live->session.owner = caller;
  live->session.created = world_.clock.wall();
  std::vector<ProcessEntry> entries;
  for (const ProcessKey& key : chosen) {
    const ProcessEntry* entry = world_.registry.table().find(key.pid);
    if (entry == nullptr || entry->key != key) continue;
    live->facts.processes[key.pid] = traced_process(*entry);
    entries.push_back(*entry);
  }
  live->expiry = world_.loop.after(
      kUncommitted, [this, id] { world_.loop.post([this, id] { sessions_.erase(id); }); });
  Live& placed = *sessions_.emplace(id, std::move(live)).first->second;
  placed.planner = TracePlanner::start(
      {.loop = world_.loop,
       .start_worker = world_.start_worker,
       .on_file = [this, id](const Tenant& tenant,
                             FileEvent event) { on_file(id, tenant, std::move(event)); },
       .on_worker_end = [this, id](const Tenant& tenant,
                                   const std::string& why) { on_worker_end(id, tenant, why); }},
      std::move(entries), std::move(wishes), std::move(build),
      [this, id, done = std::move(done)](Plan plan) {
        if (Live* const mine = find(id)) done(*mine, std::move(plan));
      });
}

Result<Selection> TraceSessions::selection_of(const rpc::SelectionSpec& spec) const {
  auto ranks = wanted_ranks(spec);
  if (!ranks) return std::unexpected(std::move(ranks.error()));
  Selection selection{
      .job = spec.job,
      .pids = spec.pids,
      .ranks = std::move(*ranks),
      .uid = std::nullopt,
      .command = spec.command,
      .gpus = spec.gpus,
      .container = spec.container,
      .all = spec.all,
      .process_limit = static_cast<std::size_t>(std::max<std::int64_t>(0, spec.process_limit))};
  if (spec.user) {
    selection.uid = world_.registry.find_user(*spec.user);
    if (!selection.uid) {
      return fail(ErrorKind::invalid, "no user " + *spec.user + " on this host");
    }
  }
  return selection;
}

// Kineto drops a start that has passed without a word.
Status TraceSessions::check_start(const rpc::TraceSpec& spec) const {
  constexpr double kDay_s = 86'400;
  if (spec.start_in_s) {
    if (!(*spec.start_in_s >= 0 && *spec.start_in_s <= kDay_s)) {
      return fail(ErrorKind::invalid,
                  fmt::format("--start-in {}: must be from 0 to 86400 seconds", *spec.start_in_s));
    }
    if (spec.start_time_ms != 0) {
      return fail(ErrorKind::invalid, "--start-in and --profile-start-time exclude each other");
    }
    if (spec.iterations > 0) {
      return fail(ErrorKind::invalid,
                  "--start-in and --iterations exclude each other: iterations have no start time");
    }
  }
  const WallTime start(Milliseconds(spec.start_time_ms));
  if (spec.start_time_ms == 0 || start > world_.clock.wall()) return {};
  return fail(ErrorKind::invalid,
              fmt::format("the start {} has passed (it is given in milliseconds since 1970; now is "
                          "{})",
                          to_rfc3339(start), epoch_milliseconds(world_.clock.wall())));
}

Result<TraceSessions::Asked> TraceSessions::asked_of(rpc::PrepareRequest request) const {
  const rpc::TraceSpec& spec = request.trace;
  if (auto start = check_start(spec); !start) return std::unexpected(std::move(start.error()));
  const auto bring = bring_from(spec.bring);
  if (!bring) {
    return fail(ErrorKind::invalid,
                "bring: must be \"never\", \"other_view\", \"needed\" or \"always\"");
  }
  if (spec.log_file.empty() && *bring != Bring::always) {
    return fail(ErrorKind::invalid, "log_file: name a path, or let the file be brought");
  }
  auto selection = selection_of(request.selection);
  if (!selection) return std::unexpected(std::move(selection.error()));
  Asked asked;
  asked.selection = std::move(*selection);
  asked.options = to_options(spec);
  asked.wishes = {.bring = *bring,
                  .caller_directory = spec.caller_directory,
                  .make_directories = spec.make_directories};
  asked.gzip = spec.gzip;
  if (spec.start_in_s) asked.start_in = nanoseconds(*spec.start_in_s);
  return asked;
}

void TraceSessions::prepare(const Caller& caller, rpc::PrepareRequest request,
                            rpc::Done<rpc::PrepareReply> done) {
  const auto may = may_plan(caller);
  auto asked = may ? asked_of(std::move(request)) : std::unexpected(may.error());
  if (!asked) {
    done(std::unexpected(std::move(asked.error())));
    return;
  }
  world_.registry.when_fresh(
      keys_for(caller, world_.registry.table()), kFactsAge,
      [this, caller, asked = std::move(*asked), done = std::move(done)]() mutable {
        prepare_known(caller, std::move(asked), std::move(done));
      });
}

void TraceSessions::prepare_known(const Caller& caller, Asked asked,
                                  rpc::Done<rpc::PrepareReply> done) {
  // Again: any number may have waited for the facts.
  if (auto may = may_plan(caller); !may) {
    done(std::unexpected(std::move(may.error())));
    return;
  }
  const auto all = world_.registry.table().all();
  auto selected = select_processes(all, asked.selection, caller, world_.clock.monotonic());
  if (selected.ambiguous) {
    done(fail(ErrorKind::ambiguous,
              "there are processes of several users or jobs: choose with --job-id, --user, "
              "--pids, --rank, --gpu, --container or --cmd, or trace them all with --all"));
    return;
  }
  rpc::PrepareReply reply;
  reply.host = world_.host;
  reply.unmatched = std::move(selected.unmatched);
  for (const Skipped& skipped : selected.skipped) reply.skipped.push_back(skipped_row(skipped));
  if (selected.chosen.empty()) {
    done(std::move(reply));
    return;
  }
  reply.coverage = coverage(selected.chosen, all);
  std::vector<ProcessKey> chosen;
  for (const ProcessEntry* entry : selected.chosen) chosen.push_back(entry->key);
  const PlaceNames names{.host = world_.host,
                         .time = compact_utc(world_.clock.wall()),
                         .unique = "",
                         .unique_suffix = ""};
  plan(
      caller, std::move(chosen), asked.wishes,
      [options = std::move(asked.options), names](
          const ProcessFacts& facts, const TorchFacts& torch, const TracePlanner::Naming& naming) {
        return build(options, names, facts, torch, naming);
      },
      [this, reply = std::move(reply), gzip = asked.gzip, start_in = asked.start_in,
       done = std::move(done)](Live& live, Plan ready) mutable {
        live.facts.gzip = gzip;
        live.start_in = start_in;
        finish_prepare(live, std::move(ready), std::move(reply), done);
      });
}

// A process takes one trace at a time; whose it is, is only told to whom may know.
std::string TraceSessions::under_way(const Caller& caller, Pid pid) const {
  const auto active = active_.find(pid);
  if (active == active_.end()) return "";
  const Session& session = sessions_.at(active->second)->session;
  const bool may_know = may_reach_session(caller, session);
  return fmt::format("another trace{} is {} in it: try again when it has ended",
                     may_know ? " (session " + session.id.value + ")" : "",
                     to_string(session.traces.at(pid).state()));
}

void TraceSessions::finish_prepare(Live& live, Plan plan, rpc::PrepareReply reply,
                                   const rpc::Done<rpc::PrepareReply>& done) {
  for (PlanItem& item : plan.items) {
    if (item.problem.empty()) item.problem = under_way(live.session.owner, item.key.pid);
  }
  auto refused = refused_as_a_whole(plan.items);
  if (!refused && live.start_in) refused = too_soon(plan.items, *live.start_in);
  bool any = false;
  for (const PlanItem& item : plan.items) {
    reply.planned.push_back(planned_row(live, item));
    any = any || item.problem.empty();
  }
  live.plan = std::move(plan);
  if (any && !refused) {
    reply.session = live.session.id.value;
    reply.expires_in_s = std::chrono::duration_cast<std::chrono::seconds>(kUncommitted).count();
  } else {
    world_.loop.post([this, id = live.session.id] { sessions_.erase(id); });
  }
  if (refused) {
    done(std::unexpected(std::move(*refused)));
    return;
  }
  done(std::move(reply));
}

}  // namespace dynolog
