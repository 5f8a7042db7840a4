// What a receiver of OTLP answers, a field that says when to come again, and what a resolver's
// child says: decoded within their bounds, and clean.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/text.h"
#include "base/url.h"
#include "net/host_resolver.h"
#include "sinks/otlp_response.h"

namespace {

void check(bool good) {
  if (!good) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace dynolog;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto partial = decode_otlp_response(text)) {
    check(partial->rejected >= 0);
    check(partial->message.size() <= 400 && is_clean(partial->message));
  }
  for (const char* type : {"application/x-protobuf", "text/plain"}) {
    const std::string said = otlp_error_text(type, text);
    check(said.size() <= 400 && is_clean(said) && !said.contains('\n'));
  }
  if (const auto pause = parse_retry_after(text, WallTime(std::chrono::seconds(1'700'000'000)))) {
    check(pause->count() >= 0 && pause->count() <= 86'400);
  }
  if (const auto addresses = decode_resolved(text)) {
    check(!addresses->empty() && addresses->size() <= kMaxHostAddresses);
  }
  if (const auto url = parse_http_url(text)) {
    check(!url->host.empty() && url->port >= 1 && url->port <= 65'535);
    check(url->path.empty() || url->path.front() == '/');
    check(!url->path.contains('\r') && !url->path.contains('\n') && !url->host.contains('\r'));
  }
  return 0;
}
