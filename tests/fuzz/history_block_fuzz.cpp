// What a store's file may hold, and what a query may name: blocks, plain and compressed, on
// arbitrary bytes give columns or an error, and selectors a selector or an error.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "sinks/history/block.h"
#include "sinks/history/column.h"
#include "sinks/history/roll_up.h"
#include "sinks/history/selector.h"
#include "sinks/history/time_grid.h"

namespace {

using namespace dynolog::history;

void use(std::string_view plain) {
  const auto block = BlockReader::open(plain);
  if (!block) return;
  std::vector<double> values;
  for (const auto& column : block->columns()) static_cast<void>(block->read(column, values));
  const BlockReader both[] = {*block, *block};
  if (const auto joined = join(both)) {
    if (!BlockReader::open(*joined)) std::abort();
  }
  RollUp roll_up;
  const auto rolled = roll_up.take(*block, [](SeriesNumber number) {
    return Nature{number % 2 == 0 ? dynolog::MetricKind::counter : dynolog::MetricKind::gauge, {}};
  });
  if (rolled && !BlockReader::open(*rolled)) std::abort();
  const Grid grid{0, 1000, 100};
  for (const auto& column : block->columns()) {
    SeriesOnGrid series(grid, column.key.series, {dynolog::MetricKind::counter, {}}, Form::rate,
                        Fold::mean);
    static_cast<void>(series.feed_raw(*block, 0));
    static_cast<void>(series.feed_minutes(*block, 100'000));
    static_cast<void>(series.values());
  }
}

void use_column(std::string_view bytes) {
  std::vector<double> values;
  if (bytes.empty()) return;
  const auto count = static_cast<std::uint8_t>(bytes.front());
  static_cast<void>(read_column(bytes.substr(1), count, values));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  use(bytes);
  use_column(bytes);
  if (const auto plain = decompress(bytes); plain && plain->size() < (1U << 20U)) use(*plain);
  if (const auto selector = parse_selector(bytes)) {
    for (const auto& condition : selector->conditions) {
      static_cast<void>(condition.holds("some_label_0"));
    }
  }
  return 0;
}
