// /proc/mdstat: software RAID (md) arrays, their disks, and what they are busy with.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace dynolog {

enum class MdActivity : std::uint8_t { active, inactive, recovering, resync, check };

struct MdArray {
  std::string_view name;
  MdActivity activity = MdActivity::inactive;
  std::uint32_t disks_active = 0;
  std::uint32_t disks_required = 0;
  std::uint32_t disks_failed = 0;
  std::uint32_t disks_spare = 0;
  std::uint64_t blocks = 0;         // of 1 KiB
  std::uint64_t blocks_synced = 0;  // all of them while nothing is done
};

// Fills `arrays`, whose names point into `text`; at most 4096. What is no array is passed over.
void parse_mdstat(std::string_view text, std::vector<MdArray>& arrays);

}  // namespace dynolog
