// What people read, as strings. Pure. Traces have render_trace.h and render_summary.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "rpc/protocol/messages.h"

namespace dynolog {

[[nodiscard]] std::string bytes_text(std::uint64_t bytes);  // "1.4 MB"
[[nodiscard]] std::string duration_text(double seconds);    // "0.4 s", "3 min", "2 h 05 min"
[[nodiscard]] std::string rank_text(const std::optional<int>& rank,
                                    const std::optional<int>& world_size);  // "0/4", "0", "-"
// "rank 2, pid 1234"
[[nodiscard]] std::string process_text(std::int64_t pid, const std::optional<int>& rank);
[[nodiscard]] std::string role_text(const std::string& role);  // "data loader", "-"
[[nodiscard]] std::string or_dash(const std::string& text);
// Where there is no room, an interpreter's directory says less than its arguments do.
[[nodiscard]] std::string short_command(const std::string& command, std::size_t room);

[[nodiscard]] std::string render_status(const rpc::StatusReply& reply, const std::string& endpoint);
// `wide` adds columns; `columns` are those of the terminal that the commands are cut for, 0: none.
[[nodiscard]] std::string render_processes(const rpc::ListProcessesReply& reply, bool wide,
                                           int columns);
// Why nobody may be listed.
[[nodiscard]] std::string render_no_processes();

}  // namespace dynolog
