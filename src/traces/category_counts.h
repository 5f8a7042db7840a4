// Events by Kineto's category, and what each category means for the figures.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "traces/trace_summary.h"

namespace dynolog {

enum class EventKind : std::uint8_t {
  other,
  kernel,        // a kernel on a GPU
  gpu_transfer,  // a copy or memset on a GPU
  cpu_operator,  // cpu_op
  annotation,    // user_annotation: steps among them
  window,        // the client's own spans
  no_category,
};

class CategoryCounts {
 public:
  using Index = std::uint16_t;

  CategoryCounts();

  // The category's place, made when it is new; more than any real trace has share one.
  [[nodiscard]] Index index_of(std::string_view category);
  [[nodiscard]] EventKind kind(Index index) const { return entries_[index].kind; }
  void count(Index index) { ++entries_[index].events; }

  // Events without a category: names, labels and sort orders; and the rest.
  static constexpr Index kBeyond = 0;
  static constexpr Index kMetadata = 1;
  static constexpr Index kNone = 2;

  // Most first, at most kMaxSummaryCategories, those beyond as "other" at the end.
  [[nodiscard]] std::vector<CategoryCount> counts() const;

 private:
  static constexpr std::size_t kMaxCategories = 128;
  struct Entry {
    std::string category;
    EventKind kind = EventKind::other;
    std::uint64_t events = 0;
  };
  std::vector<Entry> entries_;
  Index last_ = 0;  // most events follow one of the same category
};

}  // namespace dynolog
