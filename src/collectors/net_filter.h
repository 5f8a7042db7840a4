// Which interfaces' traffic is read: regular expressions, and prefixes as dynolog users know them.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/name_pattern.h"
#include "collectors/options.h"

namespace dynolog {

class TrafficFilter {
 public:
  // An error of kind invalid when the options' expressions are none.
  [[nodiscard]] static Result<TrafficFilter> make(const CollectorOptions::Net& options) {
    auto names = NameFilter::compile(options.devices);
    if (!names) return with_context(std::move(names.error()), "net_include, net_exclude");
    return TrafficFilter(std::move(*names), options);
  }

  // Allocates, as NameFilter does: ask once for each interface.
  [[nodiscard]] bool accepts(std::string_view name) const {
    const auto begins_it = [name](const std::string& prefix) { return name.starts_with(prefix); };
    if (by_prefix_ && !std::ranges::any_of(prefixes_, begins_it)) return false;
    return names_.accepts(name);
  }

 private:
  TrafficFilter(NameFilter names, const CollectorOptions::Net& options)
      : names_(std::move(names)), by_prefix_(options.by_prefix), prefixes_(options.prefixes) {}

  NameFilter names_;
  bool by_prefix_;
  std::vector<std::string> prefixes_;
};

}  // namespace dynolog
