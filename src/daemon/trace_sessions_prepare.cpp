// Preparing and committing a session.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/random.h"
#include "base/time_text.h"
#include "daemon/process_owner.h"
#include "daemon/trace_sessions.h"
#include "daemon/trace_sessions_live.h"
#include "processes/selection.h"

namespace dynolog {
namespace {

constexpr std::size_t kMaxSessions = 256;
constexpr auto kUncommitted = std::chrono::seconds(60);
constexpr Nanoseconds kDefaultPeriod = std::chrono::seconds(5);
// Kineto's run loop ticks once a second, and a small trace takes about as long to write.
constexpr double kWriting_s = 1.5;

double seconds(Nanoseconds duration) { return std::chrono::duration<double>(duration).count(); }

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
          .set = spec.set};
}

bool same_job(const ProcessEntry& one, const ProcessEntry& other) {
  return one.uid == other.uid && one.facts->container == other.facts->container &&
         one.facts->job.job == other.facts->job.job;
}

// "7 of 8 ranks here", and how many of them were chosen where not all were: only when the chosen
// are of one job and say a world size.
std::string coverage(const std::vector<const ProcessEntry*>& chosen, const ProcessTable& table) {
  std::set<int> ranks;
  for (const ProcessEntry* entry : chosen) {
    if (!entry->facts || !entry->facts->job.rank || !entry->facts->job.world_size) return "";
    if (!same_job(*entry, *chosen.front())) return "";
    ranks.insert(*entry->facts->job.rank);
  }
  std::set<int> here;
  for (const ProcessEntry* entry : table.all()) {
    if (!entry->facts || !entry->facts->job.rank || !same_job(*entry, *chosen.front())) continue;
    here.insert(*entry->facts->job.rank);
  }
  const std::string all =
      fmt::format("{} of {} ranks here", here.size(), *chosen.front()->facts->job.world_size);
  return ranks == here ? all : fmt::format("{}, {} chosen", all, ranks.size());
}

// Every process was refused for the same fault of the request itself.
std::optional<Error> refused_as_a_whole(const std::vector<PlanItem>& items) {
  for (const PlanItem& item : items) {
    if (item.problem.empty() || item.problem_kind != ErrorKind::invalid) return std::nullopt;
    if (item.problem != items.front().problem) return std::nullopt;
  }
  return Error{ErrorKind::invalid, items.front().problem};
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

void TraceSessions::plan(const Caller& caller, std::vector<ProcessKey> chosen,
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
    if (entry->facts) live->ranks[key.pid] = entry->facts->job.rank;
    entries.push_back(*entry);
  }
  live->expiry = world_.loop.after(
      kUncommitted, [this, id] { world_.loop.post([this, id] { sessions_.erase(id); }); });
  Live& placed = *sessions_.emplace(id, std::move(live)).first->second;
  placed.planner = TracePlanner::start(
      {.loop = world_.loop,
       .log = world_.log,
       .executable = world_.executable,
       .on_file = [this, id](const Tenant& tenant,
                             FileEvent event) { on_file(id, tenant, std::move(event)); },
       .on_worker_end = [this, id](const Tenant& tenant,
                                   const std::string& why) { on_worker_end(id, tenant, why); }},
      std::move(entries), std::move(build), [this, id, done = std::move(done)](Plan plan) {
        const auto session = sessions_.find(id);
        if (session != sessions_.end()) done(*session->second, std::move(plan));
      });
}

Result<Selection> TraceSessions::selection_of(const rpc::SelectionSpec& spec) const {
  Selection selection{
      .job = spec.job,
      .pids = spec.pids,
      .ranks = spec.ranks,
      .uid = std::nullopt,
      .command = spec.command,
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
  const WallTime start(Milliseconds(spec.start_time_ms));
  if (spec.start_time_ms == 0 || start > world_.clock.wall()) return {};
  return fail(ErrorKind::invalid,
              fmt::format("the start {} has passed (it is given in milliseconds since 1970; now is "
                          "{})",
                          to_rfc3339(start), epoch_milliseconds(world_.clock.wall())));
}

void TraceSessions::prepare(const Caller& caller, rpc::PrepareRequest request,
                            rpc::Done<rpc::PrepareReply> done) {
  auto may = may_plan(caller);
  if (may) may = check_start(request.trace);
  auto selection = selection_of(request.selection);
  if (!may || !selection) {
    done(std::unexpected(std::move(may ? selection.error() : may.error())));
    return;
  }
  const auto keys = keys_for(caller, world_.registry.table());
  world_.registry.when_known(
      keys, [this, caller, selection = std::move(*selection), options = to_options(request.trace),
             done = std::move(done)]() mutable {
        prepare_known(caller, selection, std::move(options), std::move(done));
      });
}

void TraceSessions::prepare_known(const Caller& caller, const Selection& selection,
                                  TraceOptions options, rpc::Done<rpc::PrepareReply> done) {
  // Again: any number may have waited for the facts.
  if (auto may = may_plan(caller); !may) {
    done(std::unexpected(std::move(may.error())));
    return;
  }
  const ProcessTable& table = world_.registry.table();
  auto selected = select_processes(table.all(), selection, caller, world_.clock.monotonic());
  if (selected.ambiguous) {
    done(fail(ErrorKind::ambiguous,
              "there are processes of several users or jobs: choose with --job-id, --user, "
              "--pids, --rank or --cmd, or trace them all with --all"));
    return;
  }
  rpc::PrepareReply reply;
  reply.unmatched = std::move(selected.unmatched);
  for (const Skipped& skipped : selected.skipped) {
    const ProcessEntry* entry = table.find(skipped.pid);
    reply.skipped.push_back(
        {.pid = skipped.pid.value,
         .command = entry != nullptr && entry->facts ? entry->facts->command : "",
         .reason = skipped.reason});
  }
  if (selected.chosen.empty()) {
    done(std::move(reply));
    return;
  }
  reply.coverage = coverage(selected.chosen, table);
  std::vector<ProcessKey> chosen;
  for (const ProcessEntry* entry : selected.chosen) chosen.push_back(entry->key);
  plan(
      caller, std::move(chosen),
      [options = std::move(options)](const ProcessFacts& facts, const TorchFacts& torch,
                                     std::string trace_id, std::string_view suffix) {
        return build_trace_request(options, facts, torch, std::move(trace_id), suffix);
      },
      [this, reply = std::move(reply), done = std::move(done)](Live& live, Plan ready) mutable {
        finish_prepare(live, std::move(ready), std::move(reply), done);
      });
}

// A process takes one trace at a time; whose it is, is only told to whom may know.
std::string TraceSessions::under_way(const Caller& caller, Pid pid) const {
  const auto active = active_.find(pid);
  if (active == active_.end()) return "";
  const Session& session = sessions_.at(active->second)->session;
  const bool may_know =
      may_reach(caller, session.owner.tenant) && (caller.host_root || !session.owner.host_root);
  return fmt::format("another trace{} is {} in it: try again when it has ended",
                     may_know ? " (session " + session.id.value + ")" : "",
                     to_string(session.traces.at(pid).state()));
}

double TraceSessions::expected_wait(const PlanItem& item) const {
  const ProcessEntry* entry = world_.registry.table().find(item.key.pid);
  const Nanoseconds period =
      entry != nullptr && entry->poll_period ? *entry->poll_period : kDefaultPeriod;
  const Nanoseconds age =
      entry != nullptr ? world_.clock.monotonic() - entry->last_poll : Nanoseconds(0);
  const Nanoseconds poll = std::max(Nanoseconds(0), period - age);
  const Nanoseconds lead = item.request.start_lead.value_or(Nanoseconds(0));
  return seconds(poll + lead + item.request.window) + kWriting_s;
}

rpc::PlannedTrace TraceSessions::planned_row(const PlanItem& item) const {
  rpc::PlannedTrace row;
  row.pid = item.key.pid.value;
  row.user = world_.registry.user_name(item.tenant.uid);
  row.file = item.request.file;
  row.notes = item.notes;
  row.problem = item.problem;
  if (!item.files_unknown.empty()) {
    row.notes.push_back("the file cannot be checked: " + item.files_unknown);
  }
  const ProcessEntry* entry = world_.registry.table().find(item.key.pid);
  if (entry != nullptr &&
      dynolog::state_of(*entry, world_.clock.monotonic()) == ProcessState::stalled) {
    row.notes.push_back("stalled: it is traced if it wakes up");
  }
  if (entry != nullptr && entry->facts) {
    row.namespace_pid = entry->facts->namespace_pid;
    row.rank = entry->facts->job.rank;
    row.world_size = entry->facts->job.world_size;
    row.command = entry->facts->command;
    row.job = entry->facts->job.job.value;
  }
  if (item.problem.empty()) row.expected_wait_s = expected_wait(item);
  return row;
}

void TraceSessions::finish_prepare(Live& live, Plan plan, rpc::PrepareReply reply,
                                   const rpc::Done<rpc::PrepareReply>& done) {
  for (PlanItem& item : plan.items) {
    if (item.problem.empty()) item.problem = under_way(live.session.owner, item.key.pid);
  }
  auto refused = refused_as_a_whole(plan.items);
  bool any = false;
  for (const PlanItem& item : plan.items) {
    reply.planned.push_back(planned_row(item));
    any = any || item.problem.empty();
  }
  live.plan = std::move(plan);
  if (any) {
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

void TraceSessions::commit(const Caller& caller, rpc::CommitRequest request,
                           rpc::Done<rpc::CommitReply> done) {
  Error error;
  Live* live = find_for(caller, SessionId{request.session}, error);
  if (live == nullptr) {
    done(std::unexpected(std::move(error)));
    return;
  }
  if (live->session.phase != SessionPhase::prepared) {
    done(fail(ErrorKind::invalid, "session " + request.session + " is already committed"));
    return;
  }
  constexpr double kMaxDeadline_s = 7 * 24 * 3600;
  if (request.deadline_s < 0 || request.deadline_s > kMaxDeadline_s) {
    done(fail(ErrorKind::invalid, "deadline_s must be between 0 and 604800"));
    return;
  }
  if (request.deadline_s > 0) {
    const auto wait =
        std::chrono::duration_cast<Nanoseconds>(std::chrono::duration<double>(request.deadline_s));
    live->session.deadline = world_.clock.monotonic() + wait;
    live->deadline =
        world_.loop.after(wait, [this, id = live->session.id] { on_session_deadline(id); });
  }
  const std::size_t staged = stage_all(*live);
  done(rpc::CommitReply{.session = live->session.id.value, .staged = staged});
}

std::size_t TraceSessions::stage_all(Live& live) {
  live.session.phase = SessionPhase::committed;
  live.expiry.cancel();
  for (PlanItem& item : std::exchange(live.plan.items, {})) {
    if (item.problem.empty()) stage(live, std::move(item));
  }
  audit_start(live);
  // The journal first: a daemon that dies now knows what it may have handed over.
  write_journal(live);
  std::size_t staged = 0;
  for (const auto& [pid, trace] : live.session.traces) {
    if (trace.state() != TraceState::staged) continue;
    world_.kineto.put(trace.key(), live.session.tenants[pid].uid, trace.request());
    ++staged;
  }
  arm(live);
  end_if_done(live);
  return staged;
}

// The identity is read again now: between plan and commit the pid may have become another user's.
// True when that ended the trace.
bool TraceSessions::ends_unstaged(ProcessTrace& trace, const PlanItem& item, MonotonicTime now) {
  const ProcessEntry* entry = world_.registry.table().find(item.key.pid);
  const auto owner = owner_now(world_.root, item.key);
  if (entry == nullptr || entry->key != item.key || !owner) return trace.on_process_end(now);
  if (*owner != item.tenant.uid) return trace.on_identity_changed(now);
  return active_.contains(item.key.pid) && trace.on_poll_busy_before_hand_over(now);
}

void TraceSessions::stage(Live& live, PlanItem item) {
  const MonotonicTime now = world_.clock.monotonic();
  const Pid pid = item.key.pid;
  live.session.tenants[pid] = item.tenant;
  ProcessTrace trace(item.key, std::move(item.request), now, world_.timeouts);
  if (!ends_unstaged(trace, item, now)) {
    active_[pid] = live.session.id;
    const auto worker = live.plan.workers.find(item.tenant);
    if (worker == live.plan.workers.end() || !item.files_unknown.empty()) {
      trace.on_files_unknown(now, item.files_unknown);
    } else {
      worker->second->watch(pid, trace.request().file, expected_id(trace.request()),
                            expected_file(trace.request()));
    }
  }
  live.session.traces.insert_or_assign(pid, std::move(trace));
}

void TraceSessions::audit_start(const Live& live) {
  const Caller& owner = live.session.owner;
  constexpr std::size_t kMostNamed = 20;  // a line is for reading
  std::string pids;
  std::string files;
  std::size_t named = 0;
  for (const auto& [pid, trace] : live.session.traces) {
    if (named++ == kMostNamed) break;
    pids += fmt::format("{}{}", pids.empty() ? "" : " ", pid.value);
    files += fmt::format("{}{}", files.empty() ? "" : " ", trace.request().file);
  }
  if (live.session.traces.size() > kMostNamed) {
    pids += fmt::format(" and {} more", live.session.traces.size() - kMostNamed);
  }
  const std::string who = fmt::format("uid {}{}{} pid {} over {}", owner.tenant.uid.value,
                                      owner.tenant.container.empty() ? "" : " in container ",
                                      owner.tenant.container, owner.pid.value, owner.via);
  world_.log.info("trace {} started by {}: processes {}; files {}", live.session.id.value, who,
                  pids, files);
  world_.publish({.time = world_.clock.wall(),
                  .kind = "audit.trace_started",
                  .subject = live.session.id.value,
                  .text = "trace started by " + who,
                  .fields = {{"processes", pids}, {"files", files}}});
}

}  // namespace dynolog
