// Sorting, merging and coarsening of stretches of time.
#include "traces/interval_union.h"

#include <algorithm>

namespace dynolog {

void IntervalUnion::append(Stretch stretch) {
  if (settled_.empty() || stretch.start > settled_.back().end) {
    settled_.push_back(stretch);
    return;
  }
  Stretch& last = settled_.back();
  const bool exact = last.exact() && stretch.exact();
  const std::int64_t sum = last.covered + stretch.covered;
  last.end = std::max(last.end, stretch.end);
  last.covered = exact ? last.length() : std::min(sum, last.length());
}

void IntervalUnion::settle() {
  if (pending_.empty()) return;
  const auto by_start = [](const Interval& a, const Interval& b) { return a.start < b.start; };
  if (!std::is_sorted(pending_.begin(), pending_.end(), by_start)) {
    std::sort(pending_.begin(), pending_.end(), by_start);
  }
  // Mostly the new ones lie behind all others, and this tail is empty or one long.
  const auto touched = std::lower_bound(
      settled_.begin(), settled_.end(), pending_.front().start,
      [](const Stretch& stretch, std::int64_t start) { return stretch.end < start; });
  const std::vector<Stretch> tail(touched, settled_.end());
  settled_.erase(touched, settled_.end());
  auto old = tail.begin();
  for (const Interval& added : pending_) {
    while (old != tail.end() && old->start <= added.start) append(*old++);
    append({added.start, added.end, added.end - added.start});
  }
  while (old != tail.end()) append(*old++);
  pending_.clear();
}

void IntervalUnion::coarsen() {
  if (settled_.size() < 2) return;
  std::vector<std::int64_t> gaps;
  gaps.reserve(settled_.size() - 1);
  for (std::size_t i = 1; i < settled_.size(); ++i) {
    gaps.push_back(settled_[i].start - settled_[i - 1].end);
  }
  const std::size_t joining = (gaps.size() + 1) / 2;
  const auto median = gaps.begin() + static_cast<std::ptrdiff_t>(joining - 1);
  std::nth_element(gaps.begin(), median, gaps.end());
  const std::int64_t limit = *median;
  const auto shorter = static_cast<std::size_t>(
      std::count_if(gaps.begin(), median + 1, [limit](std::int64_t gap) { return gap < limit; }));
  std::size_t as_long = joining - shorter;  // many gaps may be equally long
  std::size_t kept = 0;
  for (std::size_t i = 1; i < settled_.size(); ++i) {
    const std::int64_t gap = settled_[i].start - settled_[kept].end;
    if (gap > limit || (gap == limit && as_long == 0)) {
      settled_[++kept] = settled_[i];
      continue;
    }
    if (gap == limit) --as_long;
    settled_[kept].end = settled_[i].end;
    settled_[kept].covered += settled_[i].covered;
  }
  settled_.resize(kept + 1);
  longest_joined_ns_ = std::max(longest_joined_ns_, limit);
}

IntervalUnion::Cover IntervalUnion::within(std::int64_t from, std::int64_t to) const {
  Cover cover;
  std::int64_t reached = from;
  const auto gap_until = [&](std::int64_t start) {
    if (start - reached <= cover.longest_gap_ns) return;
    cover.longest_gap_ns = start - reached;
    cover.longest_gap_start = reached;
  };
  for (const Stretch& stretch : settled_) {
    const std::int64_t start = std::max(stretch.start, from);
    const std::int64_t end = std::min(stretch.end, to);
    if (start >= end) continue;
    gap_until(start);
    reached = end;
    if (stretch.exact()) {
      cover.covered_ns += end - start;
    } else {
      const double share = static_cast<double>(end - start) / static_cast<double>(stretch.length());
      cover.covered_ns += static_cast<std::int64_t>(static_cast<double>(stretch.covered) * share);
    }
  }
  gap_until(to);
  return cover;
}

}  // namespace dynolog
