// Can a trace be written here? Every answer that is no says what to do.
#include "artifacts/trace_directory.h"

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

class TraceDirectoryTest : public ::testing::Test {
 protected:
  TraceDirectoryTest() {
    std::string pattern = ::testing::TempDir() + "trace_directory_XXXXXX";
    path_ = ::mkdtemp(pattern.data());
    fs::create_directory(path_ / "d");
    root_.reset(::open(path_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  }
  ~TraceDirectoryTest() override { fs::remove_all(path_); }

  DirectoryLook look(const std::string& file, Uid owner = Uid{::geteuid()}) {
    auto result = look_at_trace_directory(root_.get(), file, owner);
    EXPECT_TRUE(result.has_value());
    return result ? std::move(*result) : DirectoryLook{};
  }

  fs::path path_;
  UniqueFd root_;
};

TEST_F(TraceDirectoryTest, UsableDirectoryIsHeld) {
  const DirectoryLook found = look("/d/t.json");
  EXPECT_TRUE(found.usable) << found.problem;
  EXPECT_EQ(found.problem, "");
  EXPECT_FALSE(found.file_exists);
  EXPECT_GT(found.free_bytes, 0U);
  ASSERT_TRUE(found.directory.has_value());
  EXPECT_EQ(found.directory->path, "/d");
  EXPECT_EQ(found.directory->name, "t.json");
  EXPECT_EQ(found.directory->id, look("/d/other.json").directory->id);
  EXPECT_NE(found.directory->id, look("/other.json").directory->id);
}

TEST_F(TraceDirectoryTest, MissingDirectorySaysWhatToDo) {
  const DirectoryLook found = look("/none/t.json");
  EXPECT_FALSE(found.usable);
  EXPECT_EQ(found.problem, "no such directory: /none (make it, or choose another)");
  EXPECT_FALSE(found.directory.has_value());
}

TEST_F(TraceDirectoryTest, FileInPlaceOfTheDirectory) {
  std::ofstream(path_ / "d/file") << "x";
  EXPECT_FALSE(look("/d/file/t.json").usable);
}

TEST_F(TraceDirectoryTest, ExistingFileIsSeen) {
  std::ofstream(path_ / "d/t.json") << "x";
  const DirectoryLook found = look("/d/t.json");
  EXPECT_TRUE(found.usable);
  EXPECT_TRUE(found.file_exists);
  fs::create_directory(path_ / "d/u.json");
  EXPECT_THAT(look("/d/u.json").problem, HasSubstr("is a directory"));
}

TEST_F(TraceDirectoryTest, PlantedTemporaryIsRefused) {
  std::ofstream(path_ / "d/t.json.tmp") << "";
  EXPECT_TRUE(look("/d/t.json").usable);  // one's own leftover
  EXPECT_THAT(look("/d/t.json", Uid{::geteuid() + 1}).problem, HasSubstr("remove it"));
  fs::create_hard_link(path_ / "d/t.json.tmp", path_ / "d/second");
  EXPECT_THAT(look("/d/t.json").problem, HasSubstr("remove it"));
  fs::create_symlink("/d/second", path_ / "d/u.json.tmp");
  EXPECT_THAT(look("/d/u.json").problem, HasSubstr("remove it"));
  ASSERT_EQ(::mkfifo((path_ / "d/v.json.tmp").c_str(), 0666), 0);
  EXPECT_THAT(look("/d/v.json").problem, HasSubstr("remove it"));
}

TEST_F(TraceDirectoryTest, KernelsDirectoriesAreRefused) {
  const UniqueFd real_root(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
  const auto found = look_at_trace_directory(real_root.get(), "/proc/sys/t.json", Uid{0});
  ASSERT_TRUE(found.has_value());
  EXPECT_FALSE(found->usable);
  EXPECT_THAT(found->problem, HasSubstr("kernel's own"));
}

TEST_F(TraceDirectoryTest, UnwritableDirectorySaysForWhom) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may write everywhere";
  fs::permissions(path_ / "d", fs::perms::owner_read | fs::perms::owner_exec);
  EXPECT_THAT(look("/d/t.json").problem, HasSubstr("not writable for uid"));
}

TEST_F(TraceDirectoryTest, BadPathIsAnError) {
  const auto bad = look_at_trace_directory(root_.get(), "relative.json", Uid{0});
  ASSERT_FALSE(bad.has_value());
  EXPECT_EQ(bad.error().kind, ErrorKind::invalid);
}

}  // namespace
}  // namespace dynolog
