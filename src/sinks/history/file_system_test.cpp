// Where a database is safe, by the numbers of file systems.
#include "sinks/history/file_system.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <utility>

namespace dynolog::history {
namespace {

using testing::StartsWith;

// Numbers as statfs(2) and those who write the file systems list them; not taken from the table
// that is tested.
TEST(FileSystem, NoneOfTheNetworkHoldsADatabase) {
  constexpr std::array<std::pair<std::uint32_t, const char*>, 18> kOnes{{{0x6969, "NFS"},
                                                                         {0x517b, "SMB"},
                                                                         {0xff534d42, "CIFS"},
                                                                         {0xfe534d42, "SMB"},
                                                                         {0x0bd00bd0, "Lustre"},
                                                                         {0x47504653, "GPFS"},
                                                                         {0x19830326, "BeeGFS"},
                                                                         {0x00c36400, "CephFS"},
                                                                         {0x01021997, "9p"},
                                                                         {0x5346414f, "AFS"},
                                                                         {0x6b414653, "AFS"},
                                                                         {0x73757245, "Coda"},
                                                                         {0x65735546, "FUSE"},
                                                                         {0xaad7aaea, "PanFS"},
                                                                         {0x7461636f, "OCFS2"},
                                                                         {0x01161970, "GFS2"},
                                                                         {0x20030528, "OrangeFS"},
                                                                         {0xbacbacbc, "HGFS"}}};
  for (const auto& [type, name] : kOnes) {
    EXPECT_EQ(unsuitable_file_system(type), std::string(name) + ", where a database is not safe");
  }
}

TEST(FileSystem, MemoryNeedsNoFile) {
  EXPECT_EQ(unsuitable_file_system(0x01021994), "tmpfs, which is memory anyway");
  EXPECT_EQ(unsuitable_file_system(0x858458f6), "ramfs, which is memory anyway");
}

TEST(FileSystem, DisksAre) {
  for (const std::uint32_t type :
       {0xef53U /* ext4 */, 0x58465342U /* xfs */, 0x9123683eU /* btrfs */, 0x2fc12fc1U /* zfs */,
        0x794c7630U /* overlay */, 0xf2f52010U /* f2fs */}) {
    EXPECT_EQ(unsuitable_file_system(type), "") << type;
  }
}

TEST(FileSystem, ADirectoryThatIsNotThereIsNone) {
  EXPECT_THAT(unsuitable("/nonexistent/history"), StartsWith("/nonexistent/history"));
}

}  // namespace
}  // namespace dynolog::history
