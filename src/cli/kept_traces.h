// `dyno traces`: what the daemon knows of sessions of late, and keeps of their files.
#pragma once

#include <string>

#include "cli/exit_code.h"
#include "cli/global_options.h"
#include "cli/world.h"
#include "rpc/protocol/messages.h"

namespace dynolog {

[[nodiscard]] ExitCode list_traces(const World& world, const GlobalOptions& global);
[[nodiscard]] ExitCode show_traces(const World& world, const GlobalOptions& global,
                                   const std::string& session);

struct FetchOptions {
  std::string session;
  std::string output;  // "": a directory of its own
  bool gzip = false;
};
[[nodiscard]] ExitCode fetch_traces(const World& world, const GlobalOptions& global,
                                    const FetchOptions& options);

[[nodiscard]] ExitCode delete_traces(const World& world, const GlobalOptions& global,
                                     const std::string& session);

// The table of `dyno traces list`; `now_ms` since the epoch. `columns` are those of the terminal
// that the commands are cut for, 0: none.
[[nodiscard]] std::string render_sessions(const rpc::ListTracesReply& reply, std::int64_t now_ms,
                                          int columns);

}  // namespace dynolog
