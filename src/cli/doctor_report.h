// What a diagnosis says, for people: problems first, what is well in one line for each area. Pure.
#pragma once

#include <string>
#include <vector>

#include "cli/exit_code.h"
#include "rpc/protocol/messages.h"

namespace dynolog {

// The broken first, then warnings, notes and what is well; as they came within each.
void sort_findings(std::vector<rpc::Finding>& findings);

[[nodiscard]] ExitCode exit_code(const std::vector<rpc::Finding>& findings);

// Findings as sort_findings() leaves them. The same finding of several processes is told once.
[[nodiscard]] std::string render_report(const std::vector<rpc::Finding>& findings);

}  // namespace dynolog
