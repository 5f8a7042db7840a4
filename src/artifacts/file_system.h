// What sort of file system a directory is on, as far as it matters for writing traces there.
#pragma once

namespace dynolog {

enum class FileSystem {
  ordinary,
  memory,  // tmpfs, ramfs: what is written counts as somebody's memory
  kernel,  // /proc, /sys, cgroups, ...: files that are no files
  // Network and FUSE file systems, which ask more than ids: tickets, or which process it is.
  remote,
};

// By the number that statfs(2) gives: pure.
[[nodiscard]] FileSystem file_system_of_magic(unsigned long magic);

// Of the open file or directory (O_PATH will do); ordinary when the kernel does not say.
[[nodiscard]] FileSystem file_system_of(int fd);

}  // namespace dynolog
