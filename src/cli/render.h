// What people read, as strings. Pure.
#pragma once

#include <string>
#include <vector>

#include "cli/exit_code.h"
#include "rpc/protocol/messages.h"

namespace dynolog {

[[nodiscard]] std::string bytes_text(std::uint64_t bytes);  // "1.4 MB"
[[nodiscard]] std::string duration_text(double seconds);    // "0.4 s", "3 min", "2 h 05 min"
[[nodiscard]] std::string rank_text(const std::optional<int>& rank,
                                    const std::optional<int>& world_size);  // "0/4", "0", "-"

[[nodiscard]] std::string render_status(const rpc::StatusReply& reply, const std::string& endpoint);
// `wide` adds columns; `columns` are those of the terminal that the commands are cut for, 0: none.
[[nodiscard]] std::string render_processes(const rpc::ListProcessesReply& reply, bool wide,
                                           int columns);
// Why nobody may be listed.
[[nodiscard]] std::string render_no_processes();
[[nodiscard]] std::string render_plan(const rpc::PrepareReply& plan, int columns);
// "rank 2, pid 1234: fetched: waits for its start". A state that its sentence begins with is not
// said twice.
[[nodiscard]] std::string render_update(const rpc::TraceUpdate& update);
// A table of at most `rows` lines, each at most `columns` wide; ended processes give way first.
[[nodiscard]] std::string render_live(const TraceOutcome& outcome, std::size_t rows,
                                      std::size_t columns);
// "withdrawn from 2 processes; cannot be recalled ...: pid 5, 6"
[[nodiscard]] std::string cancel_text(const rpc::CancelReply& reply);
[[nodiscard]] std::string render_summary(const TraceOutcome& outcome);

// The session's result as JSON text: {"schema": 1, "session", "exit_code", "coverage", "planned",
// "skipped", "unmatched", "processes"}.
[[nodiscard]] std::string trace_json(const rpc::PrepareReply& plan, const TraceOutcome& outcome,
                                     ExitCode code);
// Any of our JSON texts, indented; a text that is "" is not known, and left out.
[[nodiscard]] std::string pretty_json(const std::string& text);

}  // namespace dynolog
