// Directories that are made inside a root, while others try to have them made elsewhere.
#include "artifacts/made_directories.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "artifacts/delivery_test_support.h"

namespace dynolog::delivery_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// The root is <path>/target; <path>/staging is outside.
class MadeDirectoriesTest : public Places {
 protected:
  MadeDirectoriesTest() { root_.reset(::open(target_.c_str(), O_PATH | O_CLOEXEC)); }

  // "made", and the directory is what stands there; or the sentence.
  std::string make_all(const std::string& path) {
    return as_owner([&]() -> std::string {
      const auto made = make_directories(root_.get(), path, kOwner);
      return made ? "made" : made.error().problem;
    });
  }
  UniqueFd root_;
};

TEST_F(MadeDirectoriesTest, WhatIsMissingIsMade) {
  make(target_ / "a");
  const mode_t before = ::umask(0077);
  const std::string said = as_owner([&]() -> std::string {
    const auto made = make_directories(root_.get(), "/a/b//c/./d/", kOwner);
    if (!made) return made.error().problem;
    const auto id = id_behind(made->get());
    return id == id_under(root_.get(), "a/b/c/d") ? "the last one" : "another";
  });
  ::umask(before);
  EXPECT_EQ(said, "the last one");
  EXPECT_EQ(fs::status(target_ / "a/b").permissions(), fs::perms{0755});
  EXPECT_EQ(fs::status(target_ / "a/b/c/d").permissions(), fs::perms{0755});
  struct stat status{};
  ASSERT_EQ(::stat((target_ / "a/b/c").c_str(), &status), 0);
  EXPECT_EQ(status.st_uid, kOwner.value) << "as the owner";
  EXPECT_EQ(make_all("/a/b/c/d"), "made") << "nothing is missing";
}

TEST_F(MadeDirectoriesTest, LinksOfTheExistingPartStayInside) {
  make(target_ / "real");
  fs::create_symlink("/real", target_ / "absolute");
  fs::create_symlink("../../../real", target_ / "upwards");
  EXPECT_EQ(make_all("/absolute/x"), "made");
  EXPECT_EQ(make_all("/upwards/y"), "made");
  EXPECT_THAT(names_in(target_ / "real"), ElementsAre("x", "y"));
  // The same names outside are not what is meant.
  fs::create_symlink(staging_, target_ / "out");
  EXPECT_THAT(make_all("/out/z"), HasSubstr("is a link that leads nowhere"));
  EXPECT_THAT(make_all("/../z"), "made");
  EXPECT_TRUE(fs::exists(target_ / "z")) << "above the root is the root";
  EXPECT_THAT(names_in(staging_), IsEmpty());
}

TEST_F(MadeDirectoriesTest, NothingIsMadeThroughADanglingLink) {
  fs::create_symlink("/later", target_ / "link");
  EXPECT_THAT(make_all("/link/x"), HasSubstr("/link is a link that leads nowhere"));
  EXPECT_FALSE(fs::exists(target_ / "later"));
  write(target_ / "file", "");
  EXPECT_THAT(make_all("/file/x"),
              HasSubstr("/file is a link that leads nowhere, or no directory"));
}

TEST_F(MadeDirectoriesTest, DotDotBelowWhatIsMissing) {
  EXPECT_THAT(make_all("/none/../x"),
              HasSubstr("has a '..' below a directory that does not exist"));
  EXPECT_THAT(names_in(target_), IsEmpty());
}

TEST_F(MadeDirectoriesTest, NotTooMany) {
  std::string path;
  for (int i = 0; i < 65; ++i) path += "/d";
  EXPECT_THAT(make_all(path), HasSubstr("lacks 65 directories, at most 64 are made"));
  EXPECT_THAT(names_in(target_), IsEmpty());
  EXPECT_EQ(make_all(path.substr(2)), "made");
}

TEST_F(MadeDirectoriesTest, NotWhereTheOwnerMayNot) {
  if (!is_root()) GTEST_SKIP() << "only root can make a directory of another user";
  own(target_, Uid{0});
  EXPECT_EQ(make_all("/x/y"), "/x cannot be made by uid 61234: choose another directory");
  EXPECT_THAT(names_in(target_), IsEmpty());
}

TEST_F(MadeDirectoriesTest, NotOnTheKernelsFileSystems) {
  const UniqueFd real_root(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
  for (const std::string path :
       {"/proc/dynolog/x", "/sys/dynolog", "/proc/self/root/tmp/dynolog"}) {
    const auto made = make_directories(real_root.get(), path, kSelf);
    ASSERT_FALSE(made.has_value()) << path;
    EXPECT_THAT(made.error().problem, HasSubstr("kernel's own")) << path;
  }
}

// There, mkdir makes a cgroup.
TEST_F(MadeDirectoriesTest, NoCgroupIsMade) {
  const std::string said = in_child([&]() -> std::string {
    if (!own_mounts()) return kCannotMount;
    if (::mount("cgroup2", target_.c_str(), "cgroup2", 0, nullptr) != 0) return "no cgroups";
    root_.reset(::open(target_.c_str(), O_PATH | O_CLOEXEC));
    // The hierarchy is the host's: a name that nobody else uses, and nothing is left.
    const std::string name = fmt::format("dynolog-test-{}", ::getpid());
    const auto made = make_directories(root_.get(), "/" + name, kOwner);
    EXPECT_FALSE(fs::remove(target_ / name)) << "a cgroup was made";
    return made ? "made" : made.error().problem;
  });
  if (said == kCannotMount) GTEST_SKIP() << "mounting is not permitted here";
  if (said == "no cgroups") GTEST_SKIP() << "no hierarchy of cgroups (v2) is to be had here";
  EXPECT_THAT(said, HasSubstr("kernel's own"));
}

TEST_F(MadeDirectoriesTest, AReadOnlyFileSystem) {
  const std::string said = in_child([&] {
    if (!mount_tmpfs(target_, "size=1m,mode=1777") ||
        ::mount(nullptr, target_.c_str(), nullptr, MS_REMOUNT | MS_RDONLY, nullptr) != 0) {
      return kCannotMount;
    }
    root_.reset(::open(target_.c_str(), O_PATH | O_CLOEXEC));
    const auto made = make_directories(root_.get(), "/x", kOwner);
    return made ? "made" : made.error().problem;
  });
  if (said == kCannotMount) GTEST_SKIP() << "mounting is not permitted here";
  EXPECT_EQ(said, "/x cannot be made on a read-only file system: choose another directory");
}

// Somebody swaps a directory that was just made for a link out of the root, over and over: nothing
// is ever made outside.
TEST_F(MadeDirectoriesTest, AStormOfLinks) {
  make(target_ / "a");
  const fs::path made = target_ / "a/b";
  const fs::path aside = target_ / "aside";
  const Attacker attacker([&] {
    ::rename(made.c_str(), aside.c_str());
    static_cast<void>(::symlink(staging_.c_str(), made.c_str()));
    ::unlink(made.c_str());
    ::rmdir((aside / "c").c_str());
    ::rmdir(aside.c_str());
  });
  const std::string said = as_owner([&] {
    for (int i = 0; i < 3000; ++i) {
      static_cast<void>(make_directories(root_.get(), "/a/b/c", kOwner));
    }
    return "tried";
  });
  EXPECT_EQ(said, "tried");
  EXPECT_THAT(names_in(staging_), IsEmpty());
}

TEST_F(MadeDirectoriesTest, TheDeepestDirectory) {
  make(target_ / "a");
  const DeepestDirectory deepest = deepest_in_root(root_.get(), "/a/b/c");
  EXPECT_EQ(deepest.length, 2U);
  EXPECT_EQ(id_behind(deepest.fd.get()), id_under(root_.get(), "a"));
  EXPECT_EQ(id_behind(deepest_in_root(root_.get(), "/x/y").fd.get()), id_behind(root_.get()));
}

}  // namespace
}  // namespace dynolog::delivery_test
