// `dyno gputrace` from the request to the exit code: prepare, show the plan, commit, follow and
// fetch, cancel.
#pragma once

#include "cli/client.h"
#include "cli/exit_code.h"
#include "cli/global_options.h"
#include "cli/trace_options.h"
#include "cli/world.h"

namespace dynolog {

[[nodiscard]] ExitCode run_trace(const World& world, const GlobalOptions& global,
                                 const GputraceOptions& options);

// Withdraws what no process has fetched of a session.
[[nodiscard]] ExitCode run_cancel(const World& world, const GlobalOptions& global,
                                  const std::string& session);

// The same as run_trace() for a daemon that only knows the existing call: it cannot be waited for.
[[nodiscard]] ExitCode run_existing_trace(Client& client, const rpc::PrepareRequest& request);

}  // namespace dynolog
