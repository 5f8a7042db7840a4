// Regular expressions of the standard library, without their exceptions.
#include "base/name_pattern.h"

#include <fmt/format.h>

#include <regex>

namespace dynolog {
namespace {

constexpr std::size_t kMaxExpression = 2048;
constexpr std::size_t kMaxName = 256;  // the library recurses for each byte

}  // namespace

struct NamePattern::Compiled {
  std::regex regex;
};

Result<NamePattern> NamePattern::compile(std::string_view expression) {
  NamePattern pattern;
  if (expression.empty()) return pattern;
  if (expression.size() > kMaxExpression) {
    return fail(ErrorKind::invalid, fmt::format("must be at most {} bytes", kMaxExpression));
  }
  try {
    pattern.compiled_ = std::make_shared<const Compiled>(Compiled{std::regex(
        expression.begin(), expression.end(), std::regex::ECMAScript | std::regex::optimize)});
  } catch (const std::regex_error& error) {
    return fail(ErrorKind::invalid,
                fmt::format("'{}' is no regular expression: {}", expression, error.what()));
  }
  return pattern;
}

bool NamePattern::found_in(std::string_view name) const {
  if (!compiled_) return false;
  name = name.substr(0, kMaxName);
  try {
    return std::regex_search(name.begin(), name.end(), compiled_->regex);
  } catch (const std::regex_error&) {  // too complex for this name
    return false;
  }
}

Result<NameFilter> NameFilter::compile(const NameFilterOptions& options) {
  NameFilter filter;
  auto include = NamePattern::compile(options.include);
  if (!include) return std::unexpected(std::move(include.error()));
  auto exclude = NamePattern::compile(options.exclude);
  if (!exclude) return std::unexpected(std::move(exclude.error()));
  filter.include_ = std::move(*include);
  filter.exclude_ = std::move(*exclude);
  return filter;
}

}  // namespace dynolog
