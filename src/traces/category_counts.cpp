// A short list of categories, searched from the one met last.
#include "traces/category_counts.h"

#include <algorithm>

#include "base/text.h"

namespace dynolog {
namespace {

// Longer ones share the place of those beyond the limit.
constexpr std::size_t kMaxCategoryBytes = kMaxSummaryCategory;

EventKind kind_of(std::string_view category) {
  if (category == "kernel") return EventKind::kernel;
  if (category == "gpu_memcpy" || category == "gpu_memset") return EventKind::gpu_transfer;
  if (category == "cpu_op") return EventKind::cpu_operator;
  if (category == "user_annotation") return EventKind::annotation;
  if (category == "Trace") return EventKind::window;
  return EventKind::other;
}

}  // namespace

CategoryCounts::CategoryCounts() {
  entries_.push_back({.category = "other"});
  entries_.push_back({.category = "metadata", .kind = EventKind::no_category});
  entries_.push_back({.category = "none", .kind = EventKind::no_category});
}

CategoryCounts::Index CategoryCounts::index_of(std::string_view category) {
  if (last_ != kBeyond && entries_[last_].category == category) return last_;
  for (std::size_t i = kNone + 1; i < entries_.size(); ++i) {
    if (entries_[i].category == category) return last_ = static_cast<Index>(i);
  }
  if (entries_.size() >= kMaxCategories || category.size() > kMaxCategoryBytes) return kBeyond;
  last_ = static_cast<Index>(entries_.size());
  entries_.push_back({.category = std::string(category), .kind = kind_of(category)});
  return last_;
}

std::vector<CategoryCount> CategoryCounts::counts() const {
  std::vector<const Entry*> order;
  for (std::size_t i = kBeyond + 1; i < entries_.size(); ++i) {
    if (entries_[i].events > 0) order.push_back(&entries_[i]);
  }
  std::sort(order.begin(), order.end(), [](const Entry* a, const Entry* b) {
    return a->events != b->events ? a->events > b->events : a < b;  // else as in the file
  });
  std::uint64_t others = entries_[kBeyond].events;
  std::vector<CategoryCount> counts;
  for (const Entry* entry : order) {
    if (counts.size() + 1 < kMaxSummaryCategories) {
      counts.push_back(
          {.category = clean_text(entry->category, kMaxSummaryCategory), .events = entry->events});
    } else {
      others += entry->events;
    }
  }
  if (others > 0) counts.push_back({.category = "other", .events = others});
  return counts;
}

}  // namespace dynolog
