// Who holds a unix socket's name: for the one sentence that a person needs when it is taken.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "base/system_root.h"

namespace dynolog {

// Remembers its answer while the same sockets hold the name: the walk over all processes'
// descriptors is not for every retry.
class NameHolder {
 public:
  // "process 1234 (dynolog)", or "a process that cannot be seen from here". `name` is raw: a path,
  // or an abstract name with its leading NUL.
  [[nodiscard]] const std::string& find(const SystemRoot& root, std::string_view name);

 private:
  std::set<std::string> links_;
  std::string answer_;
};

}  // namespace dynolog
