// Reading a selector, letter by letter.
#include "sinks/history/selector.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "base/ascii.h"
#include "base/text.h"

namespace dynolog::history {
namespace {

constexpr std::size_t kMaxTokens = 512;

bool is_word(char letter) { return is_alnum(letter) || letter == '_' || letter == '.'; }

class Parser {
 public:
  explicit Parser(std::string_view text) : rest_(text) {}

  Result<Selector> selector() {
    Selector selector;
    skip_space();
    const std::size_t end = std::min(rest_.find_first_of("{} \t\"=,"), rest_.size());
    if (end == 0) return wrong("a metric's name is expected first");
    if (rest_.substr(0, end).contains('(')) {
      return wrong(
          "functions are not taken: a counter is shown as its rate per second anyway, and options "
          "put series together");
    }
    selector.name = rest_.substr(0, end);
    rest_.remove_prefix(end);
    skip_space();
    if (rest_.empty()) return selector;
    if (!take('{')) return wrong("after the name only {label=\"value\",...} may follow");
    skip_space();
    while (!take('}')) {
      if (selector.conditions.size() == kMaxConditions) return wrong("too many conditions");
      auto next = condition();
      if (!next) return std::unexpected(std::move(next.error()));
      selector.conditions.push_back(std::move(*next));
      skip_space();
      if (!take(',') && !rest_.starts_with('}')) return wrong("expected , or }");
      skip_space();
    }
    skip_space();
    if (!rest_.empty()) return wrong("nothing may follow }");
    return selector;
  }

 private:
  static std::unexpected<Error> wrong(std::string_view what) {
    return fail(ErrorKind::invalid, fmt::format("{} (example: cpu.time{{mode=\"idle\"}})", what));
  }

  void skip_space() {
    while (!rest_.empty() && (rest_.front() == ' ' || rest_.front() == '\t')) {
      rest_.remove_prefix(1);
    }
  }
  bool take(char letter) {
    if (!rest_.starts_with(letter)) return false;
    rest_.remove_prefix(1);
    return true;
  }

  Result<LabelCondition> condition() {
    LabelCondition condition;
    const auto end = std::ranges::find_if_not(rest_, is_word);
    condition.key = std::string(rest_.begin(), end);
    rest_.remove_prefix(condition.key.size());
    if (condition.key.empty()) return wrong("a label's name is expected");
    skip_space();
    condition.wanted = !take('!');
    const bool equals = take('=');
    condition.is_pattern = take('~');
    // One of = != =~ !~
    if (condition.wanted ? !equals : equals == condition.is_pattern) {
      return wrong("after a label expected =, !=, =~ or !~");
    }
    skip_space();
    auto value = this->value();
    if (!value) return std::unexpected(std::move(value.error()));
    condition.value = std::move(*value);
    if (condition.is_pattern) {
      auto pattern = TextPattern::compile(condition.value);
      if (!pattern) return std::unexpected(std::move(pattern.error()));
      condition.pattern = std::move(*pattern);
    }
    return condition;
  }

  Result<std::string> value() {
    std::string value;
    if (!take('"')) {
      const std::size_t end = std::min(rest_.find_first_of(",} \t"), rest_.size());
      value = rest_.substr(0, end);
      rest_.remove_prefix(end);
      return value;
    }
    while (!rest_.empty() && rest_.front() != '"') {
      if (take('\\') && rest_.empty()) break;
      value.push_back(rest_.front());
      rest_.remove_prefix(1);
    }
    if (!take('"')) return wrong("a quoted value does not end");
    return value;
  }

  std::string_view rest_;
};

}  // namespace

Result<TextPattern> TextPattern::compile(std::string_view expression) {
  TextPattern pattern;
  pattern.alternatives_.emplace_back();
  std::size_t tokens = 0;
  for (std::size_t i = 0; i < expression.size(); ++i) {
    Alternative& now = pattern.alternatives_.back();
    const char letter = expression[i];
    if (++tokens > kMaxTokens) return fail(ErrorKind::invalid, "the expression is too long");
    if (letter == '|') {
      pattern.alternatives_.emplace_back();
    } else if (letter == '.') {
      const char next = i + 1 < expression.size() ? expression[i + 1] : '\0';
      if (next != '*') now.push_back({Kind::any, 0});
      if (next == '*' || next == '+') {
        now.push_back({Kind::many, 0});
        ++i;
      }
    } else if (letter == '\\' && i + 1 < expression.size()) {
      now.push_back({Kind::letter, expression[++i]});
    } else if (std::string_view("*+?()[]{}^$\\").contains(letter)) {
      return fail(ErrorKind::invalid,
                  fmt::format("'{}' in '{}': of regular expressions a query takes letters, . .* .+ "
                              "| and a backslash before one of these",
                              letter, clean_text(expression, 80)));
    } else {
      now.push_back({Kind::letter, letter});
    }
  }
  return pattern;
}

bool TextPattern::matches(std::string_view text) const {
  return std::ranges::any_of(
      alternatives_, [text](const Alternative& alternative) { return matches(alternative, text); });
}

// The last `many` takes one letter more whenever what follows it does not fit.
bool TextPattern::matches(const Alternative& pattern, std::string_view text) {
  std::size_t at = 0;
  std::size_t i = 0;
  std::size_t many_at = pattern.size();
  std::size_t many_i = 0;
  while (i < text.size()) {
    if (at < pattern.size() && pattern[at].kind == Kind::many) {
      many_at = at++;
      many_i = i;
    } else if (at < pattern.size() &&
               (pattern[at].kind == Kind::any || pattern[at].letter == text[i])) {
      ++at;
      ++i;
    } else if (many_at < pattern.size()) {
      at = many_at + 1;
      i = ++many_i;
    } else {
      return false;
    }
  }
  while (at < pattern.size() && pattern[at].kind == Kind::many) ++at;
  return at == pattern.size();
}

Result<Selector> parse_selector(std::string_view text) {
  if (text.size() > kMaxSelector) {
    return fail(ErrorKind::invalid, fmt::format("longer than {} bytes", kMaxSelector));
  }
  auto selector = Parser(text).selector();
  if (!selector) return with_context(std::move(selector.error()), clean_text(text, 200));
  return selector;
}

}  // namespace dynolog::history
