// A trace on its way, as text: the plan, each step, the live table, a cancellation, why not. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "cli/exit_code.h"
#include "cli/fetched.h"
#include "cli/global_options.h"
#include "rpc/protocol/messages.h"

namespace dynolog {

struct PlanView {
  int columns = 0;              // of the terminal that commands are cut for; 0: none
  std::int64_t iterations = 0;  // asked for; 0: a window of time
  std::map<std::int64_t, std::string> brought_to = {};  // by pid: where a brought file will lie
  bool waits = true;  // false: what is to be brought stays with the daemon
  // At once: it says why what cannot be traced cannot.
  bool summary_follows = false;
};
[[nodiscard]] std::string render_plan(const rpc::PrepareReply& plan, const PlanView& view);

// "rank 2, pid 1234: fetched: waits for its start". A state that its sentence begins with is not
// said twice. `fetched` may be nullptr.
[[nodiscard]] std::string render_update(const rpc::TraceUpdate& update, const Fetched* fetched);
// A table of at most `rows` lines, each at most `columns` wide; ended processes give way first.
[[nodiscard]] std::string render_live(const TraceOutcome& outcome, std::size_t rows,
                                      std::size_t columns);
// "withdrawn from 2 processes; cannot be recalled ...: pid 5, 6"
[[nodiscard]] std::string cancel_text(const rpc::CancelReply& reply);
// The worst of what is broken or warned about, a line or two for each; "" when there is nothing.
[[nodiscard]] std::string render_reasons(const std::vector<rpc::Finding>& findings,
                                         const GlobalOptions& global);

// "5800 events, 1.4 MB"
[[nodiscard]] std::string figures_text(const rpc::TraceUpdate& update, const Fetched* fetched);
// Of the file as it lies there; 0: not known.
[[nodiscard]] std::uint64_t file_bytes(const rpc::TraceUpdate& update, const Fetched* fetched);
[[nodiscard]] std::string rank_of(const TraceOutcome& outcome, const rpc::TraceUpdate& update);

}  // namespace dynolog
