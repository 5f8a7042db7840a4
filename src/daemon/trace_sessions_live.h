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
#include <vector>

#include "daemon/trace_sessions.h"

namespace dynolog {

using Followers = std::map<std::uint64_t, std::function<void(const rpc::FollowFrame&)>>;

struct TraceSessions::Live {
  Session session;
  std::unique_ptr<TracePlanner> planner;
  Plan plan;  // its items until the commit; its workers until the end
  std::map<Pid, std::optional<int>> ranks;
  std::shared_ptr<Followers> followers = std::make_shared<Followers>();
  std::uint64_t next_follower = 0;
  Timer expiry;    // of an uncommitted session, later of an ended one
  Timer due;       // of its traces
  Timer deadline;  // the caller's
  Timer journal;   // a change to be written
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
    if (const auto followers = followers_.lock()) followers->erase(token_);
  }

 private:
  std::weak_ptr<Followers> followers_;
  std::uint64_t token_;
};

[[nodiscard]] inline std::string expected_id(const TraceRequest& request) {
  return request.carries_trace_id ? request.trace_id : "";
}

[[nodiscard]] inline FilesWorker::Expect expected_file(const TraceRequest& request) {
  return request.memory_snapshot ? FilesWorker::Expect::snapshot : FilesWorker::Expect::trace;
}

// Whose facts a caller's request has to wait for: others' processes may take their time.
[[nodiscard]] std::vector<ProcessKey> keys_for(const Caller& caller, const ProcessTable& table);

[[nodiscard]] rpc::TraceUpdate to_update(const ProcessTrace& trace, std::optional<int> rank);

}  // namespace dynolog
