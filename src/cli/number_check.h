// Ranges of numbers on the command line, refused in one short sentence.
#pragma once

#include <cstdint>

#include <CLI/App.hpp>

namespace dynolog {

[[nodiscard]] CLI::Validator whole_number(std::int64_t least, std::int64_t most);
[[nodiscard]] CLI::Validator number(double least, double most);

}  // namespace dynolog
