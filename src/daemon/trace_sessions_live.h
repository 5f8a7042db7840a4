// What the trace sessions keep of one session while the daemon runs. Private to
// trace_sessions*.cpp.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/trace_sessions.h"

namespace dynolog {

// What is older is read again before processes are chosen by it.
inline constexpr Nanoseconds kFactsAge = std::chrono::seconds(2);

// Who follows a session, and who hears of it when one leaves.
struct Followers {
  std::map<std::uint64_t, std::function<void(const rpc::FollowFrame&)>> by_token;
  std::function<void()> on_left;
};

// A written file on its way to who asked for it.
struct TraceSessions::Bringing {
  bool begun = false;
  bool fetchable = false;  // by the caller
  bool reading = false;    // a piece for the caller is under way
  bool fetched = false;    // somebody has asked for a piece
  MonotonicTime last_fetch;
  // Into the daemon's keeping, piece by piece.
  std::unique_ptr<TraceStore::Intake> intake;
  std::uint64_t kept_bytes = 0;  // of the plain file, so far
  Timer patience;
};

struct TraceSessions::Live {
  Session session;
  SessionFacts facts;
  std::unique_ptr<TracePlanner> planner;
  Plan plan;                            // its items until the commit; its workers until the end
  std::optional<Nanoseconds> start_in;  // from the commit
  std::set<Tenant> replaced_workers;
  // Nobody has looked yet whether their files are there: until then nothing falls due, and polls
  // say nothing.
  std::set<Pid> looked_for;
  std::map<Pid, Bringing> bringing;
  std::map<Pid, Timer> late;  // whose files may come after their traces' ends; until when
  std::size_t awaited = 0;    // answers of workers
  std::shared_ptr<Followers> followers = std::make_shared<Followers>();
  std::uint64_t next_follower = 0;
  Timer expiry;    // of an uncommitted session, later of an ended one
  Timer due;       // of its traces
  Timer deadline;  // the caller's
  Timer journal;   // a change to be written

  [[nodiscard]] FilesWorker* worker_of(Pid pid) {
    const auto tenant = session.tenants.find(pid);
    if (tenant == session.tenants.end()) return nullptr;
    const auto worker = plan.workers.find(tenant->second);
    return worker == plan.workers.end() ? nullptr : worker->second.get();
  }
  [[nodiscard]] const TracedProcess& process(Pid pid) const {
    static const TracedProcess kUnknown;
    const auto found = facts.processes.find(pid);
    return found == facts.processes.end() ? kUnknown : found->second;
  }
  void note(Pid pid, std::string sentence) {
    constexpr std::size_t kMost = 16;
    std::vector<std::string>& notes = facts.processes[pid].notes;
    if (notes.size() < kMost) notes.push_back(std::move(sentence));
  }
};

// What a caller asked for, checked.
struct TraceSessions::Asked {
  Selection selection;
  TraceOptions options;
  PlaceWishes wishes;
  bool gzip = false;
  std::optional<Nanoseconds> start_in;
};

// A cancel that waits for the mailbox's answers.
struct TraceSessions::Cancelling {
  std::map<Pid, std::string> open;  // trace ids
  rpc::CancelReply reply;
  rpc::Done<rpc::CancelReply> done;
};

class TraceSessions::Follower final : public Following {
 public:
  Follower(const std::shared_ptr<Followers>& followers, std::uint64_t token)
      : followers_(followers), token_(token) {}
  ~Follower() override {
    const auto followers = followers_.lock();
    if (!followers) return;
    followers->by_token.erase(token_);
    if (followers->on_left) followers->on_left();
  }

 private:
  std::weak_ptr<Followers> followers_;
  std::uint64_t token_;
};

template <class T>
std::function<void(T)> TraceSessions::awaited(Live& live, Pid pid,
                                              std::function<void(Live&, ProcessTrace&, T)> then) {
  ++live.awaited;
  return [this, id = live.session.id, pid, then = std::move(then)](T answer) {
    Live* const found = find(id);
    if (found == nullptr) return;
    --found->awaited;
    const auto trace = found->session.traces.find(pid);
    if (trace != found->session.traces.end()) then(*found, trace->second, std::move(answer));
    drop_workers_if_idle(id);
  };
}

[[nodiscard]] inline std::string expected_id(const TraceRequest& request) {
  return request.carries_trace_id ? request.trace_id : "";
}

[[nodiscard]] inline FilesWorker::Expect expected_file(const TraceRequest& request) {
  return request.memory_snapshot ? FilesWorker::Expect::snapshot : FilesWorker::Expect::trace;
}

// A session of the host's root may reach over all users: another uid 0 has no part in it.
[[nodiscard]] inline bool may_reach_session(const Caller& caller, const Session& session) {
  return may_reach(caller, session.owner.tenant) && (caller.host_root || !session.owner.host_root);
}

// Whose facts a caller's request has to wait for: others' processes may take their time.
[[nodiscard]] std::vector<ProcessKey> keys_for(const Caller& caller, const ProcessTable& table);

// "uid 1000 pid 42 over unix", for the audit.
[[nodiscard]] std::string audit_name(const Caller& caller);

}  // namespace dynolog
