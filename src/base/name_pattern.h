// Choosing devices and fields by name: regular expressions from the options.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/error.h"

namespace dynolog {

// An ECMAScript regular expression, found anywhere in a name unless it says ^ and $.
class NamePattern {
 public:
  // "" is found in nothing. An error of kind invalid says what is wrong with the expression.
  [[nodiscard]] static Result<NamePattern> compile(std::string_view expression);

  // Names over 256 bytes are cut. Allocates: ask once for each name, and keep the answer.
  [[nodiscard]] bool found_in(std::string_view name) const;
  [[nodiscard]] bool empty() const { return compiled_ == nullptr; }

 private:
  struct Compiled;
  std::shared_ptr<const Compiled> compiled_;
};

// Two expressions, as options give them.
struct NameFilterOptions {
  std::string include{};  // "": everything
  std::string exclude{};  // "": nothing
};

class NameFilter {
 public:
  [[nodiscard]] static Result<NameFilter> compile(const NameFilterOptions& options);

  [[nodiscard]] bool accepts(std::string_view name) const {
    if (!include_.empty() && !include_.found_in(name)) return false;
    return !exclude_.found_in(name);
  }

 private:
  NamePattern include_;
  NamePattern exclude_;
};

}  // namespace dynolog
