// One piece of a plain file as a gzip member of bounded size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/error.h"

namespace dynolog {

struct Chunk {
  std::uint64_t plain_bytes = 0;
  std::uint32_t crc32 = 0;  // of the plain bytes
  std::string data;         // a whole gzip member of at most `max_data` bytes
};

inline constexpr std::size_t kMaxChunkPlain = 4U << 20U;
inline constexpr std::size_t kLeastChunkData = 4U << 10U;

// As many bytes from `offset` on as fit compressed into `max_data` (at least kLeastChunkData), at
// most kMaxChunkPlain of plain ones; none, in an empty member, at or beyond the end of the file.
// Members in a row are one gzip file. The descriptor's own position is not used.
[[nodiscard]] Result<Chunk> read_chunk(int fd, std::uint64_t offset, std::size_t max_data);

}  // namespace dynolog
