// By the categories: those that are no work, by name.
#include "traces/nothing_ran.h"

#include <algorithm>
#include <array>

namespace dynolog {
namespace {

// The window's span; names of processes and threads; "Record Window End", which has no category;
// what the profiler itself costs.
constexpr std::array<std::string_view, 4> kNoWork{"Trace", "metadata", "none", "overhead"};

}  // namespace

bool nothing_ran(const TraceSummary& summary) {
  return !summary.categories.empty() &&
         std::ranges::all_of(summary.categories, [](const CategoryCount& count) {
           return count.events == 0 || std::ranges::find(kNoWork, count.category) != kNoWork.end();
         });
}

}  // namespace dynolog
