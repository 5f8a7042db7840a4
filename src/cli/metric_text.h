// Figures for people: values with readable units, a row of blocks for their course, times and
// lengths of time as they are typed.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/clock.h"

namespace dynolog {

// "1.5 GiB/s", "32 %", "1.2 ms", "12.3 k"; `unit` is the daemon's: "bytes/s", "percent", "", ...
[[nodiscard]] std::string readable(double value, std::string_view unit);

// One character for each of `width` stretches of the values: a block as high as the mean, from the
// least to the greatest of all; a blank where there is none. `utf8`: else letters will do.
[[nodiscard]] std::string sparkline(std::span<const std::optional<double>> values,
                                    std::size_t width, bool utf8);

// "90s", "10m", "1h30m", "2d", "500ms" in milliseconds; nullopt for anything else. A plain number
// is seconds.
[[nodiscard]] std::optional<std::int64_t> parse_length(std::string_view text);

// A point in time, in milliseconds since the epoch: "2026-11-30T14:00:00Z" (seconds and zone may be
// left out; it is UTC), "now", or a length of time before now: "-2h".
[[nodiscard]] std::optional<std::int64_t> parse_time(std::string_view text, WallTime now);

}  // namespace dynolog
