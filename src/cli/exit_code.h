// What dyno's exit status says, decided in one place. docs/dyno.md explains each.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "base/error.h"
#include "cli/fetched.h"
#include "rpc/protocol/messages.h"

namespace dynolog {

enum class ExitCode : int {
  ok = 0,
  broken = 1,           // doctor only: something does not work
  usage = 2,            // the command line, or a configuration that was refused
  nothing_matched = 3,  // no process to trace
  failed = 4,           // some or all of what was asked for did not come about
  deadline = 5,         // --deadline passed first
  no_daemon = 6,        // nobody to ask
  refused = 7,          // the daemon knows, and says no
  unchecked = 8,        // there, but nobody could look into the file
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
  std::string host = {};                        // as the daemon calls it; "": not known
  std::vector<rpc::PlannedTrace> planned = {};  // empty when a session was re-attached to
  std::vector<rpc::TraceUpdate> updates = {};   // the last one of each process
  std::vector<Fetched> fetched = {};            // of those whose file is brought
  bool interrupted = false;
  bool deadline_passed = false;
  bool check_wanted = true;                  // false: a file that nobody looked into will do
  std::int64_t iterations = 0;               // asked for; 0: a window of time
  std::vector<std::string> unmatched = {};   // what was named and is not there, as sentences
  std::vector<rpc::Finding> findings = {};   // why something did not come about
  std::string elsewhere = {};                // the host, when that is not dyno's own
  std::set<std::int64_t> out_of_sight = {};  // whose files dyno sees none of under their names
};
[[nodiscard]] ExitCode exit_code(const TraceOutcome& outcome);

// Delivered, checked, whole and ours.
[[nodiscard]] bool is_good(const rpc::TraceUpdate& update);
// At its end with a file that nobody looked into.
[[nodiscard]] bool is_unchecked(const rpc::TraceUpdate& update);
// What was planned for it; nullptr when that is not known.
[[nodiscard]] const rpc::PlannedTrace* plan_of(const TraceOutcome& outcome, std::int64_t pid);
// What became of the bringing of its file; nullptr when nobody began.
[[nodiscard]] const Fetched* fetched_of(const TraceOutcome& outcome, std::int64_t pid);

}  // namespace dynolog
