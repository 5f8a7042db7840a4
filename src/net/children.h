// What is known of the child processes of a loop. The loop keeps it: it outlives their owners.
#pragma once

#include <cstddef>
#include <map>
#include <string>

namespace dynolog {

// On the loop's thread only.
struct Children {
  // Were given up and could not be reaped yet (stuck in the kernel), by their account.
  std::map<std::string, std::size_t> unreaped;
  std::size_t owned = 0;  // run, and somebody waits for their end

  [[nodiscard]] std::size_t running() const {
    std::size_t count = owned;
    for (const auto& [account, number] : unreaped) count += number;
    return count;
  }
};

}  // namespace dynolog
