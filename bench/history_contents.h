// What the bytes of a history are made of: for finding out where they go.
#pragma once

#include <cstdint>
#include <string>

#include "base/error.h"
#include "sinks/history/store.h"

namespace dynolog::history {

// Of the joined blocks of readings. A value varies when its series does within its block.
struct Contents {
  std::uint64_t blocks = 0;
  double seconds = 0;
  double bytes = 0;
  double bytes_anew = 0;  // if this version joined the same values
  double values = 0;
  double varying = 0;
  std::string breakdown;  // a table: forms, then the metrics that cost most

  [[nodiscard]] double bytes_a_value() const { return bytes / values; }
  [[nodiscard]] double bytes_a_varying_value() const { return bytes / varying; }
};

[[nodiscard]] Result<Contents> contents_of(Store& store);

}  // namespace dynolog::history
