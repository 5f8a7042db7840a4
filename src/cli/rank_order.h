// The order of every table: by rank, those without one last, then by pid.
#pragma once

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

namespace dynolog {

template <class Row>
void sort_by_rank(std::vector<Row>& rows) {
  std::ranges::stable_sort(rows, {}, [](const Row& row) {
    return std::pair(row.rank.value_or(std::numeric_limits<int>::max()), row.pid);
  });
}

}  // namespace dynolog
