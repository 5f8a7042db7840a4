// New files and directories under names that others may take meanwhile.
#include "artifacts/held_directory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <array>
#include <cerrno>
#include <cstddef>

#include "artifacts/delivery_test_support.h"

namespace dynolog::delivery_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class HeldDirectoryTest : public Places {
 protected:
  HeldDirectoryTest() { held_.reset(::open(target_.c_str(), O_PATH | O_CLOEXEC)); }
  UniqueFd held_;
};

TEST_F(HeldDirectoryTest, ANewFileIsSeenUnderItsNameOnly) {
  auto file = NewFile::make(held_.get());
  ASSERT_TRUE(file.has_value());
  ASSERT_TRUE(write_all(file->fd(), "text").has_value());
  EXPECT_EQ(fs::status("/proc/self/fd/" + std::to_string(file->fd())).permissions(),
            fs::perms{0600});
  EXPECT_EQ(file->publish("t.json"), 0);
  EXPECT_EQ(text_of(target_ / "t.json"), "text");
  EXPECT_EQ(id_under(held_.get(), "t.json"), id_behind(file->fd()));
  EXPECT_THAT(names_in(target_), ElementsAre("t.json"));
}

TEST_F(HeldDirectoryTest, ItTakesThePlaceOfAFileOrLink) {
  write(path_ / "victim", "precious");
  write(target_ / "file", "earlier");
  fs::create_symlink(path_ / "victim", target_ / "link");
  for (const std::string name : {"file", "link"}) {
    auto file = NewFile::make(held_.get());
    ASSERT_TRUE(write_all(file->fd(), "new").has_value());
    EXPECT_EQ(file->publish(name), 0);
    EXPECT_EQ(text_of(target_ / name), "new");
    EXPECT_FALSE(fs::is_symlink(target_ / name));
  }
  EXPECT_EQ(text_of(path_ / "victim"), "precious");
  EXPECT_THAT(names_in(target_), ElementsAre("file", "link"));
}

TEST_F(HeldDirectoryTest, WhatIsNotPublishedIsGone) {
  {
    auto file = NewFile::make(held_.get());
    ASSERT_TRUE(write_all(file->fd(), "text").has_value());
    const NewFile moved = std::move(*file);
  }
  EXPECT_THAT(names_in(target_), IsEmpty());
  fs::create_directory(target_ / "t.json");
  {
    auto file = NewFile::make(held_.get());
    EXPECT_EQ(file->publish("t.json"), EISDIR);
  }
  EXPECT_THAT(names_in(target_), ElementsAre("t.json"));
}

TEST_F(HeldDirectoryTest, ErrorsAreErrnos) {
  const auto file = NewFile::make(-1);
  ASSERT_FALSE(file.has_value());
  EXPECT_EQ(file.error(), EBADF);
  EXPECT_EQ(make_directory(held_.get(), "a/b"), ENOENT);
}

// In a child: from here on all file systems are like NFS, which has no files without a name.
bool refuse_files_without_names() {
  constexpr unsigned kOnlyTmpfile = O_TMPFILE & ~O_DIRECTORY;
  std::array<sock_filter, 6> filter = {
      sock_filter BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      sock_filter BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_openat, 0, 3),
      sock_filter BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args[2])),
      sock_filter BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, kOnlyTmpfile, 0, 1),
      sock_filter BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EOPNOTSUPP),
      sock_filter BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{.len = filter.size(), .filter = filter.data()};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

TEST_F(HeldDirectoryTest, WhereFilesNeedANameItIsAnUnpredictableOne) {
  const std::string said = in_child([&]() -> std::string {
    if (!refuse_files_without_names()) return "no filter";
    {
      auto lost = NewFile::make(held_.get());
      EXPECT_TRUE(lost.has_value());
      EXPECT_THAT(names_in(target_),
                  ElementsAre(::testing::MatchesRegex("\\.dynolog-[0-9a-f]{16}\\.tmp")));
      EXPECT_EQ(fs::status(target_ / names_in(target_).front()).permissions(), fs::perms{0600});
    }
    EXPECT_THAT(names_in(target_), IsEmpty());
    auto file = NewFile::make(held_.get());
    EXPECT_TRUE(write_all(file->fd(), "text").has_value());
    EXPECT_EQ(file->publish("t.json"), 0);
    EXPECT_EQ(text_of(target_ / "t.json"), "text");
    // Who puts something else under the temporary's name finds it there again.
    {
      auto swapped = NewFile::make(held_.get());
      const std::string name = names_in(target_).front();
      fs::rename(target_ / name, target_ / "taken");
      write(target_ / name, "another");
    }
    EXPECT_EQ(names_in(target_).size(), 3U);
    return "done";
  });
  if (said == "no filter") GTEST_SKIP() << "system calls cannot be filtered here";
  EXPECT_EQ(said, "done");
}

TEST_F(HeldDirectoryTest, DirectoriesAre0755WhateverTheUmask) {
  const mode_t before = ::umask(0077);
  EXPECT_EQ(make_directory(held_.get(), "d"), 0);
  EXPECT_EQ(::umask(before), 0077U) << "it is put back";
  EXPECT_EQ(fs::status(target_ / "d").permissions(), fs::perms{0755});
  EXPECT_EQ(make_directory(held_.get(), "d"), EEXIST);
}

TEST_F(HeldDirectoryTest, LinksAreNotFollowed) {
  write(path_ / "victim", "");
  fs::create_symlink(path_ / "victim", target_ / "link");
  const auto link = id_under(held_.get(), "link");
  ASSERT_TRUE(link.has_value());
  const UniqueFd victim(::open((path_ / "victim").c_str(), O_RDONLY | O_CLOEXEC));
  EXPECT_NE(link, id_behind(victim.get()));
  EXPECT_EQ(id_under(held_.get(), "none"), std::nullopt);
  EXPECT_EQ(id_behind(-1), std::nullopt);
}

TEST(Joined, RootHasNoSecondSlash) {
  EXPECT_EQ(joined("/", "t"), "/t");
  EXPECT_EQ(joined("/d", "t"), "/d/t");
}

}  // namespace
}  // namespace dynolog::delivery_test
