// Parser of /proc/<pid>/mountinfo, which mounts of it can be reached, and their room.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace dynolog {

inline constexpr std::size_t kMaxMounts = 8192;

struct Mount {
  std::uint64_t id = 0;
  std::uint64_t parent = 0;
  std::string device;       // what was mounted: "/dev/vda1", "server:/export", "tmpfs"
  std::string mount_point;  // its real bytes: the file has "\040" for a blank
  std::string type;         // "ext4", "nfs4", "fuse.sshfs"
  bool read_only = false;
};

// "\040" and its kind as the bytes they stand for; what is no such escape stays.
[[nodiscard]] std::string decode_mount_text(std::string_view text);

// Lines that are none are passed over; at most kMaxMounts.
[[nodiscard]] std::vector<Mount> parse_mountinfo(std::string_view text);

// Without what another mount lies over, wholly or above it: its path leads elsewhere.
[[nodiscard]] std::vector<Mount> reachable_mounts(std::vector<Mount> mounts);

// Bytes, but for the last two, which count inodes.
struct MountRoom {
  std::uint64_t size = 0;
  std::uint64_t free = 0;
  std::uint64_t available = 0;  // to users who are not root
  std::uint64_t files = 0;
  std::uint64_t files_free = 0;
};

// May hang for ever, where the server of a network file system does not answer.
[[nodiscard]] Result<MountRoom> read_mount_room(const std::string& mount_point);

enum class MountState : std::uint8_t {
  read,
  failed,       // statfs(2) gave an error
  hangs,        // statfs(2) does not come back
  not_reached,  // there was no time for it, as others hang
};

// What became of one look at a mount.
struct MountUsage {
  Mount mount;
  MountState state = MountState::not_reached;
  MountRoom room;       // where it was read
  std::string problem;  // where it failed
};

}  // namespace dynolog
