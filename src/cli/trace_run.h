// `dyno gputrace` from the request to the exit code: prepare, show the plan, commit, follow,
// cancel.
#pragma once

#include "cli/client.h"
#include "cli/exit_code.h"
#include "cli/global_options.h"
#include "cli/progress.h"
#include "cli/trace_options.h"
#include "cli/world.h"

namespace dynolog {

[[nodiscard]] ExitCode run_trace(const World& world, const GlobalOptions& global,
                                 const GputraceOptions& options);

// The same for a daemon that only knows the existing call: it cannot be waited for.
[[nodiscard]] ExitCode run_existing_trace(Client& client, const rpc::PrepareRequest& request);

// Cancels, and brings the outcome to what came of it.
[[nodiscard]] CallResult<rpc::CancelReply> cancel_session(Client& client,
                                                          const std::string& session,
                                                          TraceOutcome& outcome);

// True when a process may yet write its trace after this was said.
[[nodiscard]] bool may_still_write(const rpc::TraceUpdate& update);

enum class OnInterrupt { cancel, leave };

// Follows a committed session to its end, or until it is interrupted.
class SessionFollower {
 public:
  // `committed` and `deadline_s` decide what counts as late; 0: no deadline.
  SessionFollower(Client& client, std::string session, MonotonicTime committed, double deadline_s,
                  int interrupt_fd, OnInterrupt on_interrupt);
  // `outcome.planned` orders the processes; its updates and flags are filled in. The failure is one
  // that leaves the session's end unknown.
  [[nodiscard]] CallResult<void> follow(TraceOutcome& outcome);

 private:
  [[nodiscard]] CallResult<bool> take(const std::string& text, TraceOutcome& outcome);
  [[nodiscard]] CallResult<std::string> follow_again(const CallFailure& failure);
  void cancel(TraceOutcome& outcome);
  [[nodiscard]] bool past_deadline() const;

  Client& client_;
  std::string session_;
  MonotonicTime committed_;
  double deadline_s_;
  int interrupt_fd_;
  OnInterrupt on_interrupt_;
  Progress screen_;
};

}  // namespace dynolog
