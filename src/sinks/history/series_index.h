// Which series the store has, and the number of each. A series is its metric's id and its labels;
// its number stays the same for as long as the store has values of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "metrics/series_table.h"
#include "sinks/history/block.h"

namespace dynolog::history {

inline constexpr SeriesNumber kNoNumber = std::numeric_limits<SeriesNumber>::max();

// "cpu.time\ncpu=0\nmode=idle": clean text, so that a line break ends a label.
[[nodiscard]] std::string key_of(const Series& series);

struct KnownSeries {
  std::string key;
  std::int64_t last_seen_ms = 0;  // wall time
  bool is_gone = false;           // as mark_gone() found it, and the store is told

  [[nodiscard]] std::string_view metric() const {
    return std::string_view(key).substr(0, key.find('\n'));
  }
  using Labels = std::vector<std::pair<std::string_view, std::string_view>>;
  [[nodiscard]] Labels labels() const;
};

// Of the history's thread.
class SeriesIndex {
 public:
  explicit SeriesIndex(std::size_t most) : most_(most) {}
  SeriesIndex(const SeriesIndex&) = delete;
  SeriesIndex& operator=(const SeriesIndex&) = delete;

  // What an earlier daemon stored.
  void restore(SeriesNumber number, KnownSeries series);
  // nullopt when there are too many series.
  [[nodiscard]] std::optional<SeriesNumber> number_of(const Series& series);
  // The same of a table's series, by slot: kNoNumber where there is none. Valid until the next
  // call. The table is remembered: of the next one only what is new in it has to be looked up.
  [[nodiscard]] std::span<const SeriesNumber> numbers_of(
      const std::shared_ptr<const SeriesTable>& table);
  void seen(SeriesNumber number, std::int64_t wall_ms);
  // Those that were last seen before are gone, until they are seen again.
  void mark_gone(std::int64_t before_ms);
  // Of those that are gone forgets which were last seen before, and the longest gone when there are
  // more than `most_gone`; gives their numbers.
  [[nodiscard]] std::vector<SeriesNumber> forget(std::int64_t before_ms, std::size_t most_gone);
  // Which are new, gone or back since the last call: the store has to be told.
  [[nodiscard]] std::vector<SeriesNumber> take_changed() { return std::exchange(changed_, {}); }

  [[nodiscard]] const KnownSeries* find(SeriesNumber number) const;
  [[nodiscard]] const std::unordered_map<SeriesNumber, KnownSeries>& all() const { return known_; }

 private:
  std::size_t most_;
  SeriesNumber next_ = 1;
  std::unordered_map<SeriesNumber, KnownSeries> known_;
  std::unordered_map<std::string_view, SeriesNumber> by_key_;  // views of known_'s keys
  std::vector<SeriesNumber> changed_;
  std::shared_ptr<const SeriesTable> table_;
  std::vector<SeriesNumber> numbers_;  // of table_
};

}  // namespace dynolog::history
