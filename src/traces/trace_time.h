// Kineto's times: microseconds as decimal text, turned into whole nanoseconds without a detour over
// doubles (absolute times have more digits than those hold).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace dynolog {

// No time or duration of a trace lies beyond: 63 years in either direction of relative time, the
// year 2096 in absolute time. The sum of two fits.
inline constexpr std::int64_t kMaxTraceNs = 4'000'000'000'000'000'000;

// The text of a JSON number, in microseconds; digits below a nanosecond are dropped. nullopt for
// NaN, infinities and what lies beyond kMaxTraceNs.
[[nodiscard]] std::optional<std::int64_t> nanoseconds_of(std::string_view microseconds);

// A trace's own time as nanoseconds since the epoch. `base` is the file's baseTimeNanoseconds;
// files of PyTorch up to 2.3 have none and tell absolute times. nullopt when the file does not say:
// times without a base that lie before 2001 are relative to an unknown instant.
[[nodiscard]] std::optional<std::int64_t> wall_time(std::int64_t time,
                                                    std::optional<std::int64_t> base);

}  // namespace dynolog
