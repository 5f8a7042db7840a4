// Text from outside, made safe once, at ingestion.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace dynolog {

// Valid UTF-8 without control characters (C0, DEL, C1): each bad byte or control becomes U+FFFD.
// At most `max_bytes` long; a cut text ends in "...". Safe for terminals, labels and JSON.
[[nodiscard]] std::string clean_text(std::string_view raw, std::size_t max_bytes);

// Whether clean_text() would leave all of it as it is.
[[nodiscard]] bool is_clean(std::string_view text);

[[nodiscard]] std::string_view trim(std::string_view text);

// The pieces between separators, empty ones included.
[[nodiscard]] std::vector<std::string_view> split(std::string_view text, char separator);

// The candidate nearest to `word` by edit distance, or "" when none is near: for "did you mean".
[[nodiscard]] std::string nearest(std::string_view word,
                                  const std::vector<std::string>& candidates);

}  // namespace dynolog
