// The pipeline's options.
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <string>

#include "base/clock.h"

namespace dynolog {

struct PipelineOptions {
  std::chrono::seconds interval{1};
  // A collector that takes longer in so many runs one after another is read less often. Its first
  // run, which opens files and series, does not count.
  Nanoseconds slow_run = Milliseconds(5);
  unsigned slow_runs = 3;
  // Collectors by name that are read at a period of the user's choice, whatever they take.
  std::map<std::string, std::chrono::seconds> collector_periods{};
  // Collectors by name that an earlier pipeline has said to be not available here, with the reason:
  // only a change is said again.
  std::map<std::string, std::string> known_missing{};
  std::size_t max_series = 200'000;
  std::size_t max_queued_events = 4096;
};

}  // namespace dynolog
