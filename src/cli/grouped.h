// The same sentence once, with all whom it concerns. Pure.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace dynolog {

class Grouped {
 public:
  // `who` "": nobody in particular. Who is named with a sentence already is not named again.
  void add(const std::string& sentence, const std::string& who) {
    auto found = std::ranges::find(groups_, sentence, &Group::first);
    if (found == groups_.end()) found = groups_.insert(found, {sentence, {}});
    const auto& whose = found->second;
    if (!who.empty() && (whose.empty() || whose.back() != who)) found->second.push_back(who);
  }
  [[nodiscard]] bool holds(const std::string& sentence) const {
    return std::ranges::find(groups_, sentence, &Group::first) != groups_.end();
  }
  [[nodiscard]] std::size_t size() const { return groups_.size(); }

  // "rank 0, pid 7; rank 1, pid 8: the sentence", in the order in which each came first. Of many
  // only the first few are named.
  [[nodiscard]] std::string text() const {
    std::string text;
    for (const auto& [sentence, whose] : groups_) {
      const std::size_t named = whose.size() > kMostNamed + 1 ? kMostNamed : whose.size();
      const auto end = whose.begin() + static_cast<std::ptrdiff_t>(named);
      text += fmt::format("{}", fmt::join(whose.begin(), end, "; "));
      if (named < whose.size()) text += fmt::format(" and {} more", whose.size() - named);
      text += (whose.empty() ? "" : ": ") + sentence + "\n";
    }
    return text;
  }

 private:
  static constexpr std::size_t kMostNamed = 8;
  using Group = std::pair<std::string, std::vector<std::string>>;
  std::vector<Group> groups_;
};

}  // namespace dynolog
