// The JSON lines' file on a real disk: full, renamed by others, and in a directory that is gone.
#include "sinks/rotating_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "base/file.h"

namespace dynolog {
namespace {

namespace fs = std::filesystem;

class RotatingFileTest : public testing::Test {
 protected:
  RotatingFileTest() {
    std::string pattern = (fs::temp_directory_path() / "dynolog-rotating-XXXXXX").string();
    directory_ = ::mkdtemp(pattern.data());
    path_ = directory_ / "m.jsonl";
  }
  ~RotatingFileTest() override { fs::remove_all(directory_); }

  void open(FileRotation rotation) {
    auto file = RotatingFile::open(path_, rotation);
    ASSERT_TRUE(file) << file.error().message;
    file_.emplace(std::move(*file));
  }
  void put(std::string_view line) {
    EXPECT_TRUE(file_->prepare(line.size()));
    EXPECT_TRUE(write_all(file_->fd(), line));
  }
  [[nodiscard]] std::string text(const std::string& suffix = "") const {
    return read_file(path_.string() + suffix, 1 << 20).value_or("<none>");
  }

  fs::path directory_;
  fs::path path_;
  std::optional<RotatingFile> file_;
};

TEST_F(RotatingFileTest, AFullFileBecomesTheFirstOfThoseThatAreKept) {
  open({.max_bytes = 8, .keep = 2});
  for (const char* line : {"aaa\n", "bbb\n", "ccc\n", "ddd\n", "a longer line\n", "e\n", "f\n"}) {
    put(line);
  }
  EXPECT_EQ(text(), "e\nf\n");
  EXPECT_EQ(text(".1"), "a longer line\n") << "one that is larger than a file has it to itself";
  EXPECT_EQ(text(".2"), "ccc\nddd\n");
  EXPECT_EQ(text(".3"), "<none>") << "the oldest is gone";
  EXPECT_EQ(fs::status(path_).permissions() & fs::perms::others_all, fs::perms::none);
}

TEST_F(RotatingFileTest, WhatWasThereCounts) {
  ASSERT_TRUE(replace_file(path_, "12345678", 0640));
  open({.max_bytes = 8, .keep = 1});
  put("new\n");
  EXPECT_EQ(text(".1"), "12345678");
  EXPECT_EQ(text(), "new\n");
}

TEST_F(RotatingFileTest, NoneIsKept) {
  open({.max_bytes = 8, .keep = 0});
  for (const char* line : {"aaa\n", "bbb\n", "ccc\n"}) put(line);
  EXPECT_EQ(text(), "ccc\n");
  EXPECT_EQ(text(".1"), "<none>");
}

TEST_F(RotatingFileTest, WithoutABoundItGrows) {
  open({.max_bytes = 0, .keep = 4});
  for (int i = 0; i < 100; ++i) put("line\n");
  EXPECT_EQ(text().size(), 500U);
}

TEST_F(RotatingFileTest, SomebodyElsesRotationIsNoticed) {
  open({});
  put("one\n");
  fs::rename(path_, path_.string() + "-20260721");
  put("two\n");
  EXPECT_EQ(text("-20260721"), "one\n");
  EXPECT_EQ(text(), "two\n");
  ASSERT_TRUE(replace_file(path_, "theirs\n", 0640));
  put("three\n");
  EXPECT_EQ(text(), "theirs\nthree\n");
}

TEST_F(RotatingFileTest, WhatCannotBeRotatedIsSaidAndGrows) {
  open({.max_bytes = 4, .keep = 1});
  put("aaa\n");
  fs::create_directory(path_.string() + ".1");  // no file can be renamed onto it
  const auto prepared = file_->prepare(4);
  ASSERT_FALSE(prepared);
  EXPECT_NE(prepared.error().message.find("rotating"), std::string::npos);
  EXPECT_TRUE(write_all(file_->fd(), "bbb\n"));
  EXPECT_EQ(text(), "aaa\nbbb\n");
}

TEST_F(RotatingFileTest, ADirectoryThatIsGoneIsAnErrorAndTheOpenFileStays) {
  open({});
  fs::remove_all(directory_);
  EXPECT_FALSE(file_->prepare(4));
  EXPECT_TRUE(write_all(file_->fd(), "x\n"));
  fs::create_directory(directory_);
  put("y\n");
  EXPECT_EQ(text(), "y\n");
}

TEST_F(RotatingFileTest, ALinkIsNotFollowedAtTheStartOrLater) {
  fs::create_symlink("target", path_);
  EXPECT_FALSE(RotatingFile::open(path_, {}));
  fs::remove(path_);
  open({});
  put("one\n");
  fs::rename(path_, path_.string() + ".1");
  fs::create_symlink("target", path_);
  EXPECT_FALSE(file_->prepare(4));
  EXPECT_TRUE(write_all(file_->fd(), "two\n"));
  EXPECT_EQ(text(".1"), "one\ntwo\n") << "the open file stays";
  EXPECT_FALSE(fs::exists(directory_ / "target"));
}

TEST_F(RotatingFileTest, AFileThatTheDaemonsOutputLeadsToIsNotRenamed) {
  ASSERT_TRUE(replace_file(path_, "12345678", 0640));
  const UniqueFd output(::open(path_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
  auto file = RotatingFile::open("/proc/self/fd/" + std::to_string(output.get()),
                                 {.max_bytes = 8, .keep = 1});
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_TRUE(file->prepare(4));
  EXPECT_TRUE(write_all(file->fd(), "new\n"));
  EXPECT_EQ(text(), "12345678new\n");
}

TEST(RotatingFile, WhatIsNoFileIsLeftAlone) {
  auto file = RotatingFile::open("/dev/null", {.max_bytes = 1, .keep = 1});
  ASSERT_TRUE(file);
  EXPECT_TRUE(file->prepare(100));
}

}  // namespace
}  // namespace dynolog
