// Mount tables: names with anything in them, mounts over mounts, hundreds, and nonsense.
#include "kernel/mounts.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dynolog {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> points(const std::vector<Mount>& mounts) {
  std::vector<std::string> names;
  for (const Mount& mount : mounts) names.push_back(mount.mount_point);
  return names;
}

TEST(Mounts, ALineOfEachKind) {
  const auto mounts = parse_mountinfo(
      "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw,errors=remount-ro\n"
      "30 22 0:25 / /data ro,nosuid shared:7 master:2 - nfs4 server:/export rw,vers=4.2\n"
      "31 22 0:26 /sub /mnt rw - fuse.sshfs user@host: ro,user_id=0\n");
  ASSERT_EQ(mounts.size(), 3U);
  EXPECT_EQ(mounts[0].device, "/dev/sda1");
  EXPECT_EQ(mounts[0].type, "ext4");
  EXPECT_FALSE(mounts[0].read_only) << "remount-ro is no ro";
  EXPECT_TRUE(mounts[1].read_only);
  EXPECT_EQ(mounts[1].parent, 22U);
  EXPECT_TRUE(mounts[2].read_only) << "the file system itself";
}

TEST(Mounts, EscapesAreTheBytesTheyStandFor) {
  EXPECT_EQ(decode_mount_text("/a\\040b\\011c\\012d\\134e\\043"), "/a b\tc\nd\\e#");
  EXPECT_EQ(decode_mount_text("\\134040"), "\\040") << "a backslash before digits";
  EXPECT_EQ(decode_mount_text("\\303\\274"), "\303\274");
  EXPECT_EQ(decode_mount_text("\\04"), "\\04");
  EXPECT_EQ(decode_mount_text("\\999\\400"), "\\999\\400");
  const auto mounts = parse_mountinfo("5 1 0:9 / /my\\040disk rw - tmpfs two\\040words rw\n");
  ASSERT_EQ(mounts.size(), 1U);
  EXPECT_EQ(mounts[0].device, "two words");
  EXPECT_EQ(mounts[0].mount_point, "/my disk");
}

TEST(Mounts, WhatAnotherMountLiesOverIsNotShown) {
  const auto mounts = reachable_mounts(
      parse_mountinfo("1 1 0:1 / / rw - ext4 /dev/a rw\n"
                      "2 1 0:2 / /x rw - tmpfs under rw\n"
                      "3 2 0:3 / /x rw - tmpfs over rw\n"       // on top of 2
                      "4 1 0:4 / /y/deep rw - tmpfs lost rw\n"  // /y came later, over its way
                      "5 4 0:5 / /y/deep/er rw - tmpfs lost rw\n"
                      "6 1 0:6 / /y rw - tmpfs y rw\n"
                      "7 6 0:7 / /y/deep rw - tmpfs found rw\n"
                      "8 1 0:8 / /yes rw - tmpfs beside rw\n"));
  EXPECT_THAT(points(mounts), ElementsAre("/", "/x", "/y", "/y/deep", "/yes"));
  EXPECT_EQ(mounts[1].device, "over");
  EXPECT_EQ(mounts[3].device, "found");
}

// What a container sees: the root's own parent is not in the table, and later in it than others.
TEST(Mounts, TheRootMayBeAnywhereInTheTable) {
  const auto mounts =
      reachable_mounts(parse_mountinfo("22 30 0:5 / /proc rw - proc proc rw\n"
                                       "24 30 0:7 / /dev rw - devtmpfs d rw\n"
                                       "25 24 0:8 / /dev/shm rw - tmpfs first rw\n"
                                       "30 2 8:1 / / rw - ext4 /dev/vda rw\n"
                                       "31 25 0:8 / /dev/shm rw - tmpfs second rw\n"));
  EXPECT_THAT(points(mounts), ElementsAre("/proc", "/dev", "/", "/dev/shm"));
  EXPECT_EQ(mounts[3].device, "second");
}

TEST(Mounts, HundredsAndNonsense) {
  std::string text = "1 0 8:1 / / rw - ext4 /dev/sda rw\n";
  for (int i = 0; i < 900; ++i) {
    text += fmt::format("{} 1 0:{} / /pods/{} rw - tmpfs t{} rw\n", i + 2, i, i, i);
  }
  EXPECT_EQ(reachable_mounts(parse_mountinfo(text)).size(), 901U);
  EXPECT_THAT(parse_mountinfo("\n\nx\n1 2\n1 2 3 4 5\n1 2 8:1 / / rw shared:1\n"
                              "1 2 8:1 / / rw - ext4\n"),
              IsEmpty());
  // Two that each lie in the other are nowhere.
  EXPECT_THAT(reachable_mounts(parse_mountinfo("1 2 0:1 / /a rw - t d rw\n"
                                               "2 1 0:2 / /b rw - t d rw\n")),
              IsEmpty());
  // One that lies in itself.
  EXPECT_EQ(reachable_mounts(parse_mountinfo("7 7 0:1 / / rw - t d rw\n")).size(), 1U);
}

TEST(Mounts, RoomOfThisHost) {
  const auto room = read_mount_room("/proc");
  ASSERT_TRUE(room) << room.error().message;
  EXPECT_EQ(room->size, 0U);
  EXPECT_EQ(read_mount_room("/nonexistent").error().kind, ErrorKind::not_found);
}

}  // namespace
}  // namespace dynolog
