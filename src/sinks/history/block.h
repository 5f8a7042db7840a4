// A block: the values of many series over a stretch of time, column by column. Readings of slower
// sources take room only where they were read: a column names the pattern of its ticks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/ids.h"

namespace dynolog::history {

using SeriesNumber = std::uint32_t;  // names a series in the store, for good

// Series of one part share blocks, so that a query reads those of its own series only.
inline constexpr SeriesNumber kSeriesPerPart = 1024;
using Part = std::uint32_t;
[[nodiscard]] constexpr Part part_of(SeriesNumber series) { return series / kSeriesPerPart; }

// Which of a series' figures a column holds. Blocks as read have `last` only; roll-ups have all:
// of a counter the others are of its rate within the minute.
enum class Field : std::uint8_t { last, mean, min, max };
inline constexpr unsigned kFields = 4;

struct ColumnKey {
  SeriesNumber series = 0;
  Field field = Field::last;
  auto operator<=>(const ColumnKey&) const = default;
};

struct Tick {
  std::int64_t wall_ms = 0;       // since the epoch
  std::int64_t monotonic_us = 0;  // comparable within a session
};

inline constexpr std::size_t kMaxTicks = 4096;
// Each series of a part may have come and gone at times of its own.
inline constexpr std::size_t kMaxPatterns = kSeriesPerPart;
inline constexpr std::size_t kMaxColumns = 16'384;
inline constexpr std::size_t kMaxBlockBytes = 64U << 20U;  // plain

// 1 for each of the block's ticks at which the source was read, else 0. Kept apart from "absent": a
// value that was not read holds on, one that is absent is gone. Bytes, as they are compared often.
using TickMask = std::vector<std::uint8_t>;

class BlockWriter {
 public:
  // At most kMaxTicks. `session` tells which readings of the monotonic clock can be compared.
  BlockWriter(std::uint64_t session, std::span<const Tick> ticks);

  // In the order of their keys. `values`: one for each tick of the mask, NaN where it is absent.
  // False when the block is full: the column is not in it.
  [[nodiscard]] bool add(ColumnKey key, const TickMask& mask, std::span<const double> values);
  [[nodiscard]] std::string finish() &&;
  [[nodiscard]] std::size_t columns() const { return columns_; }

 private:
  std::uint64_t session_;
  std::vector<Tick> ticks_;
  std::vector<TickMask> masks_;
  std::string directory_;
  std::string data_;
  std::uint64_t key_before_ = 0;
  std::size_t columns_ = 0;
};

// Reads foreign bytes: a file may hold anything.
class BlockReader {
 public:
  struct Column {
    ColumnKey key;
    std::uint16_t pattern = 0;
    std::string_view bytes;
  };

  // `plain` outlives the reader. An error of kind invalid for what is no block.
  [[nodiscard]] static Result<BlockReader> open(std::string_view plain);

  [[nodiscard]] std::uint64_t session() const { return session_; }
  [[nodiscard]] std::span<const Tick> ticks() const { return ticks_; }
  [[nodiscard]] std::span<const Column> columns() const { return columns_; }
  [[nodiscard]] const Column* find(ColumnKey key) const;
  // Indexes of the ticks at which the column has a value or an absence, in order.
  [[nodiscard]] std::span<const std::uint16_t> ticks_of(const Column& column) const {
    return patterns_[column.pattern];
  }
  // One value for each of ticks_of(column).
  [[nodiscard]] Status read(const Column& column, std::vector<double>& values) const;

 private:
  Status read_columns(class ByteReader& from);

  std::uint64_t session_ = 0;
  std::vector<Tick> ticks_;
  std::vector<std::vector<std::uint16_t>> patterns_;
  std::vector<Column> columns_;
};

// zstd with a checksum. Decompression takes foreign bytes: at most kMaxBlockBytes come out.
[[nodiscard]] Result<std::string> compress(std::string_view plain);
[[nodiscard]] Result<std::string> decompress(std::string_view bytes);

// Joins blocks of one session, in the order of time, into one. Where one of them lacks a series
// that another has, the series is absent. An error of kind invalid for a malformed column, of kind
// exhausted when the ticks are more than a block holds.
[[nodiscard]] Result<std::string> join(std::span<const BlockReader> blocks);

}  // namespace dynolog::history
