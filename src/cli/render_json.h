// What programs read: the JSON of --json. Pure.
#pragma once

#include <string>

#include "cli/exit_code.h"
#include "rpc/protocol/messages.h"

namespace dynolog {

// The session's result as JSON text; docs/dyno.md lists its members.
[[nodiscard]] std::string trace_json(const rpc::PrepareReply& plan, const TraceOutcome& outcome,
                                     ExitCode code);
// Any of our JSON texts, indented; a text that is "" is not known, and left out.
[[nodiscard]] std::string pretty_json(const std::string& text);

}  // namespace dynolog
