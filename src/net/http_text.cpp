// Decoding header fields and query strings.
#include "net/http_text.h"

#include <openssl/crypto.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "base/ascii.h"
#include "base/base64.h"
#include "base/number.h"
#include "base/text.h"
#include "base/url.h"

namespace dynolog {
namespace {

constexpr std::size_t kMaxValues = 64;
constexpr std::size_t kMaxValueBytes = 256;
constexpr std::size_t kMaxRanges = 32;

// In a form's text a blank may be a plus sign.
Result<std::string> form_decoded(std::string_view text) {
  std::string with_blanks(text);
  std::ranges::replace(with_blanks, '+', ' ');
  return percent_decoded(with_blanks);
}

// "q=0.5" of an item's parameters.
double quality_of(std::string_view parameter) {
  const auto value = parse_number<double>(trim(parameter));
  return value && std::isfinite(*value) ? std::clamp(*value, 0.0, 1.0) : 0;
}

// Calls `visit(name, value)` for each parameter after an item's own text, which it gives back.
template <class Visit>
std::string_view split_item(std::string_view item, const Visit& visit) {
  const auto pieces = split(item, ';');
  for (std::size_t i = 1; i < pieces.size(); ++i) {
    const std::size_t equals = pieces[i].find('=');
    if (equals == std::string_view::npos) continue;
    visit(lower(trim(pieces[i].substr(0, equals))), trim(pieces[i].substr(equals + 1)));
  }
  return trim(pieces.front());
}

bool same_secret(std::string_view given, std::string_view secret) {
  // The length of a secret is no secret.
  return given.size() == secret.size() &&
         ::CRYPTO_memcmp(given.data(), secret.data(), secret.size()) == 0;
}

}  // namespace

Result<std::vector<std::string>> query_values(std::string_view query, std::string_view key) {
  std::vector<std::string> values;
  for (const std::string_view pair : split(query, '&')) {
    const std::size_t equals = pair.find('=');
    if (equals == std::string_view::npos) continue;
    const auto name = form_decoded(pair.substr(0, equals));
    auto value = form_decoded(pair.substr(equals + 1));
    if (!name || !value) {
      return fail(ErrorKind::invalid,
                  "the query has a broken escape: write %25 for a percent sign");
    }
    if (*name != key) continue;
    if (values.size() == kMaxValues || value->size() > kMaxValueBytes) {
      return fail(ErrorKind::invalid, "the query has too many values, or one that is too long");
    }
    values.push_back(std::move(*value));
  }
  return values;
}

std::vector<MediaRange> parse_accept(std::string_view accept) {
  std::vector<MediaRange> ranges;
  for (const std::string_view item : split(accept, ',')) {
    if (ranges.size() == kMaxRanges) break;
    MediaRange range;
    range.type = lower(split_item(item, [&](std::string_view name, std::string_view value) {
      if (name == "q") range.quality = quality_of(value);
      if (name == "version") range.version = value;
    }));
    if (!range.type.empty()) ranges.push_back(std::move(range));
  }
  return ranges;
}

bool accepts_gzip(std::string_view accept_encoding) {
  std::optional<double> named;
  std::optional<double> any;
  for (const std::string_view item : split(accept_encoding, ',')) {
    double quality = 1;
    const std::string coding =
        lower(split_item(item, [&](std::string_view name, std::string_view value) {
          if (name == "q") quality = quality_of(value);
        }));
    if (coding == "gzip" || coding == "x-gzip") named = quality;
    if (coding == "*") any = quality;
  }
  return named.value_or(any.value_or(0)) > 0;
}

bool is_authorised(std::string_view authorization, const HttpCredentials& credentials) {
  if (!credentials.basic && !credentials.token) return true;
  const std::size_t space = authorization.find(' ');
  if (space == std::string_view::npos) return false;
  const std::string scheme = lower(authorization.substr(0, space));
  const std::string_view rest = trim(authorization.substr(space + 1));
  if (scheme == "bearer" && credentials.token) return same_secret(rest, *credentials.token);
  if (scheme != "basic" || !credentials.basic) return false;
  const auto pair = from_base64(rest);
  return pair && same_secret(*pair, *credentials.basic);
}

}  // namespace dynolog
