// Why a file did not get to where it was asked for, in sentences that say where it still is and
// what to do. Pure.
#pragma once

#include <cstdint>
#include <string>

#include "artifacts/copy.h"
#include "base/error.h"
#include "base/ids.h"

namespace dynolog {

// One delivery, for sentences.
struct DeliveryPlaces {
  std::string from;       // where the file is and remains
  std::string directory;  // of the target
  std::string target;
  Uid owner;
  std::uint64_t total_bytes = 0;  // of the file
  bool compressed = false;        // on the way
};

// A copy that did not come to its end. Exhausted without room or quota, denied when the source was
// changed meanwhile or the target may not be written, else failed.
[[nodiscard]] Error copy_error(const CopyResult& copied, const DeliveryPlaces& places);

// A step that failed before or after the bytes: creating, syncing, naming, renaming. `error_number`
// as errno, `copied` the bytes that were written so far.
[[nodiscard]] Error step_error(int error_number, std::uint64_t copied,
                               const DeliveryPlaces& places);

// `free_bytes` are too few; nothing was written.
[[nodiscard]] Error no_room_error(std::uint64_t free_bytes, const DeliveryPlaces& places);

}  // namespace dynolog
