// Attribute files and directories, on a tree of the test's own.
#include "kernel/sysfs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <vector>

namespace dynolog {
namespace {

class SysfsTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "dynolog-sys-XXXXXX").string();
    top_ = ::mkdtemp(pattern.data());
  }
  void TearDown() override { std::filesystem::remove_all(top_); }
  void put(const std::string& name, std::string_view text) const {
    std::filesystem::create_directories((std::filesystem::path(top_) / name).parent_path());
    std::ofstream(top_ + "/" + name) << text;
  }
  std::string top_;
};

TEST_F(SysfsTest, ReadsTextAndNumbers) {
  put("eth0/speed", "-1\n");
  put("eth0/flags", "0x1003\n");
  put("eth0/alias", "  two words \n");
  put("eth0/large", "18446744073709551615\n");
  put("eth0/odd", "12 apples\n");
  AttributeReader reader(top_);
  EXPECT_EQ(reader.read({"eth0", "alias"}), "two words");
  EXPECT_EQ(reader.read({"eth0", "gone"}), std::nullopt);
  EXPECT_EQ(reader.read({"eth0"}), std::nullopt) << "a directory";
  EXPECT_EQ(reader.number({"eth0", "speed"}), -1);
  EXPECT_EQ(reader.number({"eth0", "flags"}), 0x1003);
  EXPECT_EQ(reader.number({"eth0", "large"}), 18446744073709551615.0);
  EXPECT_EQ(reader.number({"eth0", "odd"}), std::nullopt);
  EXPECT_TRUE(reader.exists({"eth0"}));
  EXPECT_FALSE(reader.exists({"eth1"}));
}

TEST_F(SysfsTest, ReadsManyFilesOfOnePlaceBelowIt) {
  put("devices/a/speed", "1\n");
  put("devices/a/statistics/errors", "7\n");
  put("devices/b/speed", "2\n");
  std::filesystem::create_directories(top_ + "/net");
  const std::filesystem::path link = top_ + "/net/eth0";
  std::filesystem::create_symlink("../devices/a", link);
  AttributeReader reader(top_);
  EXPECT_TRUE(reader.within({"net", "eth0"}, [&] {
    EXPECT_EQ(reader.number({"speed"}), 1);
    EXPECT_EQ(reader.number({"statistics", "errors"}), 7);
    EXPECT_TRUE(reader.exists({"speed"}));
    EXPECT_FALSE(reader.exists({"devices"}));
    EXPECT_NE(reader.identity({"speed"}), 0);
    // The name is another device's by now: these reads are still of the one that it was.
    std::filesystem::remove(link);
    std::filesystem::create_symlink("../devices/b", link);
    EXPECT_EQ(reader.number({"speed"}), 1);
  }));
  EXPECT_EQ(reader.number({"net", "eth0", "speed"}), 2) << "from the top again";
  EXPECT_FALSE(reader.within({"net", "eth1"}, [] { FAIL() << "no such device"; }));
  EXPECT_EQ(reader.error(), ENOENT);
  EXPECT_FALSE(reader.within({"net", "eth0", "speed"}, [] { FAIL() << "a file"; }));
  EXPECT_EQ(reader.number({"net", "eth0", "speed"}), 2);
}

TEST_F(SysfsTest, ListsADirectoryAgain) {
  KeptDirectory directory(top_ + "/net");
  EXPECT_FALSE(directory.rewind());
  put("net/b", "");
  put("net/a", "");
  const auto names = [&] {
    std::vector<std::string> found;
    EXPECT_TRUE(directory.rewind());
    while (const char* name = directory.next()) found.emplace_back(name);
    return found;
  };
  EXPECT_THAT(names(), testing::UnorderedElementsAre("a", "b"));
  std::filesystem::remove(top_ + "/net/a");
  EXPECT_THAT(names(), testing::ElementsAre("b"));
}

}  // namespace
}  // namespace dynolog
