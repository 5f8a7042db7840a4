// The bytes of one open file into another: as they are, or compressed. Told by numbers; sentences
// are made elsewhere.
#pragma once

#include <cstdint>
#include <functional>

namespace dynolog {

struct CopyResult {
  enum class End {
    whole,
    cut_short,     // the source has become shorter
    read_failed,   // `error` says why
    write_failed,  // the same
    no_memory,
  };
  End end = End::whole;
  int error = 0;              // errno
  std::uint64_t read = 0;     // of the source
  std::uint64_t written = 0;  // to the target
};

inline constexpr std::uint64_t kCopyStep = 16U << 20U;

// The first `bytes` of `from`, whose position is not used, to the position of `to` (its beginning).
// `meanwhile` is called after each kCopyStep by the calling thread; it may be empty.
[[nodiscard]] CopyResult copy_bytes(int from, int to, std::uint64_t bytes,
                                    const std::function<void()>& meanwhile);

// The same, compressed by zlib as one gzip member, on a thread of its own at nice 10, which has
// ended on return. `meanwhile` is called by the calling thread all the same: at least once if there
// was a step.
[[nodiscard]] CopyResult compress_bytes(int from, int to, std::uint64_t bytes,
                                        const std::function<void()>& meanwhile);

}  // namespace dynolog
