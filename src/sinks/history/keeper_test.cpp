// What the store keeps: across daemons, within its budget, and when its files are damaged.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>

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
    // As kill -9 would: what is not written is lost, and nothing is closed in order.
  }
  struct stat info{};
  ASSERT_EQ(::stat(file().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777U, 0640U);
  KeptHistory history(place_.path(), 64U << 20U, 2);
  history.run(host_, 300);
  const auto rates = history.values({.selector = kEth0}, 900, 100);
  ASSERT_EQ(rates.size(), 9U);
  EXPECT_THAT(rates, Each(1000));
  // The seconds between the two daemons: neither a rate nor a guess.
  const auto seconds = history.values({.selector = kEth0}, 400, 1);
  EXPECT_GT(std::ranges::count_if(seconds, [](double value) { return std::isnan(value); }), 10);
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
    for (const std::string what : {"fifo", "link", "second name"}) {
      SCOPED_TRACE(what + " at " + path);
      std::ofstream(treasure) << "untouched";
      if (what == "fifo") ::mkfifo(path.c_str(), 0640);
      if (what == "link") std::filesystem::create_symlink(treasure, path);
      if (what == "second name") std::filesystem::create_hard_link(treasure, path);
      {
        KeptHistory history(place_.path());
        EXPECT_THAT(history.reports(), Contains(StartsWith("degraded: kept in memory only")));
      }
      EXPECT_EQ(std::filesystem::file_size(treasure), 9U);
      EXPECT_TRUE(std::filesystem::remove(path)) << "left for whoever put it there to see";
      std::filesystem::remove(treasure);
    }
  }
  KeptHistory history(place_.path());
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
    history.run(host_, 700);
  }
  {
    auto database = Database::open(std::filesystem::canonical(file()));
    ASSERT_TRUE(database);
    ASSERT_TRUE(
        database->execute("UPDATE block SET data = zeroblob(length(data)) WHERE id = "
                          "(SELECT id FROM block WHERE kind = 0 ORDER BY sequence LIMIT 1)"));
  }
  KeptHistory history(place_.path(), 64U << 20U, 2);
  history.run(host_, 60);
  const auto values = history.values({.selector = kEth0}, 700, 1);
  EXPECT_TRUE(history.log().contains("damaged blocks"));
  EXPECT_GT(std::ranges::count(values, 1000), 200);
  EXPECT_LT(std::ranges::count(values, 1000), 600);
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

TEST_F(KeeperTest, TwoDaemonsDoNotShareAStore) {
  KeptHistory first(place_.path());
  KeptHistory second(place_.path());
  EXPECT_THAT(first.reports(), Each("ok: "));
  EXPECT_THAT(second.reports(), Contains(AllOf(StartsWith("degraded: kept in memory only"),
                                               HasSubstr("another process"))));
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

TEST(Keeper, MemoryWillDo) {
  TestHost host;
  KeptHistory history("", 256U << 10U);
  EXPECT_THAT(history.reports(), Contains(AllOf(StartsWith("degraded: kept in memory only"),
                                                HasSubstr("by the test"))));
  history.run(host, 4 * 3600);
  EXPECT_THAT(history.values({.selector = kEth0}, 600, 60), Each(1000));
  EXPECT_GT(history.keeper().raw_since_ms(), kTestStart * 1000 + 60'000);
}

TEST(Keeper, ADirectoryThatIsNotThereMeansMemory) {
  KeptHistory history("/nonexistent/history");
  EXPECT_THAT(history.reports(), Contains(AllOf(StartsWith("degraded: kept in memory only"),
                                                HasSubstr("No such file"))));
}

}  // namespace
}  // namespace dynolog::history
