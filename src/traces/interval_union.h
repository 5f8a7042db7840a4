// The union of many stretches of time, in memory that can be bounded: the stretches may come in any
// order, touch and overlap.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace dynolog {

class IntervalUnion {
 public:
  // Requires start < end. Times in nanoseconds, within kMaxTraceNs (trace_time.h).
  void add(std::int64_t start, std::int64_t end) {
    if (!pending_.empty() && start >= pending_.back().start && start <= pending_.back().end) {
      if (end > pending_.back().end) pending_.back().end = end;
      return;
    }
    pending_.push_back({start, end});
  }
  // Whether settle() is due: the added ones, which are kept as they come, are many.
  [[nodiscard]] bool due() const {
    return pending_.size() >= kLeastPending && pending_.size() >= settled_.size() / 4;
  }
  // Works the added ones into the union.
  void settle();
  // Halves the number of separate stretches, by joining those with the shortest gaps between them.
  // How much of such a joint stretch is covered is remembered, but what is added to it later may
  // have been counted already: covered times are estimates from then on. Requires settle().
  void coarsen();

  // What is held. All of these require settle().
  [[nodiscard]] std::size_t size() const { return settled_.size(); }
  [[nodiscard]] bool coarse() const { return longest_joined_ns_ > 0; }
  [[nodiscard]] std::int64_t last() const { return settled_.back().end; }  // requires size() > 0

  struct Cover {
    std::int64_t covered_ns = 0;
    std::int64_t longest_gap_ns = 0;
    std::int64_t longest_gap_start = 0;
  };
  // Within [from, to]: how much is covered, and the longest stretch that is not.
  [[nodiscard]] Cover within(std::int64_t from, std::int64_t to) const;

 private:
  static constexpr std::size_t kLeastPending = 4096;
  struct Interval {
    std::int64_t start;
    std::int64_t end;
  };
  struct Stretch {
    std::int64_t start;
    std::int64_t end;
    std::int64_t covered;  // less than its length where coarsen() joined several
    [[nodiscard]] std::int64_t length() const { return end - start; }
    [[nodiscard]] bool exact() const { return covered == length(); }
  };
  void append(Stretch stretch);

  std::vector<Stretch> settled_;   // in order, apart from each other
  std::vector<Interval> pending_;  // as added
  std::int64_t longest_joined_ns_ = 0;
};

}  // namespace dynolog
