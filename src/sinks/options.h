// The sinks' options.
#pragma once

#include <cstddef>
#include <string>

namespace dynolog {

struct JsonSinkOptions {
  bool enabled = false;
  std::string file;  // "": standard output
  // What waits for a reader that does not read; older lines go first.
  std::size_t max_queued_bytes = 1U << 20U;
};

struct SinkOptions {
  JsonSinkOptions json;
};

}  // namespace dynolog
