// What dyno calls the traces that it brings to its own side. Pure: never a name that a daemon made,
// only one from the user's own pattern and cleaned values.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "rpc/protocol/messages.h"

namespace dynolog {

inline constexpr std::string_view kDefaultName = "trace.json";

struct NamesAsked {
  std::string pattern;  // the name alone; "": kDefaultName
  std::string host;
  std::string time;
  bool snapshot = false;  // PROFILE_MEMORY: a pickle
  bool gzip = false;
};
// The name of each process's file, by its host pid; those that would share one get the host pid
// added. Errors (invalid) name what is wrong with the pattern.
[[nodiscard]] Result<std::map<std::int64_t, std::string>> brought_names(
    const NamesAsked& asked, const std::vector<rpc::PlannedTrace>& planned);

}  // namespace dynolog
