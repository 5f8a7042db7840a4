// Only the process's own plain file is taken for its trace.
#include "artifacts/trace_file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace dynolog {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class TraceFileTest : public ::testing::Test {
 protected:
  TraceFileTest() {
    std::string pattern = ::testing::TempDir() + "trace_file_XXXXXX";
    path_ = ::mkdtemp(pattern.data());
    directory_.fd.reset(::open(path_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    directory_.path = "/traces";
    directory_.name = "t.json";
  }
  ~TraceFileTest() override { fs::remove_all(path_); }

  void write(const std::string& name, const std::string& text) {
    std::ofstream(path_ / name) << text;
  }
  std::string refusal(Uid owner = Uid{::geteuid()}) {
    const auto opened = open_trace(directory_, owner);
    return opened ? "" : opened.error().message;
  }

  fs::path path_;
  TraceDirectory directory_;
};

TEST_F(TraceFileTest, OwnFileIsOpened) {
  write("t.json", "{}");
  EXPECT_EQ(refusal(), "");
}

TEST_F(TraceFileTest, APlainFileOfTheOwnerIsTold) {
  const Uid self{::geteuid()};
  EXPECT_EQ(is_plain_file_of(directory_, "t.json", self), false) << "not there";
  write("t.json", "{}");
  EXPECT_EQ(is_plain_file_of(directory_, "t.json", self), true);
  EXPECT_FALSE(is_plain_file_of(directory_, "t.json", Uid{self.value + 1}));
  fs::create_hard_link(path_ / "t.json", path_ / "second");
  const auto linked = is_plain_file_of(directory_, "t.json", self);
  ASSERT_FALSE(linked);
  EXPECT_EQ(linked.error().kind, ErrorKind::denied);
  EXPECT_EQ(linked.error().message, "/traces/t.json is not a plain file of uid " +
                                        std::to_string(self.value) + ": it is left alone");
  fs::create_symlink("second", path_ / "link");
  EXPECT_FALSE(is_plain_file_of(directory_, "link", self));
}

TEST_F(TraceFileTest, AnythingElseIsRefusedByWhatItIs) {
  EXPECT_NE(refusal(), "");  // not there
  write("real", "{}");
  fs::create_symlink("real", path_ / "t.json");
  EXPECT_THAT(refusal(), HasSubstr("a symbolic link"));
  fs::remove(path_ / "t.json");
  ASSERT_EQ(::mkfifo((path_ / "t.json").c_str(), 0666), 0);
  EXPECT_THAT(refusal(), HasSubstr("a FIFO"));
  fs::remove(path_ / "t.json");
  fs::create_directory(path_ / "t.json");
  EXPECT_THAT(refusal(), HasSubstr("a directory"));
  fs::remove(path_ / "t.json");
  fs::create_hard_link(path_ / "real", path_ / "t.json");
  EXPECT_THAT(refusal(), HasSubstr("hard links"));
}

TEST_F(TraceFileTest, AnotherUsersFileIsRefused) {
  write("t.json", "{}");
  EXPECT_THAT(refusal(Uid{::geteuid() + 1}), HasSubstr("belongs to uid"));
}

TEST_F(TraceFileTest, StampTellsRewrittenFiles) {
  EXPECT_FALSE(stamp_of(directory_, "t.json").has_value());
  write("t.json", "{}");
  const auto first = stamp_of(directory_, "t.json");
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ(stamp_of(directory_, "t.json"), first);
  write("new", "{}");
  fs::rename(path_ / "new", path_ / "t.json");
  EXPECT_NE(stamp_of(directory_, "t.json"), first);
}

TEST_F(TraceFileTest, MentionsLooksAtBothEnds) {
  const std::string middle(300'000, ' ');
  write("t.json", "begin " + middle + "inside" + middle + " finish");
  const auto fd = open_trace(directory_, Uid{::geteuid()});
  ASSERT_TRUE(fd.has_value());
  EXPECT_TRUE(mentions(fd->get(), "begin"));
  EXPECT_TRUE(mentions(fd->get(), "finish"));
  EXPECT_FALSE(mentions(fd->get(), "inside"));
}

}  // namespace
}  // namespace dynolog
