// Can a trace be written here? Every answer that is no says what to do.
#include "artifacts/trace_directory.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <optional>

#include "artifacts/delivery_test_support.h"
#include "testing/without_capabilities.h"

namespace dynolog {
namespace {

namespace fs = std::filesystem;
using delivery_test::become;
using delivery_test::in_child;
using delivery_test::is_root;
using delivery_test::kCannotMount;
using delivery_test::kOwner;
using delivery_test::kSelf;
using delivery_test::mount_tmpfs;
using delivery_test::own_mounts;
using delivery_test::Places;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

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
  EXPECT_EQ(found.problem, "no such directory: /none (--mkdir makes it, or choose another)");
  EXPECT_EQ(found.fault, "no such directory: /none");
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

TEST_F(TraceDirectoryTest, BadPathIsAnError) {
  const auto bad = look_at_trace_directory(root_.get(), "relative.json", Uid{0});
  ASSERT_FALSE(bad.has_value());
  EXPECT_EQ(bad.error().kind, ErrorKind::invalid);
}

// As the owner, who is another user where the tests may become one.
class OwnersLookTest : public Places {
 protected:
  // The look as the worker takes it; `prepare` runs before, with all rights.
  std::string look_as(Uid owner, const std::string& file, DirectoryUse use = {},
                      const std::function<bool()>& prepare = {}) {
    return in_child([&] {
      if (prepare && !prepare()) return kCannotMount;
      become(owner);
      // uid 0 alone is no root.
      std::optional<WithoutCapabilities> uid_alone;
      if (owner == kRootUid) uid_alone.emplace();
      const UniqueFd root(::open(path_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
      const auto look = look_at_trace_directory(root.get(), file, owner, use);
      if (!look) return "error: " + look.error().message;
      return fmt::format("{}{}{}{}{}", look->usable ? "usable" : look->problem,
                         look->unknown ? "; unknown" : "", look->in_memory ? "; in memory" : "",
                         look->file_exists ? "; exists" : "", look->directory ? "; held" : "");
    });
  }
  std::string look(const std::string& file, DirectoryUse use = {}) {
    return look_as(kOwner, file, use);
  }
};

TEST_F(OwnersLookTest, UnwritableDirectorySaysForWhom) {
  fs::permissions(target_, fs::perms{0500});
  EXPECT_EQ(look("/target/t.json"),
            fmt::format("/target is not writable for uid {}: choose another directory; held",
                        kOwner.value));
}

TEST_F(OwnersLookTest, UnreachableDirectorySaysForWhom) {
  make(target_ / "d");
  fs::permissions(target_, fs::perms{0000});
  EXPECT_EQ(
      look("/target/d/t.json"),
      fmt::format("/target/d cannot be reached by uid {}: choose another directory", kOwner.value));
  EXPECT_THAT(look("/target/d/t.json", {.delivery = true, .make = true}),
              HasSubstr("cannot be reached"));
}

TEST_F(OwnersLookTest, WhatIsMissingIsMadeOnRequestOnly) {
  EXPECT_THAT(look("/target/a/b/t.json"), HasSubstr("no such directory: /target/a/b (--mkdir"));
  EXPECT_FALSE(fs::exists(target_ / "a"));
  EXPECT_EQ(look("/target/a/b/t.json", {.delivery = true, .make = true}), "usable; held");
  EXPECT_TRUE(fs::is_directory(target_ / "a/b"));
  EXPECT_EQ(look("/target/a/b/t.json"), "usable; held");
}

TEST_F(OwnersLookTest, WhatStandsAtATarget) {
  const DirectoryUse delivery{.delivery = true};
  write(target_ / "t.json", "");
  EXPECT_EQ(look("/target/t.json", delivery), "usable; exists; held");
  fs::create_symlink("t.json", target_ / "link");
  EXPECT_THAT(look("/target/link", delivery), HasSubstr("/target/link is a symbolic link: remove"));
  EXPECT_THAT(look("/target/link"), HasSubstr("usable")) << "Kineto's rename replaces it";
  make(target_ / "d");
  EXPECT_THAT(look("/target/d", delivery), HasSubstr("is a directory: choose another name"));
  write(target_ / "u.json.tmp", "");
  fs::create_symlink("t.json", target_ / "v.json.tmp");
  EXPECT_THAT(look("/target/v.json", delivery), HasSubstr("usable")) << "no temporary is written";
  EXPECT_THAT(look("/target/v.json"), HasSubstr("remove it"));
  if (!is_root()) return;
  write(target_ / "theirs", "", Uid{kOwner.value + 1});
  EXPECT_THAT(look("/target/theirs", delivery),
              HasSubstr("belongs to uid 61235, not to uid 61234"));
}

// Processes of root may hold capabilities; the worker does not.
TEST_F(OwnersLookTest, ARefusalOfRootsWorkerProvesNothing) {
  if (!is_root()) GTEST_SKIP() << "it takes a process of root";
  make(target_ / "d");
  fs::permissions(target_ / "d", fs::perms{0700});
  EXPECT_THAT(look_as(kRootUid, "/target/d/t.json"),
              AllOf(HasSubstr("not writable for uid 0"), HasSubstr("given up its capabilities"),
                    HasSubstr("; unknown; held")));
  make(target_ / "d/e");
  EXPECT_THAT(look_as(kRootUid, "/target/d/e/t.json"),
              AllOf(HasSubstr("cannot be reached by uid 0"), HasSubstr("; unknown"),
                    Not(HasSubstr("held"))));
  EXPECT_THAT(look("/staging/none/t.json"), Not(HasSubstr("unknown")));
}

// As sshfs and rclone are mounted: for one user alone, and root is not that user. No request ever
// reaches whoever serves the mount.
TEST_F(OwnersLookTest, APrivateFuseMountMayLetTheProcessIn) {
  if (!UniqueFd(::open("/dev/fuse", O_RDWR | O_CLOEXEC)).valid()) {
    GTEST_SKIP() << "no /dev/fuse can be opened here";
  }
  const auto mounted = [&] {
    if (!own_mounts()) return false;
    const int fuse = ::open("/dev/fuse", O_RDWR | O_CLOEXEC);
    if (fuse < 0) return false;
    const std::string options =
        fmt::format("fd={},rootmode=40000,user_id={},group_id={}", fuse, 61299, 61299);
    return ::mount("fuse", target_.c_str(), "fuse", 0, options.c_str()) == 0;
  };
  for (const std::string file : {"/target/t.json", "/target/d/t.json"}) {
    const std::string said = look_as(kOwner, file, {}, mounted);
    if (said == kCannotMount) GTEST_SKIP() << "mounting is not permitted here";
    EXPECT_THAT(said, AllOf(HasSubstr("network or FUSE file system"), HasSubstr("; unknown")));
  }
}

TEST_F(OwnersLookTest, MemoryIsTold) {
  const auto mounted = [&] { return mount_tmpfs(target_, "size=8m,mode=1777"); };
  const std::string said = look_as(kOwner, "/target/t.json", {}, mounted);
  if (said == kCannotMount) GTEST_SKIP() << "mounting is not permitted here";
  EXPECT_EQ(said, "usable; in memory; held");
  const auto tiny = [&] { return mount_tmpfs(target_, "size=64k,mode=1777"); };
  EXPECT_THAT(look_as(kOwner, "/target/t.json", {}, tiny),
              HasSubstr("only 65536 bytes free in /target: make room"));
}

TEST_F(OwnersLookTest, AReadOnlyFileSystemIsTold) {
  const auto mounted = [&] {
    return mount_tmpfs(target_, "size=8m,mode=1777") &&
           ::mount(nullptr, target_.c_str(), nullptr, MS_REMOUNT | MS_RDONLY, nullptr) == 0;
  };
  const std::string said = look_as(kOwner, "/target/t.json", {}, mounted);
  if (said == kCannotMount) GTEST_SKIP() << "mounting is not permitted here";
  EXPECT_THAT(said, HasSubstr("/target is on a read-only file system: choose another directory"));
}

TEST(OnOneFileSystem, ByDeviceAndMount) {
  const auto held = [](std::uint64_t device, std::uint64_t mount) {
    TraceDirectory directory;
    directory.device = device;
    directory.mount = mount;
    return directory;
  };
  EXPECT_TRUE(on_one_file_system(held(1, 7), held(1, 7)));
  EXPECT_FALSE(on_one_file_system(held(1, 7), held(1, 8)));
  EXPECT_FALSE(on_one_file_system(held(1, 7), held(2, 7))) << "subvolumes of btrfs";
  EXPECT_FALSE(on_one_file_system(held(1, 0), held(2, 0))) << "before Linux 5.8";
}

TEST_F(OwnersLookTest, OneFileSystemOrTwo) {
  const std::string said = in_child([&] {
    make(target_ / "bound");
    if (!own_mounts() ||
        ::mount(staging_.c_str(), (target_ / "bound").c_str(), nullptr, MS_BIND, nullptr) != 0) {
      return kCannotMount;
    }
    const UniqueFd root(::open(path_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    const auto held = [&](const std::string& path) {
      return std::move(*look_at_trace_directory(root.get(), path, kSelf)->directory);
    };
    EXPECT_TRUE(on_one_file_system(held("/target/t"), held("/staging/s")));
    // The same file system, mounted twice: rename(2) refuses that.
    EXPECT_FALSE(on_one_file_system(held("/target/bound/t"), held("/staging/s")));
    EXPECT_EQ(held("/target/bound/t").id, held("/staging/s").id);
    EXPECT_EQ(::mount("tmpfs", target_.c_str(), "tmpfs", 0, "size=1m"), 0);
    EXPECT_FALSE(on_one_file_system(held("/target/t"), held("/staging/s")));
    return std::string("looked");
  });
  if (said == kCannotMount) GTEST_SKIP() << "mounting is not permitted here";
}

}  // namespace
}  // namespace dynolog
