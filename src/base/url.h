// An http:// or https:// URL, taken apart; and percent-encoded text.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"

namespace dynolog {

struct HttpUrl {
  bool tls = false;
  std::string host;  // a name, an IPv4 address, or an IPv6 address without its brackets
  int port = 0;      // 80 or 443 where none is given
  std::string path;  // "/v1/metrics?x=1"; "" where none is given
};

// An error says what is wrong. Users and passwords are refused: they belong into a header.
[[nodiscard]] Result<HttpUrl> parse_http_url(std::string_view text);

// "%20" to " "; an error for what is no percent-encoding or decodes to a NUL.
[[nodiscard]] Result<std::string> percent_decoded(std::string_view text);

// "127.0.0.1", "::1", "localhost": what is sent there does not leave the host.
[[nodiscard]] bool is_loopback_host(std::string_view host);

}  // namespace dynolog
