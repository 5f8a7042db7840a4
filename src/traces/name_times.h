// Time and count by name, for a bounded number of names; the few with the most time at the end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "traces/trace_summary.h"

namespace dynolog {

class NameTimes {
 public:
  using Index = std::uint32_t;

  NameTimes();

  // The name's place, made when it is new. Names beyond the limit share one that is never told.
  [[nodiscard]] Index index_of(std::string_view name);
  void add_time(Index index, std::int64_t ns);
  void add_count(Index index) { ++entries_[index].count; }

  [[nodiscard]] std::vector<NameTime> top(std::size_t count) const;
  // Whether there were more names than are told apart.
  [[nodiscard]] bool overflowed() const { return entries_[kBeyond].count > 0; }

  static constexpr std::size_t kMaxNames = 8'192;
  static constexpr Index kBeyond = 0;  // of the names beyond the limit

 private:
  struct Entry {
    std::string name;  // its beginning
    std::int64_t ns = 0;
    std::uint64_t count = 0;
  };
  // Keeps a trace from choosing names that all fall into one bucket.
  struct Scatter {
    std::uint64_t factor;
    std::size_t operator()(std::uint64_t hash) const { return (hash * factor) >> 16U; }
  };

  std::unordered_map<std::uint64_t, Index, Scatter> index_by_hash_;
  std::vector<Entry> entries_;
};

}  // namespace dynolog
