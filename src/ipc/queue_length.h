// Makes sockets with a longer queue than the host's default of 10 datagrams.
#pragma once

#include <optional>
#include <string>

#include "base/system_root.h"

namespace dynolog {

// While it lives, net.unix.max_dgram_qlen is at least 512, where that is permitted: a socket takes
// the value at its creation and keeps it. The old value is then written back.
class LongQueues {
 public:
  explicit LongQueues(const SystemRoot& root);
  ~LongQueues();
  LongQueues(const LongQueues&) = delete;
  LongQueues& operator=(const LongQueues&) = delete;

 private:
  std::string path_;
  std::optional<std::string> before_;
};

}  // namespace dynolog
