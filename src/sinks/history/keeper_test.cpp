// What the store keeps: across daemons, within its budget, and when its files are damaged.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cmath>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "sinks/history/full_disk.h"
#include "sinks/history/history_test_support.h"
#include "sinks/history/sqlite.h"

namespace dynolog::history {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::StartsWith;

const std::string kEth0 = "net.bytes{device=\"eth0\"}";

std::uint64_t bytes_in(const std::string& directory) {
  std::uint64_t bytes = 0;
  for (const auto& file : std::filesystem::directory_iterator(directory)) bytes += file.file_size();
  return bytes;
}

// No file may grow beyond so many bytes: as on a disk that is full.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    handler_ = ::signal(SIGXFSZ, SIG_IGN);
    rlimit limit = before_;
    limit.rlim_cur = bytes;
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    ::signal(SIGXFSZ, handler_);
  }

 private:
  rlimit before_{};
  sighandler_t handler_ = SIG_DFL;
};

// NaN is not equal to itself; these are compared as what they say.
std::string as_text(const std::vector<double>& values) {
  std::string text;
  for (const double value : values) text += fmt::format("{} ", value);
  return text;
}

// eth0's counter in each second, but for those from `gone` to `gone_until`.
std::vector<double> seconds_but(std::int64_t first, std::int64_t last, std::int64_t gone,
                                std::int64_t gone_until) {
  std::vector<double> values;
  for (std::int64_t second = first; second <= last; ++second) {
    const bool is_gone = second >= gone && second <= gone_until;
    values.push_back(is_gone ? std::nan("") : 1000 * static_cast<double>(second));
  }
  return values;
}

class KeeperTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!unsuitable(place_.path()).empty()) GTEST_SKIP() << kNoPlaceForAHistory;
  }
  [[nodiscard]] std::string file() const { return place_.path() + "/" + kStoreFile; }

  TestHost host_;
  TemporaryPlace place_;
};

TEST_F(KeeperTest, TheNextDaemonFindsWhatWasKept) {
  {
    KeptHistory history(place_.path());
    EXPECT_THAT(history.reports(), Contains("ok: "));
    history.run(host_, 700);
  }
  struct stat info{};
  ASSERT_EQ(::stat(file().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777U, 0640U);
  KeptHistory history(place_.path(), 64U << 20U, 2);
  history.run(host_, 300);
  const auto rates = history.values({.selector = kEth0}, 900, 100);
  ASSERT_EQ(rates.size(), 9U);
  EXPECT_THAT(rates, Each(1000));
  // The seconds between the two daemons, 690 to 700, have neither a rate nor a guess, nor has 701,
  // before which nothing was read.
  const auto seconds = history.values({.selector = kEth0}, 400, 1);
  EXPECT_EQ(std::ranges::count_if(seconds, [](double value) { return std::isnan(value); }), 12);
}

// What a killed daemon leaves is what its files are at that moment: nothing is closed, no log is
// written back.
TEST_F(KeeperTest, AKillLosesWhatIsNotWrittenYetAndNoMore) {
  KeptHistory killed(place_.path());
  std::int64_t before = 0;
  for (const std::int64_t lived : {45, 299, 330, 700}) {
    SCOPED_TRACE(lived);
    killed.run(host_, lived - std::exchange(before, lived));
    const TemporaryPlace left;
    std::filesystem::copy(place_.path(), left.path());
    KeptHistory next(left.path(), 64U << 20U, 2);
    TestHost later;
    later.skip(lived);
    next.run(later, 40);
    EXPECT_THAT(next.reports(), Each("ok: "));
    const std::int64_t written = lived / 30 * 30 - 1;  // the newest second of the last half minute
    EXPECT_EQ(as_text(next.readings(kEth0, 1, lived + 40)),
              as_text(seconds_but(1, lived + 40, written + 1, lived)));
  }
}

// A power cut leaves a beginning of the log. Blocks go from its end, each whole; the store stays.
TEST_F(KeeperTest, ATornLogCostsItsEndOnly) {
  KeptHistory cut_off(place_.path());
  cut_off.run(host_, 100);
  const std::uint64_t whole = std::filesystem::file_size(file() + "-wal");
  std::set<std::int64_t> found;
  for (std::uint64_t share = 0; share <= 8; ++share) {
    const std::uint64_t size = share == 8 ? whole - 1 : whole * share / 8;
    SCOPED_TRACE(size);
    const TemporaryPlace left;
    std::filesystem::copy(place_.path(), left.path());
    std::filesystem::resize_file(left.path() + "/" + kStoreFile + "-wal", size);
    KeptHistory next(left.path(), 64U << 20U, 2);
    TestHost later;
    later.skip(100);
    next.run(later, 1);
    EXPECT_THAT(next.reports(), Each("ok: "));
    EXPECT_THAT(next.log().lines(), ::testing::IsEmpty());
    const auto readings = next.readings(kEth0, 1, 100);
    const std::int64_t kept =
        std::ranges::count_if(readings, [](double value) { return !std::isnan(value); });
    if (kept > 0) {
      EXPECT_EQ(as_text(readings), as_text(seconds_but(1, 100, kept + 1, 100)));
    }
    found.insert(kept);
  }
  EXPECT_THAT(found, ::testing::IsSubsetOf({0, 29, 59}));
  EXPECT_THAT(found, Contains(59)) << "a byte less than all costs one block";
}

TEST_F(KeeperTest, AFileThatIsNoStoreIsSetAside) {
  std::ofstream(file()) << std::string(100'000, 'x');
  KeptHistory history(place_.path());
  EXPECT_TRUE(history.log().contains("is begun anew"));
  EXPECT_TRUE(std::filesystem::exists(file() + ".unreadable"));
  history.run(host_, 100);
  EXPECT_THAT(history.values({.selector = kEth0}, 60, 10), Each(1000));
  EXPECT_THAT(history.reports(), Contains("ok: "));
}

// SQLite opens them by their names: it would wait for a FIFO's other end, and follow a link.
TEST_F(KeeperTest, WhatIsNoFileOfItsOwnIsNotOpened) {
  const std::string treasure = place_.path() + "/treasure";
  for (const char* suffix : {"", "-wal", "-shm", "-journal"}) {
    const std::string path = file() + suffix;
    for (const std::string what : {"fifo", "link", "second name", "directory"}) {
      SCOPED_TRACE(what + " at " + path);
      std::ofstream(treasure) << "untouched";
      if (what == "fifo") ::mkfifo(path.c_str(), 0640);
      if (what == "link") std::filesystem::create_symlink(treasure, path);
      if (what == "second name") std::filesystem::create_hard_link(treasure, path);
      if (what == "directory") std::filesystem::create_directory(path);
      {
        KeptHistory history(place_.path());
        EXPECT_THAT(history.reports(),
                    Contains(AllOf(StartsWith("degraded: kept in memory only"),
                                   HasSubstr(path + " is not a file of the "
                                                    "daemon's own: remove it"))));
      }
      EXPECT_EQ(std::filesystem::file_size(treasure), 9U);
      EXPECT_TRUE(std::filesystem::remove(path)) << "left for whoever put it there to see";
      std::filesystem::remove(treasure);
    }
  }
  KeptHistory history(place_.path());
  EXPECT_THAT(history.reports(), Contains("ok: "));
}

// SQLite quotes what it found, whatever that is.
TEST_F(KeeperTest, WhatADamagedFileHoldsDoesNotGetIntoTheLog) {
  {
    const KeptHistory history(place_.path());
  }
  std::string bytes;
  {
    auto database = Database::open(std::filesystem::canonical(file()));
    ASSERT_TRUE(database);
    ASSERT_TRUE(database->execute("PRAGMA wal_checkpoint(TRUNCATE)"));
    std::ifstream in(file(), std::ios::binary);
    bytes.assign(std::istreambuf_iterator<char>(in), {});
  }
  const std::size_t column = bytes.rfind("end_ms");
  ASSERT_NE(column, std::string::npos);
  bytes.replace(column, 3, "\x1b\xff\n");
  std::ofstream(file(), std::ios::binary) << bytes;
  for (const char* log : {"-wal", "-shm"}) std::filesystem::remove(file() + log);
  KeptHistory history(place_.path());
  EXPECT_TRUE(history.log().contains("is begun anew"));
  for (const auto& line : history.log().lines()) EXPECT_TRUE(is_clean(line.text)) << line.text;
  EXPECT_THAT(history.reports(), Contains("ok: "));
}

TEST_F(KeeperTest, AStoreOfAnotherVersionIsSetAside) {
  {
    const KeptHistory history(place_.path());
  }
  {
    auto database = Database::open(std::filesystem::canonical(file()));
    ASSERT_TRUE(database);
    ASSERT_TRUE(database->execute("PRAGMA user_version=99"));
  }
  KeptHistory history(place_.path());
  EXPECT_TRUE(history.log().contains("version 99"));
  EXPECT_THAT(history.reports(), Contains("ok: "));
}

TEST_F(KeeperTest, AStoreOfTheFirstVersionIsTakenOver) {
  {
    KeptHistory history(place_.path());
    history.run(host_, 400);
  }
  {
    auto database = Database::open(std::filesystem::canonical(file()));
    ASSERT_TRUE(database);
    ASSERT_TRUE(database->execute("ALTER TABLE series DROP COLUMN gone_ms; PRAGMA user_version=1"));
  }
  KeptHistory history(place_.path(), 64U << 20U, 2);
  EXPECT_THAT(history.reports(), Each("ok: "));
  EXPECT_EQ(history.log().lines().size(), 0U);
  history.run(host_, 60);
  EXPECT_THAT(history.values({.selector = kEth0}, 200, 100), Each(1000));
}

// Readings of an hour and a little more.
TEST_F(KeeperTest, JoinsReadingsToLongBlocksWhereThereIsRoom) {
  for (const auto& [megabytes, most] : {std::pair(64U, 6U), std::pair(8U, 14U)}) {
    const TemporaryPlace place;
    TestHost host;
    KeptHistory history(place.path(), megabytes << 20U);
    history.run(host, 3650);
    const auto blocks = history.keeper().store().find(BlockKind::raw, 0, 0, host.now_ms());
    ASSERT_TRUE(blocks);
    EXPECT_GE(blocks->size(), most - 2) << megabytes;
    EXPECT_LE(blocks->size(), most) << megabytes;
    EXPECT_THAT(history.values({.selector = kEth0}, 3600, 600), Each(1000));
  }
}

// Over an hour of readings within one quarter of an hour of the clock's.
TEST_F(KeeperTest, LosesNothingWhenTheClockIsSetBackAgainAndAgain) {
  KeptHistory history(place_.path());
  for (int i = 0; i < 6; ++i) {
    history.run(host_, 880);
    host_.set_clock(-std::chrono::seconds(880));
  }
  history.run(host_, 1000);
  EXPECT_EQ(history.log().lines().size(), 0U);
  std::size_t ticks = 0;
  const Status read = history.keeper().raw(0, 0, host_.now_ms(), [&](const BlockReader& block) {
    ticks += block.ticks().size();
    return Status();
  });
  EXPECT_TRUE(read);
  EXPECT_GT(ticks, 6U * 880U + 1000U - 31U);
}

// However often the daemon is started anew meanwhile.
TEST_F(KeeperTest, ASeriesThatIsGoneGoesWithItsLastBlock) {
  const auto is_known = [](KeptHistory& history, const std::string& key) {
    const auto series = history.keeper().store().series();
    EXPECT_TRUE(series);
    return series && std::ranges::find(*series, key, &StoredSeries::key) != series->end();
  };
  constexpr std::uint64_t kHours = 9;
  for (std::uint64_t hour = 1; hour <= kHours; ++hour) {
    KeptHistory history(place_.path(), 256U << 10U, hour);
    history.run(host_, 3600);
    if (hour == 1) host_.remove_eth1();
    const bool has_blocks = history.keeper().minutes_since_ms() <= (kTestStart + 3540) * 1000;
    EXPECT_TRUE(is_known(history, "net.bytes\ndevice=eth0"));
    EXPECT_TRUE(is_known(history, "net.bytes\ndevice=eth1") || !has_blocks) << hour;
    if (hour == kHours) {
      EXPECT_FALSE(has_blocks);
      EXPECT_FALSE(is_known(history, "net.bytes\ndevice=eth1"));
    }
  }
}

TEST_F(KeeperTest, AStoreWithImpossibleNumbersIsSetAside) {
  {
    KeptHistory history(place_.path());
    history.run(host_, 100);
  }
  {
    auto database = Database::open(std::filesystem::canonical(file()));
    ASSERT_TRUE(database);
    ASSERT_TRUE(
        database->execute("UPDATE block SET sequence = 9223372036854775807 WHERE id = "
                          "(SELECT max(id) FROM block)"));
  }
  KeptHistory history(place_.path());
  EXPECT_TRUE(history.log().contains("numbers that no history gives"));
  EXPECT_THAT(history.reports(), Contains("ok: "));
}

TEST_F(KeeperTest, ADamagedBlockCostsItsOwnValuesOnly) {
  {
    KeptHistory history(place_.path());
    history.run(host_, 1000);
  }
  {  // a quarter of an hour
    auto database = Database::open(std::filesystem::canonical(file()));
    ASSERT_TRUE(database);
    ASSERT_TRUE(
        database->execute("UPDATE block SET data = zeroblob(length(data)) WHERE id = "
                          "(SELECT id FROM block WHERE kind = 0 ORDER BY sequence LIMIT 1)"));
  }
  KeptHistory history(place_.path(), 64U << 20U, 2);
  history.run(host_, 60);
  EXPECT_THAT(history.reports(), Each("ok: "));
  // The first block that was joined: up to second 899. 990 to 1000 were not written.
  auto expected = seconds_but(1, 1060, 990, 1000);
  std::fill_n(expected.begin(), 899, std::nan(""));
  EXPECT_EQ(as_text(history.readings(kEth0, 1, 1060)), as_text(expected));
  EXPECT_TRUE(history.log().contains("damaged blocks"));
}

TEST_F(KeeperTest, TheOldestGoWhenTheBudgetIsUsed) {
  KeptHistory history(place_.path(), 384U << 10U);
  history.run(host_, 4 * 3600 + 1800);
  EXPECT_LE(bytes_in(place_.path()), 384U << 10U);
  EXPECT_THAT(history.reports(), Each("ok: "));
  EXPECT_GT(history.keeper().raw_since_ms(), kTestStart * 1000 + 1800 * 1000);
  EXPECT_THAT(history.values({.selector = kEth0}, 600, 60), Each(1000));
}

TEST_F(KeeperTest, ASmallerBudgetIsKeptAtTheNextStart) {
  {
    KeptHistory history(place_.path(), 8U << 20U);
    history.run(host_, 4 * 3600);
  }
  ASSERT_GT(bytes_in(place_.path()), 256U << 10U);
  KeptHistory history(place_.path(), 256U << 10U, 2);
  history.run(host_, 120);
  EXPECT_LT(std::filesystem::file_size(file()), 256U << 10U);
  EXPECT_THAT(history.values({.selector = kEth0}, 60, 60), Each(1000));
}

TEST_F(KeeperTest, AFullDiskStopsTheHistoryUntilThereIsRoom) {
  KeptHistory history(place_.path());
  history.run(host_, 100);
  {
    const FileSizeLimit limit(4096);
    history.run(host_, 120);
    EXPECT_THAT(history.reports().back(), StartsWith("degraded: nothing is written at present"));
  }
  history.run(host_, 120);
  EXPECT_EQ(history.reports().back(), "ok: ");
  EXPECT_THAT(history.values({.selector = kEth0}, 60, 10), Each(1000));
  EXPECT_EQ(history.log().lines().size(), 0U) << "nothing is set aside for it";
}

// Its file is as large as it may be, and the disk is full besides: the one must not be taken for
// the other, or what is kept would be given up for nothing, half minute by half minute.
TEST_F(KeeperTest, AFullDiskCostsNothingThatIsKept) {
  for (const auto room : {DiskOfSqlite::Room::none, DiskOfSqlite::Room::no_more}) {
    const TemporaryPlace place;
    DiskOfSqlite disk;
    TestHost host;
    KeptHistory history(place.path(), 192U << 10U);
    history.run(host, 9000);
    const std::int64_t since = history.keeper().raw_since_ms();
    ASSERT_GT(since, kTestStart * 1000 + 1800 * 1000) << "its budget is used";
    disk.set(room);
    constexpr std::int64_t kFull = 900;
    history.run(host, kFull);
    if (room == DiskOfSqlite::Room::none) {
      EXPECT_THAT(history.reports().back(),
                  AllOf(StartsWith("degraded: nothing is written"), HasSubstr("full")));
    }
    disk.set(DiskOfSqlite::Room::plenty);
    history.run(host, 60);
    EXPECT_EQ(history.reports().back(), "ok: ");
    // No older than so much can have gone in the time, at one block in and one out.
    EXPECT_GE(history.keeper().raw_since_ms(), since);
    EXPECT_LE(history.keeper().raw_since_ms(), since + (kFull + 900) * 1000);
    EXPECT_THAT(history.values({.selector = kEth0}, 50, 10), Each(1000));
  }
}

TEST_F(KeeperTest, ADiskThatIsFullAtTheStartIsUsedWhenThereIsRoom) {
  auto limit = std::make_unique<FileSizeLimit>(0);
  KeptHistory history(place_.path());
  history.run(host_, 100);
  EXPECT_THAT(history.reports(), Each(AllOf(StartsWith("degraded: kept in memory only"),
                                            HasSubstr("tried again every 30 s"))));
  EXPECT_FALSE(history.keeper().on_disk());
  EXPECT_THAT(history.values({.selector = kEth0}, 60, 10), Each(1000));
  limit.reset();
  history.run(host_, 120);
  EXPECT_EQ(history.reports().back(), "ok: ");
  EXPECT_TRUE(history.log().contains("from now on"));
  EXPECT_GT(bytes_in(place_.path()), 4096U);
  EXPECT_THAT(history.values({.selector = kEth0}, 60, 10), Each(1000));
}

TEST_F(KeeperTest, TwoDaemonsDoNotShareAStore) {
  auto first = std::make_unique<KeptHistory>(place_.path());
  KeptHistory second(place_.path(), 64U << 20U, 2);
  EXPECT_THAT(first->reports(), Each("ok: "));
  EXPECT_THAT(second.reports(), Contains(AllOf(StartsWith("degraded: kept in memory only"),
                                               HasSubstr("another process"))));
  first->run(host_, 100);
  second.run(host_, 100);
  EXPECT_FALSE(second.keeper().on_disk());
  first.reset();
  second.run(host_, 100);
  EXPECT_EQ(second.reports().back(), "ok: ");
  EXPECT_EQ(second.keeper().raw_since_ms(), (kTestStart + 1) * 1000) << "what the first one kept";
}

TEST_F(KeeperTest, ALinkInThePlaceOfTheStoreIsNotFollowed) {
  std::ofstream(place_.path() + "/other") << "precious";
  std::filesystem::create_symlink(place_.path() + "/other", file());
  KeptHistory history(place_.path());
  EXPECT_THAT(history.reports(), Contains(StartsWith("degraded: kept in memory only")));
  std::string kept;
  std::ifstream(place_.path() + "/other") >> kept;
  EXPECT_EQ(kept, "precious");
}

// Memory only, and less of it than there would be of the disk.
TEST(Keeper, MemoryWillDo) {
  constexpr std::uint64_t kMemory = 256U << 10U;
  TestHost host;
  KeptHistory history("", 64U << 20U, 1, kMemory);
  EXPECT_THAT(history.reports(), Contains(AllOf(StartsWith("degraded: kept in memory only"),
                                                HasSubstr("by the test"))));
  history.run(host, 4 * 3600);
  EXPECT_THAT(history.values({.selector = kEth0}, 600, 60), Each(1000));
  EXPECT_GT(history.keeper().raw_since_ms(), kTestStart * 1000 + 60'000);
  std::uint64_t bytes = 0;
  for (const BlockKind kind : {BlockKind::raw, BlockKind::minutes}) {
    const auto extent = history.keeper().store().extent(kind);
    ASSERT_TRUE(extent);
    bytes += extent->bytes;
  }
  EXPECT_LE(bytes, kMemory);
}

TEST(Keeper, ADirectoryThatIsNotThereMeansMemory) {
  KeptHistory history("/nonexistent/history");
  EXPECT_THAT(history.reports(), Contains(AllOf(StartsWith("degraded: kept in memory only"),
                                                HasSubstr("No such file"))));
}

}  // namespace
}  // namespace dynolog::history
