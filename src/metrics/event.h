// Something that happened: no metric. An XID, an OOM kill, a link flap, a trace session's change,
// an audit line.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"

namespace dynolog {

struct Event {
  WallTime time{};
  std::string kind{};     // "trace.written": dotted, our own words
  std::string subject{};  // what it is about: "pid 4711", "gpu 3"
  std::string text{};     // a sentence
  std::vector<std::pair<std::string, std::string>> fields{};
};

}  // namespace dynolog
