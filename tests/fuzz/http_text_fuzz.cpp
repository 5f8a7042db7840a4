// A stranger's query string and header fields: decoded within their bounds, and nobody is let in.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "net/http_text.h"

namespace {

void check(bool good) {
  if (!good) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto values = dynolog::query_values(text, "collect[]")) {
    check(values->size() <= 64);
    for (const auto& value : *values) check(value.size() <= 256);
  }
  const auto ranges = dynolog::parse_accept(text);
  check(ranges.size() <= 32);
  for (const auto& range : ranges) check(range.quality >= 0 && range.quality <= 1);
  if (dynolog::accepts_gzip(text)) check(!text.empty());
  // 24 bytes that no input guesses.
  const dynolog::HttpCredentials secrets{.basic = "prom:0a1b2c3d4e5f6a7b8c9d",
                                         .token = "9f8e7d6c5b4a39281706f5e4"};
  check(!dynolog::is_authorised(text, secrets));
  return 0;
}
