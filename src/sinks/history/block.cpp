// A block's bytes, before compression:
//   1, session (8 bytes), number of ticks, their wall times and monotonic times (differences of
//   differences), number of patterns, a bit a tick for each, number of columns, for each the
//   difference of its key to the one before, its pattern and its size; then all columns
#include "sinks/history/block.h"

#include <fmt/format.h>
#include <zstd.h>

#include <algorithm>
#include <memory>

#include "sinks/history/bytes.h"
#include "sinks/history/column.h"

namespace dynolog::history {
namespace {

constexpr std::uint8_t kFormat = 1;
constexpr int kLevel = 3;

std::uint64_t packed(ColumnKey key) {
  return std::uint64_t{key.series} * kFields + static_cast<std::uint64_t>(key.field);
}

void put_times(std::string& to, std::span<const Tick> ticks, std::int64_t Tick::* member) {
  std::int64_t before = 0;
  std::int64_t step = 0;
  for (const Tick& tick : ticks) {
    const std::int64_t now = tick.*member - before;
    put_varint(to, zigzag(now - step));
    before = tick.*member;
    step = now;
  }
}

// Times from bytes that may say anything: sums wrap, they do not overflow.
void read_times(ByteReader& from, std::span<Tick> ticks, std::int64_t Tick::* member) {
  std::uint64_t value = 0;
  std::uint64_t step = 0;
  for (Tick& tick : ticks) {
    step += static_cast<std::uint64_t>(unzigzag(from.varint()));
    value += step;
    tick.*member = static_cast<std::int64_t>(value);
  }
}

// Whoever computes with the times of a block need not think of overflows.
bool is_plausible(const Tick& tick) {
  constexpr std::int64_t kMost = std::int64_t{1} << 53U;
  return tick.wall_ms >= 0 && tick.wall_ms < kMost && tick.monotonic_us >= 0 &&
         tick.monotonic_us < kMost;
}

std::unexpected<Error> no_block(std::string_view why) {
  return fail(ErrorKind::invalid, fmt::format("a block is malformed: {}", why));
}

void put_mask(std::string& to, const TickMask& mask) {
  for (std::size_t i = 0; i < mask.size(); i += 8) {
    unsigned bits = 0;
    for (std::size_t j = i; j < std::min(i + 8, mask.size()); ++j) {
      if (mask[j] != 0) bits |= 1U << (j - i);
    }
    to.push_back(static_cast<char>(bits));
  }
}

}  // namespace

BlockWriter::BlockWriter(std::uint64_t session, std::span<const Tick> ticks)
    : session_(session), ticks_(ticks.begin(), ticks.end()) {}

bool BlockWriter::add(ColumnKey key, const TickMask& mask, std::span<const double> values) {
  auto found = std::ranges::find(masks_, mask);
  if (found == masks_.end()) {
    if (masks_.size() == kMaxPatterns) return false;
    found = masks_.insert(masks_.end(), mask);
  }
  if (columns_ == kMaxColumns) return false;
  const std::size_t before = data_.size();
  append_column(data_, values);
  put_varint(directory_, packed(key) - key_before_);
  put_varint(directory_, static_cast<std::uint64_t>(found - masks_.begin()));
  put_varint(directory_, data_.size() - before);
  key_before_ = packed(key);
  ++columns_;
  return true;
}

std::string BlockWriter::finish() && {
  std::string bytes;
  bytes.reserve(directory_.size() + data_.size() + 16 * ticks_.size() + 64);
  bytes.push_back(static_cast<char>(kFormat));
  put_u64(bytes, session_);
  put_varint(bytes, ticks_.size());
  put_times(bytes, ticks_, &Tick::wall_ms);
  put_times(bytes, ticks_, &Tick::monotonic_us);
  put_varint(bytes, masks_.size());
  for (const TickMask& mask : masks_) put_mask(bytes, mask);
  put_varint(bytes, columns_);
  bytes += directory_;
  bytes += data_;
  return bytes;
}

Result<BlockReader> BlockReader::open(std::string_view plain) {
  BlockReader block;
  ByteReader from(plain);
  if (from.byte() != kFormat) return no_block("it is of another format");
  block.session_ = from.u64();
  block.ticks_.resize(from.count(kMaxTicks));
  read_times(from, block.ticks_, &Tick::wall_ms);
  read_times(from, block.ticks_, &Tick::monotonic_us);
  if (!std::ranges::all_of(block.ticks_, is_plausible)) return no_block("a time cannot be true");
  block.patterns_.resize(from.count(kMaxPatterns));
  for (auto& pattern : block.patterns_) {
    const std::string_view mask = from.take((block.ticks_.size() + 7) / 8);
    if (from.failed()) return no_block("it is cut short");
    for (std::size_t i = 0; i < block.ticks_.size(); ++i) {
      if ((static_cast<std::uint8_t>(mask[i / 8]) >> (i % 8) & 1U) != 0) {
        pattern.push_back(static_cast<std::uint16_t>(i));
      }
    }
  }
  if (auto columns = block.read_columns(from); !columns) {
    return std::unexpected(std::move(columns.error()));
  }
  return block;
}

Status BlockReader::read_columns(ByteReader& from) {
  columns_.resize(from.count(kMaxColumns));
  std::vector<std::size_t> sizes(columns_.size());
  std::uint64_t key = 0;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const std::uint64_t step = from.varint();
    key += step;
    if (from.failed() || (i > 0 && step == 0) || key < step ||
        key / kFields > std::numeric_limits<SeriesNumber>::max()) {
      return no_block("its columns are out of order");
    }
    columns_[i].key = {static_cast<SeriesNumber>(key / kFields), static_cast<Field>(key % kFields)};
    const std::uint64_t pattern = from.varint();
    if (from.failed() || pattern >= patterns_.size()) return no_block("a pattern is missing");
    columns_[i].pattern = static_cast<std::uint16_t>(pattern);
    sizes[i] = from.count(kMaxBlockBytes);
  }
  for (std::size_t i = 0; i < columns_.size(); ++i) columns_[i].bytes = from.take(sizes[i]);
  if (from.failed() || !from.at_end()) return no_block("its size is not what it says");
  return {};
}

const BlockReader::Column* BlockReader::find(ColumnKey key) const {
  const auto found = std::ranges::lower_bound(columns_, key, {}, &Column::key);
  return found != columns_.end() && found->key == key ? &*found : nullptr;
}

Status BlockReader::read(const Column& column, std::vector<double>& values) const {
  return read_column(column.bytes, ticks_of(column).size(), values);
}

Result<std::string> compress(std::string_view plain) {
  const std::unique_ptr<ZSTD_CCtx, std::size_t (*)(ZSTD_CCtx*)> context(ZSTD_createCCtx(),
                                                                        ZSTD_freeCCtx);
  if (!context) return fail(ErrorKind::exhausted, "no memory to compress with");
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_compressionLevel, kLevel);
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_checksumFlag, 1);
  std::string bytes(ZSTD_compressBound(plain.size()), '\0');
  const std::size_t size =
      ZSTD_compress2(context.get(), bytes.data(), bytes.size(), plain.data(), plain.size());
  if (ZSTD_isError(size) != 0U) return fail(ErrorKind::failed, ZSTD_getErrorName(size));
  bytes.resize(size);
  return bytes;
}

Result<std::string> decompress(std::string_view bytes) {
  const unsigned long long size = ZSTD_getFrameContentSize(bytes.data(), bytes.size());
  if (size > kMaxBlockBytes) return no_block("it is not compressed as blocks are");
  std::string plain(static_cast<std::size_t>(size), '\0');
  const std::size_t got = ZSTD_decompress(plain.data(), plain.size(), bytes.data(), bytes.size());
  if (ZSTD_isError(got) != 0U) return no_block(ZSTD_getErrorName(got));
  plain.resize(got);
  return plain;
}

namespace {

// One column over all of the blocks: what each has, one after another.
class JoinedColumn {
 public:
  explicit JoinedColumn(std::span<const BlockReader> blocks) : blocks_(blocks) {}

  Status gather(ColumnKey key) {
    mask_.clear();
    values_.clear();
    for (const BlockReader& block : blocks_) {
      const std::size_t start = mask_.size();
      const BlockReader::Column* column = block.find(key);
      mask_.resize(start + block.ticks().size(), column == nullptr ? 1 : 0);
      if (column == nullptr) {
        values_.resize(values_.size() + block.ticks().size(), kAbsent);
        continue;
      }
      if (auto read = block.read(*column, piece_); !read) return read;
      for (const std::uint16_t tick : block.ticks_of(*column)) mask_[start + tick] = 1;
      values_.insert(values_.end(), piece_.begin(), piece_.end());
    }
    return {};
  }
  [[nodiscard]] const TickMask& mask() const { return mask_; }
  [[nodiscard]] std::span<const double> values() const { return values_; }

 private:
  std::span<const BlockReader> blocks_;
  TickMask mask_;
  std::vector<double> values_;
  std::vector<double> piece_;
};

}  // namespace

Result<std::string> join(std::span<const BlockReader> blocks) {
  std::vector<Tick> ticks;
  std::vector<ColumnKey> keys;
  for (const BlockReader& block : blocks) {
    ticks.insert(ticks.end(), block.ticks().begin(), block.ticks().end());
    for (const BlockReader::Column& column : block.columns()) keys.push_back(column.key);
  }
  if (ticks.size() > kMaxTicks) return fail(ErrorKind::exhausted, "too many ticks for a block");
  std::ranges::sort(keys);
  const auto repeated = std::ranges::unique(keys);
  keys.erase(repeated.begin(), repeated.end());
  BlockWriter writer(blocks.empty() ? 0 : blocks.front().session(), ticks);
  JoinedColumn column(blocks);
  for (const ColumnKey key : keys) {
    if (auto gathered = column.gather(key); !gathered) {
      return std::unexpected(std::move(gathered.error()));
    }
    if (!writer.add(key, column.mask(), column.values())) {
      return fail(ErrorKind::exhausted, "too many columns or patterns for a block");
    }
  }
  return std::move(writer).finish();
}

}  // namespace dynolog::history
