// Lookups inside a root that its owner tries to leave.
#include "artifacts/in_root.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/file.h"

namespace dynolog {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class InRootTest : public ::testing::Test {
 protected:
  InRootTest() {
    fs::create_directories(root_path_ / "etc");
    std::ofstream(root_path_ / "etc/conf") << "inside";
    std::ofstream(top_ / "secret") << "outside";
    root_.reset(::open(root_path_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  }
  ~InRootTest() override { fs::remove_all(top_); }

  static fs::path make_top() {
    std::string pattern = ::testing::TempDir() + "in_root_XXXXXX";
    return ::mkdtemp(pattern.data());
  }
  std::string text_of(const std::string& path) {
    auto fd = open_regular_in_root(root_.get(), path);
    if (!fd) return "error: " + fd.error().message;
    return read_all(fd->get(), 100).value_or("unreadable");
  }

  fs::path top_ = make_top();
  fs::path root_path_ = top_ / "root";
  UniqueFd root_;
};

TEST_F(InRootTest, SplitsPaths) {
  EXPECT_EQ(split_path("/tmp/a.json")->directory, "/tmp");
  EXPECT_EQ(split_path("/tmp/a.json")->name, "a.json");
  EXPECT_EQ(split_path("/a.json")->directory, "/");
  for (const std::string bad : {"", "a.json", "/tmp/", "/tmp/..", "/tmp/."}) {
    EXPECT_FALSE(split_path(bad).has_value()) << bad;
  }
  EXPECT_FALSE(split_path("/" + std::string(5000, 'a') + "/b").has_value());
  EXPECT_FALSE(split_path("/" + std::string(252, 'a')).has_value());
  EXPECT_TRUE(split_path("/" + std::string(251, 'a')).has_value());
  EXPECT_FALSE(split_path(std::string_view("/tmp/a\0b", 8)).has_value());
}

TEST_F(InRootTest, LinksStayInside) {
  fs::create_symlink("/etc/conf", root_path_ / "absolute");
  fs::create_symlink("../../../../etc/conf", root_path_ / "upwards");
  fs::create_symlink("../secret", root_path_ / "secret");
  EXPECT_EQ(text_of("/etc/conf"), "inside");
  EXPECT_EQ(text_of("/absolute"), "inside");
  EXPECT_EQ(text_of("/upwards"), "inside");
  EXPECT_THAT(text_of("/../secret"), HasSubstr("error"));
  EXPECT_THAT(text_of("/secret"), HasSubstr("error"));  // a link to itself, inside
}

TEST_F(InRootTest, DirectoryLinkOutOfTheRootStaysInside) {
  fs::create_symlink(top_, root_path_ / "out");
  EXPECT_THAT(text_of("/out/secret"), HasSubstr("error"));
}

TEST_F(InRootTest, MagicLinksAreRefused) {
  const UniqueFd real_root(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
  EXPECT_FALSE(open_in_root(real_root.get(), "/proc/self/root/etc", O_PATH).has_value());
}

TEST_F(InRootTest, OnlyRegularFilesAreOpened) {
  ASSERT_EQ(::mkfifo((root_path_ / "fifo").c_str(), 0600), 0);
  EXPECT_THAT(text_of("/fifo"), HasSubstr("not a regular file"));
  EXPECT_THAT(text_of("/etc"), HasSubstr("not a regular file"));
}

}  // namespace
}  // namespace dynolog
