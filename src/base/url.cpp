// Taking URLs apart, strictly.
#include "base/url.h"

#include <algorithm>

#include "base/ascii.h"
#include "base/number.h"

namespace dynolog {
namespace {

constexpr std::size_t kMaxHost = 253;

bool is_host_letter(char letter) {
  return is_alnum(letter) || letter == '-' || letter == '.' || letter == '_';
}

// Hexadecimal digits, colons, a dotted end, a zone: what may stand between brackets.
bool is_bracket_letter(char letter) { return is_host_letter(letter) || letter == ':'; }

bool is_path_letter(char letter) { return letter > ' ' && letter <= '~' && letter != '#'; }

std::unexpected<Error> bad(std::string_view what) {
  return fail(ErrorKind::invalid, std::string(what));
}

// "host", "host:port", "[address]", "[address]:port".
Status take_authority(std::string_view text, HttpUrl& url) {
  std::string_view port;
  std::string_view host = text;
  if (text.starts_with('[')) {
    const std::size_t close = text.find(']');
    if (close == std::string_view::npos) return bad("its '[' is not closed");
    host = text.substr(1, close - 1);
    port = text.substr(close + 1);
    if (!std::ranges::all_of(host, is_bracket_letter)) return bad("its address is none");
  } else {
    const std::size_t colon = std::min(text.find(':'), text.size());
    host = text.substr(0, colon);
    port = text.substr(colon);
    if (!std::ranges::all_of(host, is_host_letter)) return bad("its host is no host's name");
  }
  if (host.empty() || host.size() > kMaxHost) return bad("it names no host");
  url.host = host;
  url.port = url.tls ? 443 : 80;
  if (port.empty()) return {};
  const auto number = port.starts_with(':') ? parse_number<int>(port.substr(1)) : std::nullopt;
  if (!number || *number < 1 || *number > 65'535) return bad("its port must be 1 to 65535");
  url.port = *number;
  return {};
}

}  // namespace

Result<HttpUrl> parse_http_url(std::string_view text) {
  HttpUrl url;
  if (text.starts_with("https://")) {
    url.tls = true;
    text.remove_prefix(8);
  } else if (text.starts_with("http://")) {
    text.remove_prefix(7);
  } else {
    return bad("must begin with http:// or https://");
  }
  const std::size_t slash = std::min(text.find_first_of("/?"), text.size());
  const std::string_view authority = text.substr(0, slash);
  const std::string_view path = text.substr(slash);
  if (authority.contains('@')) return bad("a user or password belongs into a header");
  if (auto taken = take_authority(authority, url); !taken) {
    return std::unexpected(std::move(taken.error()));
  }
  if (!std::ranges::all_of(path, is_path_letter)) return bad("its path has a letter that is none");
  url.path = path.starts_with('?') ? "/" + std::string(path) : std::string(path);
  return url;
}

Result<std::string> percent_decoded(std::string_view text) {
  std::string decoded;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '%') {
      decoded += text[at];
      continue;
    }
    const auto byte = parse_number<unsigned char>(text.substr(at + 1, 2), 16);
    if (!byte || *byte == 0 || at + 2 >= text.size()) return bad("its %-encoding is none");
    decoded += static_cast<char>(*byte);
    at += 2;
  }
  return decoded;
}

bool is_loopback_host(std::string_view host) {
  return host == "localhost" || host == "::1" || host.starts_with("127.");
}

}  // namespace dynolog
