// Looking at the sessions: whose they are, what is told of each trace, and to whom.
#include "daemon/trace_sessions.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "daemon/trace_sessions_live.h"
#include "profiling/trace_notes.h"

namespace dynolog {
TraceSessions::TraceSessions(World world)
    : world_(std::move(world)), journal_(world_.journal_directory, world_.log) {
  arm_store();
}

TraceSessions::~TraceSessions() {
  for (const auto& [id, live] : sessions_) {
    if (live->journal.armed()) write_journal(*live);
  }
}

void TraceSessions::set_timeouts(ProcessTrace::Timeouts timeouts, Nanoseconds fetch_patience) {
  world_.timeouts = timeouts;
  world_.fetch_patience = fetch_patience;
  arm_store();  // what is old by now may be another
}

std::optional<TraceState> TraceSessions::state_of(Pid pid) const {
  const auto active = active_.find(pid);
  if (active == active_.end()) return std::nullopt;
  return sessions_.at(active->second)->session.traces.at(pid).state();
}

std::size_t TraceSessions::active() const {
  return static_cast<std::size_t>(std::count_if(
      sessions_.begin(), sessions_.end(),
      [](const auto& entry) { return entry.second->session.phase == SessionPhase::committed; }));
}

TraceSessions::Live* TraceSessions::find(const SessionId& id) {
  const auto session = sessions_.find(id);
  return session == sessions_.end() ? nullptr : session->second.get();
}

TraceSessions::Live* TraceSessions::find_for(const Caller& caller, const SessionId& id,
                                             Error& error) {
  Live* const live = find(id);
  // One answer for "not there" and "not yours": ids are not to be probed.
  if (live == nullptr || !may_reach_session(caller, live->session)) {
    error = {ErrorKind::not_found,
             "no session " + id.value + " of yours: it never was, expired, or ended long ago"};
    return nullptr;
  }
  return live;
}

std::vector<std::string> TraceSessions::notes_of(const Live& live,
                                                 const ProcessTrace& trace) const {
  const Pid pid = trace.key().pid;
  const TracedProcess& process = live.process(pid);
  const auto& delivery = trace.delivery();
  std::vector<std::string> notes = trace_notes(trace.request(), trace.check(), process.holds_gpu);
  if (delivery) notes.insert(notes.end(), delivery->notes.begin(), delivery->notes.end());
  notes.insert(notes.end(), process.notes.begin(), process.notes.end());
  if (is_removed(live, trace)) {
    notes.emplace_back(
        "the daemon does not keep it any more: it was too old, or gave way to a newer one");
  }
  return notes;
}

// It was in the daemon's keeping, and gave way.
bool TraceSessions::is_removed(const Live& live, const ProcessTrace& trace) const {
  const auto& delivery = trace.delivery();
  return delivery && delivery->location == TraceDelivery::Location::daemon &&
         (world_.store == nullptr || !world_.store->holds(live.session.id, trace.key().pid));
}

rpc::TraceUpdate TraceSessions::update_of(const Live& live, const ProcessTrace& trace) const {
  const Pid pid = trace.key().pid;
  const TracedProcess& process = live.process(pid);
  const bool kept = world_.store != nullptr && world_.store->holds(live.session.id, pid);
  rpc::TraceUpdate update;
  update.pid = pid.value;
  update.namespace_pid = process.namespace_pid;
  update.rank = process.rank;
  update.local_rank = process.local_rank;
  update.job = process.job;
  update.state = to_string(trace.state());
  update.sentence = trace.sentence();
  update.trace_id = trace.request().trace_id;
  update.ended = is_end(trace.state());
  update.may_still_write = trace.may_still_write();
  update.file = trace.written_path();
  const auto& delivery = trace.delivery();
  if (delivery) {
    update.location = to_string(delivery->location);
    update.file = delivery->path;
    update.file_id = delivery->file_id;
  }
  if (is_removed(live, trace)) {
    update.location = "removed";
    update.sentence += "; since then: removed";
  }
  const auto bringing = live.bringing.find(pid);
  update.fetchable = kept || (trace.state() == TraceState::written &&
                              bringing != live.bringing.end() && bringing->second.fetchable);
  update.notes = notes_of(live, trace);
  const FileCheck& check = trace.check();
  update.checked = check.checked;
  update.whole = check.whole;
  update.ours = check.ours;
  update.problem = check.problem;
  if (check.checked) update.summary = check.summary;
  return update;
}

// Followers may leave while they are told.
void TraceSessions::tell(Live& live, const ProcessTrace& trace) {
  const auto followers = live.followers;
  if (followers->by_token.empty()) return;
  rpc::FollowFrame frame;
  frame.session = live.session.id.value;
  frame.host = world_.host;
  frame.updates.push_back(update_of(live, trace));
  frame.done = live.session.all_ended();
  std::vector<std::uint64_t> tokens;
  for (const auto& [token, on_frame] : followers->by_token) tokens.push_back(token);
  for (const std::uint64_t token : tokens) {
    const auto follower = followers->by_token.find(token);
    if (follower != followers->by_token.end()) std::function(follower->second)(frame);
  }
}

Result<std::unique_ptr<rpc::TraceService::Following>> TraceSessions::follow(
    const Caller& caller, const rpc::SessionRequest& request,
    std::function<void(const rpc::FollowFrame&)> on_frame) {
  Error error;
  Live* const live = find_for(caller, SessionId{request.session}, error);
  if (live == nullptr) return std::unexpected(std::move(error));
  if (live->session.phase == SessionPhase::prepared) {
    return fail(ErrorKind::invalid, "session " + request.session + " is not committed yet");
  }
  rpc::FollowFrame frame;
  frame.session = live->session.id.value;
  frame.host = world_.host;
  for (const auto& [pid, trace] : live->session.traces) {
    frame.updates.push_back(update_of(*live, trace));
  }
  frame.done = live->session.all_ended();
  const std::uint64_t token = live->next_follower++;
  live->followers->by_token.emplace(token, on_frame);
  live->followers->on_left = [this, id = live->session.id] { reconsider_keeping(id); };
  auto following = std::make_unique<Follower>(live->followers, token);
  reconsider_keeping(live->session.id);
  on_frame(frame);
  return following;
}

std::string audit_name(const Caller& caller) {
  return fmt::format("uid {}{}{} pid {} over {}", caller.tenant.uid.value,
                     caller.tenant.container.empty() ? "" : " in container ",
                     caller.tenant.container, caller.pid.value, caller.via);
}

}  // namespace dynolog
