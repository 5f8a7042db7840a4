// Line by line.
#include "metrics/prometheus_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <unordered_map>
#include <utility>

#include "base/ascii.h"

namespace dynolog {
namespace {

bool is_name_start(char c, bool colon) { return is_alpha(c) || c == '_' || (colon && c == ':'); }
bool is_name_part(char c, bool colon) { return is_name_start(c, colon) || is_digit(c); }

bool is_space(char c) { return c == ' ' || c == '\t'; }

void skip_spaces(std::string_view& rest) {
  while (!rest.empty() && is_space(rest.front())) rest.remove_prefix(1);
}

std::string_view take_name(std::string_view& rest, bool colon) {
  std::size_t size = 0;
  if (!rest.empty() && is_name_start(rest[0], colon)) {
    while (size < rest.size() && is_name_part(rest[size], colon)) ++size;
  }
  const std::string_view name = rest.substr(0, size);
  rest.remove_prefix(size);
  return name;
}

std::string_view take_token(std::string_view& rest) {
  std::size_t size = 0;
  while (size < rest.size() && !is_space(rest[size])) ++size;
  const std::string_view token = rest.substr(0, size);
  rest.remove_prefix(size);
  return token;
}

std::optional<double> number_of(std::string_view text) {
  std::string_view digits = text;
  const bool negative = digits.starts_with('-');
  if (negative || digits.starts_with('+')) digits.remove_prefix(1);
  const std::string word = lower(digits);
  if (word == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (word == "inf" || word == "infinity") {
    return negative ? -std::numeric_limits<double>::infinity()
                    : std::numeric_limits<double>::infinity();
  }
  if (digits.empty() || !(is_digit(digits[0]) || digits[0] == '.')) return std::nullopt;
  double value = 0;
  const char* const end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, value);
  if (error != std::errc{} || stop != end) return std::nullopt;
  return negative ? -value : value;
}

class Parser {
 public:
  Parser(std::string_view text, const TextLimits& limits) : text_(text), limits_(limits) {}

  Result<std::vector<TextFamily>> parse() {
    while (!text_.empty()) {
      ++line_;
      const std::size_t newline = text_.find('\n');
      if (newline == std::string_view::npos) return error("does not end: is it half written?");
      std::string_view line = text_.substr(0, newline);
      text_.remove_prefix(newline + 1);
      if (line.ends_with('\r')) line.remove_suffix(1);
      skip_spaces(line);
      if (line.empty()) continue;
      const Status taken = line.front() == '#' ? take_comment(line.substr(1)) : take_sample(line);
      if (!taken) return std::unexpected(taken.error());
    }
    std::erase_if(families_, [](const TextFamily& family) { return family.samples.empty(); });
    return std::move(families_);
  }

 private:
  struct Known {
    std::size_t index = 0;
    bool has_help = false;
    bool has_type = false;
  };

  [[nodiscard]] std::unexpected<Error> error(std::string_view what) const {
    return fail(ErrorKind::invalid, fmt::format("line {}: {}", line_, what));
  }

  Result<Known*> known(std::string_view name) {
    if (name.size() > limits_.name_bytes) return error("the name is too long");
    const auto [entry, is_new] = known_.try_emplace(std::string(name));
    if (is_new) {
      if (known_.size() > limits_.samples) return error("too many families");
      entry->second.index = families_.size();
      families_.push_back({.name = std::string(name)});
    }
    return &entry->second;
  }

  Status take_comment(std::string_view rest) {
    skip_spaces(rest);
    const std::string_view keyword = take_token(rest);
    if (keyword != "HELP" && keyword != "TYPE") return {};
    skip_spaces(rest);
    const std::string_view name = take_name(rest, true);
    if (name.empty() || (!rest.empty() && !is_space(rest.front()))) {
      return error("no name of a metric after HELP or TYPE");
    }
    auto family = known(name);
    if (!family) return std::unexpected(std::move(family.error()));
    skip_spaces(rest);
    return keyword == "HELP" ? take_help(**family, rest) : take_type(**family, rest);
  }

  Status take_help(Known& known, std::string_view text) {
    if (std::exchange(known.has_help, true)) return error("a second HELP of the same metric");
    auto help = unescaped(text, false);
    if (!help) return std::unexpected(std::move(help.error()));
    families_[known.index].help = std::move(*help);
    return {};
  }

  Status take_type(Known& known, std::string_view text) {
    constexpr std::array<std::string_view, 5> kTypes = {"counter", "gauge", "histogram", "summary",
                                                        "untyped"};
    TextFamily& family = families_[known.index];
    if (std::exchange(known.has_type, true) || !family.samples.empty()) {
      return error("a second TYPE of the same metric, or one after its samples");
    }
    const std::string type = lower(take_token(text));
    skip_spaces(text);
    if (std::ranges::find(kTypes, type) == kTypes.end() || !text.empty()) {
      return error("no type of a metric");
    }
    family.type = type;
    return {};
  }

  // The family of "x_bucket" is x, where x has been said to be a histogram.
  std::string_view family_of(std::string_view name) const {
    for (const std::string_view ending : {"_bucket", "_sum", "_count"}) {
      if (!name.ends_with(ending)) continue;
      const std::string_view whole = name.substr(0, name.size() - ending.size());
      const auto found = known_.find(std::string(whole));
      if (found == known_.end()) continue;
      const std::string& type = families_[found->second.index].type;
      if (type == "histogram" || (type == "summary" && ending != "_bucket")) return whole;
    }
    return name;
  }

  Status take_sample(std::string_view rest) {
    TextSample sample;
    sample.name = take_name(rest, true);
    if (sample.name.empty()) return error("no name of a metric");
    skip_spaces(rest);
    if (rest.starts_with('{')) {
      rest.remove_prefix(1);
      if (auto taken = take_labels(rest, sample); !taken) return taken;
    }
    skip_spaces(rest);
    const auto value = number_of(take_token(rest));
    if (!value) return error("no number");
    skip_spaces(rest);
    if (!rest.empty()) return error("a timestamp, or something else after the number");
    sample.value = *value;
    if (++samples_ > limits_.samples) return error("too many samples");
    auto family = known(family_of(sample.name));
    if (!family) return std::unexpected(std::move(family.error()));
    families_[(*family)->index].samples.push_back(std::move(sample));
    return {};
  }

  Status take_labels(std::string_view& rest, TextSample& sample) {
    while (true) {
      skip_spaces(rest);
      if (rest.starts_with('}')) break;
      const std::string_view key = take_name(rest, false);
      if (key.empty() || key == "__name__" || key.size() > limits_.name_bytes) {
        return error("no name of a label");
      }
      skip_spaces(rest);
      if (!rest.starts_with('=')) return error("no = after the name of a label");
      rest.remove_prefix(1);
      skip_spaces(rest);
      auto value = take_quoted(rest);
      if (!value) return std::unexpected(std::move(value.error()));
      sample.labels.emplace_back(key, std::move(*value));
      if (sample.labels.size() > limits_.labels) return error("too many labels");
      skip_spaces(rest);
      if (rest.starts_with(',')) {
        rest.remove_prefix(1);
      } else if (!rest.starts_with('}')) {
        return error("neither , nor } after a label");
      }
    }
    rest.remove_prefix(1);
    std::ranges::sort(sample.labels);
    const auto twice = std::ranges::adjacent_find(
        sample.labels, [](const auto& a, const auto& b) { return a.first == b.first; });
    if (twice != sample.labels.end()) return error("the same label twice");
    return {};
  }

  Result<std::string> take_quoted(std::string_view& rest) {
    if (!rest.starts_with('"')) return error("the value of a label is not in quotes");
    rest.remove_prefix(1);
    std::size_t size = 0;
    while (size < rest.size() && rest[size] != '"') size += rest[size] == '\\' ? 2 : 1;
    if (size >= rest.size()) return error("the value of a label does not end");
    auto value = unescaped(rest.substr(0, size), true);
    rest.remove_prefix(size + 1);
    return value;
  }

  // A help text keeps what is no escape as it is; a label may not have it.
  Result<std::string> unescaped(std::string_view text, bool of_label) const {
    if (text.size() > limits_.value_bytes) return error("the text is too long");
    std::string made;
    for (std::size_t i = 0; i < text.size(); ++i) {
      const char next = i + 1 < text.size() ? text[i + 1] : '\0';
      if (text[i] != '\\' || (!of_label && next != '\\' && next != 'n')) {
        made += text[i];
      } else if (next == '\\' || next == '"' || next == 'n') {
        made += next == 'n' ? '\n' : next;
        ++i;
      } else {
        return error("a backslash before something else than \\, \" or n");
      }
    }
    return made;
  }

  std::string_view text_;
  const TextLimits& limits_;
  std::size_t line_ = 0;
  std::size_t samples_ = 0;
  std::vector<TextFamily> families_;
  std::unordered_map<std::string, Known> known_;
};

}  // namespace

Result<std::vector<TextFamily>> parse_prometheus_text(std::string_view text,
                                                      const TextLimits& limits) {
  return Parser(text, limits).parse();
}

}  // namespace dynolog
