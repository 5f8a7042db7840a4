// What HTTP's header fields and query strings say. Pure functions over foreign text, each bounded.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace dynolog {

// The values of `key` in a query string ("collect[]=cpu&collect%5B%5D=load"), decoded, in order: at
// most 64 of at most 256 bytes each. An error (invalid) beyond that and for a broken escape.
[[nodiscard]] Result<std::vector<std::string>> query_values(std::string_view query,
                                                            std::string_view key);

// One range of an Accept field: "text/plain;version=0.0.4;q=0.5".
struct MediaRange {
  std::string type{};     // lower case: "text/plain", "*/*"
  std::string version{};  // of the parameter of that name; "": none
  double quality = 1;     // 0 to 1; one that cannot be read counts as 0
};
// At most the first 32.
[[nodiscard]] std::vector<MediaRange> parse_accept(std::string_view accept);

// Does an Accept-Encoding field take gzip? An empty one does not.
[[nodiscard]] bool accepts_gzip(std::string_view accept_encoding);

// Whom to let in: either is enough, and none lets everybody in.
struct HttpCredentials {
  std::optional<std::string> basic{};  // "user:password"
  std::optional<std::string> token{};
};
// Does an Authorization field carry one of them? Compares in constant time.
[[nodiscard]] bool is_authorised(std::string_view authorization,
                                 const HttpCredentials& credentials);

}  // namespace dynolog
