// Traces of processes that did nothing, as Kineto writes them, and of some that did little.
#include "traces/nothing_ran.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace dynolog {
namespace {

TraceSummary with(std::vector<CategoryCount> categories) {
  TraceSummary summary;
  summary.categories = std::move(categories);
  return summary;
}

TEST(NothingRan, NamesAndMarksAreNoWork) {
  EXPECT_TRUE(nothing_ran(with({{"metadata", 3}, {"none", 1}})));
  EXPECT_TRUE(nothing_ran(with({{"metadata", 3}, {"Trace", 1}, {"overhead", 2}, {"cpu_op", 0}})));
}

TEST(NothingRan, OneEventOfTheProcessIsEnough) {
  for (const char* const category :
       {"cpu_op", "kernel", "gpu_memcpy", "cuda_runtime", "python_function", "other"}) {
    EXPECT_FALSE(nothing_ran(with({{"metadata", 30}, {"none", 1}, {category, 1}}))) << category;
  }
}

TEST(NothingRan, NobodyCountedIsNoAnswer) { EXPECT_FALSE(nothing_ran(with({}))); }

}  // namespace
}  // namespace dynolog
