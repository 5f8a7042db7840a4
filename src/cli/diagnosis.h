// Asking the daemon why something did not come about.
#pragma once

#include <cstdint>
#include <vector>

#include "cli/client.h"
#include "cli/exit_code.h"
#include "rpc/protocol/messages.h"

namespace dynolog {

// What is broken or warned about and can be why, the broken first; that nothing is there which was
// asked about is broken too. Empty when the daemon cannot say, an older one that does not know the
// question included.
[[nodiscard]] std::vector<rpc::Finding> ask_why(Client& client, const rpc::DiagnoseRequest& about);

// The processes of which there is something to explain: those without a trace, and those of `named`
// that the daemon does not know. By pid.
[[nodiscard]] std::vector<std::int64_t> in_question(const TraceOutcome& outcome,
                                                    const std::vector<std::int64_t>& named);

}  // namespace dynolog
