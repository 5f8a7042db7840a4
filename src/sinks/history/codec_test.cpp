// Columns and blocks come back bit for bit, and foreign bytes are refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "sinks/history/block.h"
#include "sinks/history/bytes.h"
#include "sinks/history/column.h"

namespace dynolog::history {
namespace {

using ::testing::ElementsAre;

std::vector<std::uint64_t> bits(const std::vector<double>& values) {
  std::vector<std::uint64_t> all;
  for (const double value : values) {
    all.push_back(std::isnan(value) ? ~std::uint64_t{0} : std::bit_cast<std::uint64_t>(value));
  }
  return all;
}

std::string column_of(const std::vector<double>& values) {
  std::string bytes;
  append_column(bytes, values);
  return bytes;
}

void expect_back(const std::vector<double>& values) {
  std::vector<double> back;
  const std::string bytes = column_of(values);
  ASSERT_TRUE(read_column(bytes, values.size(), back));
  EXPECT_EQ(bits(back), bits(values));
}

TEST(Column, GivesBackWhatItTook) {
  constexpr double kMost = 9'007'199'254'740'992;  // 2^53
  expect_back({});
  expect_back({kAbsent});
  expect_back({kAbsent, kAbsent, kAbsent});
  expect_back({1});
  expect_back({0, 0, 0, 0});
  expect_back({-0.0, 0.0, -0.0});
  expect_back({kMost, kMost - 1, -kMost, kMost + 2, 0});
  expect_back({1e300, -1e300, 5e-324, std::numeric_limits<double>::infinity()});
  expect_back({0.1, 0.2, 0.30000000000000004});
  expect_back({12.34, kAbsent, 12.35, 12.36, kAbsent});
  expect_back({100, 200, 50, 4096, 4096, -7});  // a counter that was reset
  expect_back({1e-9, 2e-9, 1234.000000001});
  expect_back({18446744073709551615.0, 18446744073709549568.0});  // near 2^64
  expect_back({621'401 * 1e-3, 621'402 * 1e-3, 0});
  expect_back({1 * 1e-9, 1'234'567'890'123'457 * 1e-9, 3 * 1e-6, 7 * 1e-2});
}

TEST(Column, GivesBackRandomValues) {
  std::mt19937_64 random(4711);  // NOLINT: the same at each run
  for (int round = 0; round < 300; ++round) {
    std::vector<double> values;
    const auto count = random() % 300;
    double walk = static_cast<double>(random() % 1'000'000);
    const double scale = std::pow(10.0, static_cast<double>(random() % 11));
    for (std::uint64_t i = 0; i < count; ++i) {
      walk += static_cast<double>(random() % 2000) - 500;
      if (random() % 7 == 0 && round % 2 == 0) {
        values.push_back(kAbsent);
      } else if (round % 5 == 0) {
        double any = std::bit_cast<double>(random());
        values.push_back(std::isnan(any) ? 0 : any);
      } else {
        values.push_back(round % 3 == 0 ? walk * (1 / scale) : walk / scale);
      }
    }
    expect_back(values);
  }
}

TEST(Column, TakesLittleRoom) {
  EXPECT_LE(column_of(std::vector<double>(300, 4096)).size(), 3U);
  EXPECT_LE(column_of(std::vector<double>(300, 0.01)).size(), 3U);
  std::vector<double> ticks;
  for (int i = 0; i < 300; ++i) ticks.push_back((123'456'789 + 97.0 * i) / 100);
  EXPECT_LE(column_of(ticks).size(), 300U + 10U);  // a byte a difference
  std::vector<double> pages;
  for (int i = 0; i < 300; ++i) pages.push_back(4096.0 * (1'000'000 + i % 50));
  EXPECT_LE(column_of(pages).size(), 300U + 10U);  // of pages, not of bytes
  // Multiplied with 0.001, which is not the same as divided by 1000.
  std::vector<double> milliseconds;
  for (int i = 0; i < 300; ++i) milliseconds.push_back((621'401 + 97.0 * i) * 1e-3);
  ASSERT_NE(milliseconds[0], 621'401 / 1e3);
  EXPECT_LE(column_of(milliseconds).size(), 300U + 10U);
}

// One number after another, as stores up to version 1 have it.
TEST(Column, ReadsDifferencesOfOlderStores) {
  const std::string bytes("\x23\x01\xf2\xc0\x01\x02\x04\x06", 8);
  std::vector<double> values;
  ASSERT_TRUE(read_column(bytes, 4, values));
  EXPECT_THAT(values, ElementsAre(123.45, 123.46, 123.48, 123.51));
  EXPECT_FALSE(read_column(bytes, 5, values));
  EXPECT_FALSE(read_column(bytes, 3, values));
}

TEST(Column, RefusesOtherBytes) {
  std::vector<double> values;
  const std::string good = column_of({1, 2, kAbsent, 4.5});
  for (std::size_t size = 0; size < good.size(); ++size) {
    EXPECT_FALSE(read_column(good.substr(0, size), 4, values)) << size;
  }
  EXPECT_FALSE(read_column(good + "x", 4, values));
  EXPECT_FALSE(read_column(good, 400, values));
  EXPECT_FALSE(read_column(std::string("\xf5\x01\x02\x00", 4), 1, values));  // no such scale
  EXPECT_TRUE(read_column(std::string("\xd5\x01\x02\x00", 4), 1, values));   // the last one
  EXPECT_FALSE(read_column("\x07", 1, values));                              // no such form
  EXPECT_FALSE(read_column(std::string("\x05\x01\x02\x41", 4) + std::string(65, '\1'), 2,
                           values));  // numbers of 65 bits
  EXPECT_FALSE(read_column(std::string("\x03\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 12), 2,
                           values));  // a number without an end
}

TEST(Bytes, ZigzagIsItsOwnInverse) {
  for (const std::int64_t value :
       {std::int64_t{0}, std::int64_t{1}, std::int64_t{-1},
        std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min()}) {
    EXPECT_EQ(unzigzag(zigzag(value)), value);
  }
}

// --- blocks
// -----------------------------------------------------------------------------

std::vector<Tick> ticks_from(std::int64_t second, std::size_t count) {
  std::vector<Tick> ticks;
  for (std::size_t i = 0; i < count; ++i) {
    const std::int64_t at = second + static_cast<std::int64_t>(i);
    ticks.push_back({at * 1000 + 3, at * 1'000'000 + 17 * static_cast<std::int64_t>(i % 5)});
  }
  return ticks;
}

std::string block_from(std::int64_t second, const std::vector<SeriesNumber>& series) {
  const auto ticks = ticks_from(second, 4);
  BlockWriter writer(7, ticks);
  for (const SeriesNumber number : series) {
    const bool slow = number % 2 == 0;  // read at every other tick
    const TickMask mask = slow ? TickMask{1, 0, 1, 0} : TickMask(4, 1);
    std::vector<double> values;
    for (std::size_t i = 0; i < (slow ? 2U : 4U); ++i) {
      values.push_back(static_cast<double>(number * 1000 + second) + static_cast<double>(i));
    }
    EXPECT_TRUE(writer.add({number, Field::last}, mask, values));
  }
  return std::move(writer).finish();
}

TEST(Block, GivesBackItsColumns) {
  const std::string plain = block_from(1'800'000'000, {1, 2, 5000});
  const auto block = BlockReader::open(plain);
  ASSERT_TRUE(block);
  EXPECT_EQ(block->session(), 7U);
  ASSERT_EQ(block->ticks().size(), 4U);
  EXPECT_EQ(block->ticks()[3].wall_ms, 1'800'000'003'003);
  EXPECT_EQ(block->ticks()[3].monotonic_us, 1'800'000'003'000'051);
  std::vector<double> values;
  const auto* slow = block->find({2, Field::last});
  ASSERT_NE(slow, nullptr);
  EXPECT_THAT(block->ticks_of(*slow), ElementsAre(0, 2));
  ASSERT_TRUE(block->read(*slow, values));
  EXPECT_THAT(values, ElementsAre(1'800'002'000, 1'800'002'001));
  EXPECT_EQ(block->find({3, Field::last}), nullptr);
  EXPECT_EQ(block->find({2, Field::mean}), nullptr);
}

TEST(Block, JoinsBlocksThatFollowEachOther) {
  const std::string first = block_from(100, {1, 2});
  const std::string second = block_from(104, {1, 3});
  std::vector<BlockReader> readers;
  readers.push_back(*BlockReader::open(first));
  readers.push_back(*BlockReader::open(second));
  const auto joined = join(readers);
  ASSERT_TRUE(joined);
  const auto block = BlockReader::open(*joined);
  ASSERT_TRUE(block);
  EXPECT_EQ(block->ticks().size(), 8U);
  std::vector<double> values;
  ASSERT_TRUE(block->read(*block->find({1, Field::last}), values));
  EXPECT_THAT(values, ElementsAre(1100, 1101, 1102, 1103, 1104, 1105, 1106, 1107));
  // The second block lacks series 2: it is absent there, not merely unread.
  const auto* gone = block->find({2, Field::last});
  EXPECT_THAT(block->ticks_of(*gone), ElementsAre(0, 2, 4, 5, 6, 7));
  ASSERT_TRUE(block->read(*gone, values));
  EXPECT_EQ(bits(values), bits({2100, 2101, kAbsent, kAbsent, kAbsent, kAbsent}));
}

// As where processes come and go, and are read every 10 s.
TEST(Block, TakesAPatternOfItsOwnForEachSeriesOfAPart) {
  const auto ticks = ticks_from(0, 1100);
  BlockWriter writer(7, ticks);
  for (SeriesNumber number = 0; number < kSeriesPerPart; ++number) {
    TickMask mask(ticks.size(), 0);
    mask[number] = mask[number + 10] = 1;
    ASSERT_TRUE(writer.add({number, Field::last}, mask, std::vector<double>{1.0 * number, 7}));
  }
  const std::string plain = std::move(writer).finish();
  const auto block = BlockReader::open(plain);
  ASSERT_TRUE(block) << block.error().message;
  std::vector<double> values;
  const auto* last = block->find({kSeriesPerPart - 1, Field::last});
  EXPECT_THAT(block->ticks_of(*last), ElementsAre(1023, 1033));
  ASSERT_TRUE(block->read(*last, values));
  EXPECT_THAT(values, ElementsAre(1023, 7));
}

TEST(Block, RefusesWhatIsCutOrChanged) {
  const std::string plain = block_from(100, {1, 2, 3});
  for (std::size_t size = 0; size < plain.size(); ++size) {
    EXPECT_FALSE(BlockReader::open(std::string_view(plain).substr(0, size))) << size;
  }
  std::vector<double> values;
  for (std::size_t at = 0; at < plain.size(); ++at) {
    for (const int bit : {0, 3, 7}) {
      std::string changed = plain;
      changed[at] = static_cast<char>(changed[at] ^ (1 << bit));
      const auto block = BlockReader::open(changed);
      if (!block) continue;
      for (const auto& column : block->columns()) static_cast<void>(block->read(column, values));
    }
  }
}

TEST(Block, CompressionNoticesDamage) {
  const std::string plain = block_from(100, {1, 2, 3});
  auto bytes = compress(plain);
  ASSERT_TRUE(bytes);
  EXPECT_EQ(*decompress(*bytes), plain);
  std::string changed = *bytes;
  changed[changed.size() / 2] = static_cast<char>(changed[changed.size() / 2] ^ 1);
  EXPECT_FALSE(decompress(changed));
  EXPECT_FALSE(decompress("no zstd at all"));
  EXPECT_FALSE(decompress(""));
}

}  // namespace
}  // namespace dynolog::history
