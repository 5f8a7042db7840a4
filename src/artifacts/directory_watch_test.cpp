// inotify through held descriptors: what is told, and when.
#include "artifacts/directory_watch.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace dynolog {
namespace {

namespace fs = std::filesystem;
using What = DirectoryEvent::What;

class DirectoryWatchTest : public ::testing::Test {
 protected:
  DirectoryWatchTest() {
    std::string pattern = ::testing::TempDir() + "directory_watch_XXXXXX";
    path_ = ::mkdtemp(pattern.data());
    directory_ = path_ / "d";
    fs::create_directory(directory_);
    held_.reset(::open(directory_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  }
  ~DirectoryWatchTest() override { fs::remove_all(path_); }

  bool told(What what, const std::string& name) {
    for (const DirectoryEvent& event : events_) {
      if (event.what == what && event.name == name) return true;
    }
    return false;
  }

  fs::path path_;
  fs::path directory_;
  UniqueFd held_;
  std::vector<DirectoryEvent> events_;
};

TEST_F(DirectoryWatchTest, CreationAndRenameAreTold) {
  auto watch = DirectoryWatch::make();
  ASSERT_TRUE(watch.has_value());
  const auto number = watch->add(held_.get());
  ASSERT_TRUE(number.has_value());
  EXPECT_TRUE(watch->read().empty());

  std::ofstream open_file(directory_ / "t.json.tmp");
  events_ = watch->read();
  EXPECT_TRUE(told(What::created, "t.json.tmp"));
  EXPECT_FALSE(told(What::complete, "t.json.tmp"));
  open_file.close();
  fs::rename(directory_ / "t.json.tmp", directory_ / "t.json");
  events_ = watch->read();
  EXPECT_TRUE(told(What::complete, "t.json"));
  EXPECT_EQ(events_.front().watch, *number);
}

TEST_F(DirectoryWatchTest, SameDirectorySameNumber) {
  auto watch = DirectoryWatch::make();
  const UniqueFd again(::open(directory_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  EXPECT_EQ(watch->add(held_.get()).value(), watch->add(again.get()).value());
}

TEST_F(DirectoryWatchTest, MovedAwayIsTold) {
  auto watch = DirectoryWatch::make();
  ASSERT_TRUE(watch->add(held_.get()).has_value());
  fs::rename(directory_, path_ / "elsewhere");
  events_ = watch->read();
  EXPECT_TRUE(told(What::gone, ""));
}

TEST_F(DirectoryWatchTest, RemovedIsToldOnceNobodyHoldsIt) {
  auto watch = DirectoryWatch::make();
  ASSERT_TRUE(watch->add(held_.get()).has_value());
  fs::remove(directory_);
  held_.reset();
  events_ = watch->read();
  EXPECT_TRUE(told(What::gone, ""));
}

TEST_F(DirectoryWatchTest, FilesAreNotWatched) {
  std::ofstream(directory_ / "file") << "x";
  const UniqueFd file(::open((directory_ / "file").c_str(), O_PATH | O_CLOEXEC));
  auto watch = DirectoryWatch::make();
  EXPECT_FALSE(watch->add(file.get()).has_value());
  EXPECT_FALSE(watch->add(-1).has_value());
}

}  // namespace
}  // namespace dynolog
