// Follows a committed session to its end, and brings its files meanwhile.
#pragma once

#include <optional>
#include <string>

#include "cli/client.h"
#include "cli/exit_code.h"
#include "cli/progress.h"
#include "cli/trace_fetcher.h"
#include "cli/trace_places.h"

namespace dynolog {

[[nodiscard]] CallResult<rpc::CancelReply> cancel_session(Client& client,
                                                          const std::string& session);
// The same, and brings the outcome to what came of it.
[[nodiscard]] CallResult<rpc::CancelReply> cancel_session(Client& client,
                                                          const std::string& session,
                                                          TraceOutcome& outcome);

// What dyno knows better than the daemon: where it put a file, and that it is there.
void tell_where_files_are(TraceOutcome& outcome);

// True when a process may yet write its trace after this was said.
[[nodiscard]] bool may_still_write(const rpc::TraceUpdate& update);

enum class OnInterrupt { cancel, leave };

class SessionFollower {
 public:
  struct Following {
    std::string session;
    MonotonicTime committed{};  // what is late is told from here
    double deadline_s = 0;      // 0: none
    int interrupt_fd = -1;
    OnInterrupt on_interrupt = OnInterrupt::cancel;
  };
  SessionFollower(Client& client, TracePlaces& places, Following following);
  // `outcome.planned` orders the processes; its updates, what was fetched and its flags are filled
  // in. The failure is one that leaves the session's end unknown.
  [[nodiscard]] CallResult<void> follow(TraceOutcome& outcome);

 private:
  [[nodiscard]] CallResult<bool> take(const std::string& text, TraceOutcome& outcome);
  [[nodiscard]] CallResult<std::optional<std::string>> next(TraceOutcome& outcome);
  [[nodiscard]] CallResult<std::string> follow_again(const CallFailure& failure);
  // The end of following, or nullopt: go on with what `text` is now.
  [[nodiscard]] std::optional<CallResult<void>> handle(CallFailure failure,
                                                       CallResult<std::string>& text,
                                                       TraceOutcome& outcome);
  void want_files(const TraceOutcome& outcome);
  void take_results(TraceOutcome& outcome);
  void fetch(TraceOutcome& outcome);
  [[nodiscard]] bool is_over(const TraceOutcome& outcome) const;
  void interrupted(TraceOutcome& outcome);
  void cancel(TraceOutcome& outcome);
  void stop_fetching(const std::string& why, TraceOutcome& outcome);
  [[nodiscard]] bool past_deadline() const;

  Client& client_;
  TracePlaces& places_;
  Following following_;
  std::optional<MonotonicTime> until_;  // for a daemon that does not keep the deadline
  TraceFetcher fetcher_;
  Progress screen_;
  bool named_ = false;
  bool done_ = false;
};

}  // namespace dynolog
