// By the numbers that the kernel, and those who write file systems for it, gave them.
#include "sinks/history/file_system.h"

#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/vfs.h>

#include <array>
#include <cerrno>

#include "base/error.h"

namespace dynolog::history {
namespace {

struct Known {
  std::uint32_t type;
  const char* name;
};
constexpr std::array kMemory{Known{TMPFS_MAGIC, "tmpfs"}, Known{RAMFS_MAGIC, "ramfs"}};
constexpr std::array kNetwork{
    Known{NFS_SUPER_MAGIC, "NFS"}, Known{SMB_SUPER_MAGIC, "SMB"}, Known{0xff534d42, "CIFS"},
    Known{0xfe534d42, "SMB"},      Known{0x0bd00bd0, "Lustre"},   Known{0x47504653, "GPFS"},
    Known{0x19830326, "BeeGFS"},   Known{0x00c36400, "CephFS"},   Known{V9FS_MAGIC, "9p"},
    Known{AFS_SUPER_MAGIC, "AFS"}, Known{0x6b414653, "AFS"},      Known{CODA_SUPER_MAGIC, "Coda"},
    Known{0x65735546, "FUSE"},     Known{0xaad7aaea, "PanFS"},    Known{0x7461636f, "OCFS2"},
    Known{0x01161970, "GFS2"},     Known{0x20030528, "OrangeFS"}, Known{0xbacbacbc, "HGFS"},
    Known{0x0187, "autofs"}};

}  // namespace

std::string unsuitable_file_system(std::uint32_t type) {
  for (const Known& known : kMemory) {
    if (type == known.type) return fmt::format("{}, which is memory anyway", known.name);
  }
  for (const Known& known : kNetwork) {
    if (type == known.type) return fmt::format("{}, where a database is not safe", known.name);
  }
  return "";
}

std::string unsuitable(const std::string& directory) {
  struct statfs info{};
  if (::statfs(directory.c_str(), &info) != 0) {
    return fail_errno(errno, directory).error().message;
  }
  const std::string why = unsuitable_file_system(static_cast<std::uint32_t>(info.f_type));
  return why.empty() ? "" : fmt::format("{} is on {}", directory, why);
}

}  // namespace dynolog::history
