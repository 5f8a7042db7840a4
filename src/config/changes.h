// What differs between two configurations.
#pragma once

#include <string_view>
#include <vector>

#include "config/option_table.h"
#include "config/options.h"

namespace dynolog {

// In the table's order. Rows only, no values: some name what is secret.
[[nodiscard]] std::vector<const OptionRow*> changed_options(const Options& before,
                                                            const Options& after, Reload reload);

}  // namespace dynolog
