// File systems by their magic numbers.
#include "artifacts/file_system.h"

#include <linux/magic.h>
#include <sys/vfs.h>

namespace dynolog {
namespace {

// Those that linux/magic.h of older distributions does not have, or that the kernel keeps apart.
constexpr unsigned long kConfigFs = 0x62656570;
constexpr unsigned long kPstore = 0x6165676C;
constexpr unsigned long kResctrl = 0x7655821;
constexpr unsigned long kMqueue = 0x19800202;
constexpr unsigned long kCifs = 0xFF534D42;
constexpr unsigned long kSmb2 = 0xFE534D42;
constexpr unsigned long kCeph = 0x00C36400;
constexpr unsigned long kFuse = 0x65735546;
constexpr unsigned long kLustre = 0x0BD00BD0;
constexpr unsigned long kGpfs = 0x47504653;
constexpr unsigned long kBeeGfs = 0x19830326;
constexpr unsigned long kPanFs = 0xAAD7AAEA;
constexpr unsigned long kVmHgfs = 0xBACBACBC;
constexpr unsigned long kAutofs = 0x0187;
constexpr unsigned long kOrangeFs = 0x20030528;
constexpr unsigned long kGfs2 = 0x01161970;

}  // namespace

FileSystem file_system_of_magic(unsigned long magic) {
  switch (magic) {
    case TMPFS_MAGIC:
    case RAMFS_MAGIC:
      return FileSystem::memory;
    case PROC_SUPER_MAGIC:
    case SYSFS_MAGIC:
    case CGROUP_SUPER_MAGIC:
    case CGROUP2_SUPER_MAGIC:
    case DEBUGFS_MAGIC:
    case TRACEFS_MAGIC:
    case SECURITYFS_MAGIC:
    case SELINUX_MAGIC:
    case SMACK_MAGIC:
    case BPF_FS_MAGIC:
    case BINFMTFS_MAGIC:
    case DEVPTS_SUPER_MAGIC:
    case EFIVARFS_MAGIC:
    case HUGETLBFS_MAGIC:
    case NSFS_MAGIC:
    case kConfigFs:
    case kPstore:
    case kResctrl:
    case kMqueue:
      return FileSystem::kernel;
    case NFS_SUPER_MAGIC:
    case AFS_SUPER_MAGIC:
    case AFS_FS_MAGIC:
    case CODA_SUPER_MAGIC:
    case V9FS_MAGIC:
    case SMB_SUPER_MAGIC:
    case OCFS2_SUPER_MAGIC:
    case kCifs:
    case kSmb2:
    case kCeph:
    case kFuse:
    case kLustre:
    case kGpfs:
    case kBeeGfs:
    case kPanFs:
    case kVmHgfs:
    case kAutofs:
    case kOrangeFs:
    case kGfs2:
      return FileSystem::remote;
    default:
      return FileSystem::ordinary;
  }
}

FileSystem file_system_of(int fd) {
  struct statfs status{};
  if (::fstatfs(fd, &status) != 0) return FileSystem::ordinary;
  return file_system_of_magic(static_cast<unsigned long>(status.f_type));
}

}  // namespace dynolog
