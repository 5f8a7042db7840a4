// What people read about the options, made from the table.
#pragma once

#include <string>

namespace dynolog {

[[nodiscard]] std::string help_text();

// The tables of docs/configuration.md.
[[nodiscard]] std::string options_markdown();

}  // namespace dynolog
