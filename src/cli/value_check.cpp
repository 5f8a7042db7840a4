// CLI11's own checks print ranges with hundreds of digits, and call "5s" a failed conversion.
#include "cli/value_check.h"

#include <fmt/format.h>

#include <algorithm>

#include <CLI/App.hpp>

#include "base/number.h"
#include "base/text.h"

namespace dynolog {
namespace {

constexpr std::size_t kMaxShown = 40;

}  // namespace

CLI::Validator whole_number(std::int64_t least, std::int64_t most) {
  return {[=](std::string& text) -> std::string {
            const auto value = parse_number<std::int64_t>(text);
            if (value && *value >= least && *value <= most) return "";
            return fmt::format("must be a whole number from {} to {}, not \"{}\"", least, most,
                               clean_text(text, kMaxShown));
          },
          ""};
}

CLI::Validator number(double least, double most) {
  return {[=](std::string& text) -> std::string {
            const auto value = parse_number<double>(text);
            if (value && *value >= least && *value <= most) return "";
            return fmt::format("must be a number from {} to {}, not \"{}\"", least, most,
                               clean_text(text, kMaxShown));
          },
          ""};
}

CLI::Validator not_empty() {
  return {[](std::string& text) -> std::string { return text.empty() ? "must not be empty" : ""; },
          ""};
}

CLI::Validator host_only() {
  return {[](std::string& text) -> std::string {
            if (text.empty()) return "must not be empty";
            // Several colons are an IPv6 address.
            if (std::ranges::count(text, ':') != 1) return "";
            const auto colon = text.find(':');
            return fmt::format("takes no port: --hostname {} --port {}",
                               clean_text(text.substr(0, colon), kMaxShown),
                               clean_text(text.substr(colon + 1), kMaxShown));
          },
          ""};
}

}  // namespace dynolog
