// One series' values within a block as bytes: constants in a few, whole or decimal numbers as
// differences, others as they are with their bytes sorted. Exact: a value comes back bit for bit.
#pragma once

#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace dynolog::history {

// Absent is a NaN: collectors' values are finite.
inline constexpr double kAbsent = std::numeric_limits<double>::quiet_NaN();

void append_column(std::string& to, std::span<const double> values);

// `count` values into `values`. An error of kind invalid for bytes that are no column of so many.
[[nodiscard]] Status read_column(std::string_view bytes, std::size_t count,
                                 std::vector<double>& values);

// How it is written, in a word; for figures.
[[nodiscard]] std::string_view form_of(std::string_view column);

}  // namespace dynolog::history
