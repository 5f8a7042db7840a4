// What a receiver of OTLP answers: foreign bytes, decoded within bounds.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/error.h"

namespace dynolog {

// Of an ExportMetricsServiceResponse.
struct OtlpPartialSuccess {
  std::int64_t rejected = 0;  // data points, never negative
  std::string message;        // clean text; "": none
};
// An error when the bytes are no such message. Empty bytes are a full success.
[[nodiscard]] Result<OtlpPartialSuccess> decode_otlp_response(std::string_view bytes);

// What a body of an answer that is no success says to people: the message of a google.rpc.Status,
// or its text. Clean, short, in one line; "": nothing.
[[nodiscard]] std::string otlp_error_text(std::string_view content_type, std::string_view body);

// A Retry-After field: seconds, or a date. nullopt when it is neither.
[[nodiscard]] std::optional<std::chrono::seconds> parse_retry_after(std::string_view text,
                                                                    WallTime now);

}  // namespace dynolog
