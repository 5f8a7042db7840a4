// Decoding answers with protozero, which checks each length.
#include "sinks/otlp_response.h"

#include <time.h>

#include <algorithm>

#include <protozero/exception.hpp>
#include <protozero/pbf_reader.hpp>

#include "base/number.h"
#include "base/text.h"

namespace dynolog {
namespace {

using protozero::pbf_reader;

constexpr std::size_t kMaxSentence = 300;
constexpr std::int64_t kMaxRetryAfter = 86'400;

std::string sentence(std::string_view text) {
  std::string line(text.substr(0, 4 * kMaxSentence));
  std::ranges::replace_if(line, [](char letter) { return letter == '\n' || letter == '\r'; }, ' ');
  return clean_text(trim(line), kMaxSentence);
}

std::string text_of(const protozero::data_view& view) {
  return sentence(std::string_view(view.data(), view.size()));
}

OtlpPartialSuccess read_partial_success(pbf_reader message) {
  OtlpPartialSuccess partial;
  while (message.next()) {
    if (message.tag_and_type() == protozero::tag_and_type(1, protozero::pbf_wire_type::varint)) {
      partial.rejected = std::max<std::int64_t>(message.get_int64(), 0);
    } else if (message.tag_and_type() ==
               protozero::tag_and_type(2, protozero::pbf_wire_type::length_delimited)) {
      partial.message = text_of(message.get_view());
    } else {
      message.skip();
    }
  }
  return partial;
}

// google.rpc.Status: code 1, message 2.
std::string status_message(std::string_view body) {
  std::string text;
  pbf_reader message(body.data(), body.size());
  while (message.next()) {
    if (message.tag_and_type() ==
        protozero::tag_and_type(2, protozero::pbf_wire_type::length_delimited)) {
      text = text_of(message.get_view());
    } else {
      message.skip();
    }
  }
  return text;
}

}  // namespace

Result<OtlpPartialSuccess> decode_otlp_response(std::string_view bytes) {
  try {
    OtlpPartialSuccess partial;
    pbf_reader message(bytes.data(), bytes.size());
    while (message.next()) {
      if (message.tag_and_type() ==
          protozero::tag_and_type(1, protozero::pbf_wire_type::length_delimited)) {
        partial = read_partial_success(message.get_message());
      } else {
        message.skip();
      }
    }
    return partial;
  } catch (const protozero::exception& error) {
    return fail(ErrorKind::invalid,
                std::string("the answer is no protobuf that can be read: ") + error.what());
  }
}

std::string otlp_error_text(std::string_view content_type, std::string_view body) {
  if (!content_type.starts_with("application/x-protobuf")) return sentence(body);
  try {
    return status_message(body);
  } catch (const protozero::exception&) {
    return {};
  }
}

std::optional<std::chrono::seconds> parse_retry_after(std::string_view text, WallTime now) {
  text = trim(text);
  if (const auto seconds = parse_number<std::int64_t>(text)) {
    if (*seconds < 0) return std::nullopt;
    return std::chrono::seconds(std::min(*seconds, kMaxRetryAfter));
  }
  tm parts{};
  const std::string date(text.substr(0, 64));
  const char* end = ::strptime(date.c_str(), "%a, %d %b %Y %H:%M:%S GMT", &parts);
  if (end == nullptr || *end != '\0') return std::nullopt;
  const time_t then = ::timegm(&parts);
  const auto since_epoch = std::chrono::floor<std::chrono::seconds>(now.time_since_epoch()).count();
  return std::chrono::seconds(std::clamp<std::int64_t>(then - since_epoch, 0, kMaxRetryAfter));
}

}  // namespace dynolog
