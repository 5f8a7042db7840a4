// A file of metrics that somebody puts into a directory, as its reader found it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace dynolog {

inline constexpr std::size_t kMaxTextFiles = 256;
inline constexpr std::size_t kMaxTextFileBytes = 1U << 20U;
inline constexpr std::size_t kMaxTextFilesBytes = 4U << 20U;  // of one directory

struct TextFile {
  std::string path;
  std::int64_t modified_s = 0;  // since the epoch
  std::string text;
  std::string problem;  // why it could not be read; then there is no text
  bool operator==(const TextFile&) const = default;
};

}  // namespace dynolog
