// A frame's values as the history keeps them until they are written, and how they become blocks.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "metrics/frame.h"
#include "sinks/history/block.h"
#include "sinks/history/series_index.h"

namespace dynolog::history {

// Its vectors are used again: filling it allocates nothing once it has held a frame as large.
struct Row {
  std::shared_ptr<const SeriesTable> table;
  Tick tick;
  std::vector<double> values;          // by slot, NaN where absent
  std::vector<std::uint8_t> is_fresh;  // by source: was it read at this tick?

  void fill(const Frame& frame);
};

struct PlainBlock {
  Part part = 0;
  std::int64_t begin_ms = 0;  // wall time of its first tick
  std::int64_t end_ms = 0;    // of its last one
  std::string plain;
};

// Rows in the order of time, all of one session. `left_out`: how many series have no number,
// because there are too many.
[[nodiscard]] std::vector<PlainBlock> blocks_of(std::span<const Row* const> rows,
                                                std::uint64_t session, SeriesIndex& index,
                                                std::size_t& left_out);

}  // namespace dynolog::history
