// File systems by their numbers, as statfs(2) and their makers document them.
#include "artifacts/file_system.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "base/unique_fd.h"

namespace dynolog {
namespace {

TEST(FileSystemOfMagic, NetworkAndFuse) {
  for (const unsigned long magic :
       {0x6969UL, 0x65735546UL, 0x0BD00BD0UL, 0x47504653UL, 0x19830326UL, 0x5346414FUL,
        0x6B414653UL, 0xFF534D42UL, 0xFE534D42UL, 0x517BUL, 0x00C36400UL, 0x01021997UL, 0x0187UL}) {
    EXPECT_EQ(file_system_of_magic(magic), FileSystem::remote) << std::hex << magic;
  }
}

TEST(FileSystemOfMagic, MemoryKernelAndTheRest) {
  EXPECT_EQ(file_system_of_magic(0x01021994), FileSystem::memory);
  EXPECT_EQ(file_system_of_magic(0x858458F6), FileSystem::memory);
  EXPECT_EQ(file_system_of_magic(0x62656570), FileSystem::kernel) << "configfs";
  EXPECT_EQ(file_system_of_magic(0x63677270), FileSystem::kernel) << "cgroup2";
  EXPECT_EQ(file_system_of_magic(0xEF53), FileSystem::ordinary) << "ext4";
  EXPECT_EQ(file_system_of_magic(0x58465342), FileSystem::ordinary) << "xfs";
  EXPECT_EQ(file_system_of_magic(0x794C7630), FileSystem::ordinary) << "overlayfs";
  EXPECT_EQ(file_system_of_magic(0), FileSystem::ordinary);
}

TEST(FileSystemOf, AsksTheKernel) {
  const UniqueFd proc(::open("/proc/self", O_PATH | O_CLOEXEC));
  EXPECT_EQ(file_system_of(proc.get()), FileSystem::kernel);
  EXPECT_EQ(file_system_of(-1), FileSystem::ordinary);
}

}  // namespace
}  // namespace dynolog
