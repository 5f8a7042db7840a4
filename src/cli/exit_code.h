// What dyno's exit status says, decided in one place. docs/dyno.md explains each.
#pragma once

#include <vector>

#include "base/error.h"
#include "rpc/protocol/messages.h"

namespace dynolog {

enum class ExitCode : int {
  ok = 0,
  usage = 2,            // the command line, or a configuration that was refused
  nothing_matched = 3,  // no process to trace
  failed = 4,           // some or all of what was asked for did not come about
  deadline = 5,         // --deadline passed first
  no_daemon = 6,        // nobody to ask
  refused = 7,          // the daemon knows, and says no
  unchecked = 8,        // written, but nobody could look at the file
};

enum class CallFailureKind {
  no_daemon,    // nobody listens
  closed,       // the connection was closed without an answer
  late,         // no answer within --timeout
  garbled,      // an answer that is none of ours
  interrupted,  // Ctrl-C
  from_daemon,  // an error reply: `error` is the daemon's
};

[[nodiscard]] ExitCode exit_code(CallFailureKind failure, ErrorKind kind);

struct TraceOutcome {
  std::vector<rpc::PlannedTrace> planned = {};  // empty when a session was re-attached to
  std::vector<rpc::TraceUpdate> updates = {};   // the last one of each process
  bool interrupted = false;
  bool deadline_passed = false;
  std::vector<std::string> unmatched = {};  // what was named and is not there, as sentences
};
[[nodiscard]] ExitCode exit_code(const TraceOutcome& outcome);

// Written, checked, whole and ours.
[[nodiscard]] bool is_good(const rpc::TraceUpdate& update);

}  // namespace dynolog
