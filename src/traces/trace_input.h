// The JSON of a trace file, a block at a time: as it stands on the disk, or out of gzip.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "traces/gzip_inflater.h"

namespace dynolog {

class TraceInput {
 public:
  // `meanwhile` is called each 16 MiB of the file or of the JSON; it may be empty.
  TraceInput(int fd, std::function<void()> meanwhile, std::uint64_t max_bytes);
  TraceInput(const TraceInput&) = delete;
  TraceInput& operator=(const TraceInput&) = delete;

  // Valid until the next call. Empty at the end, at an error, and beyond `max_bytes` of either.
  [[nodiscard]] std::span<const char> next();

  [[nodiscard]] bool compressed() const { return gzip_.has_value(); }
  [[nodiscard]] std::uint64_t file_bytes() const { return file_bytes_; }  // read so far
  [[nodiscard]] int error_number() const { return error_number_; }        // of read(2), or 0
  [[nodiscard]] bool too_large() const { return too_large_; }
  [[nodiscard]] std::uint64_t max_bytes() const { return max_bytes_; }
  [[nodiscard]] const GzipInflater* gzip() const { return gzip_ ? &*gzip_ : nullptr; }

 private:
  static constexpr std::size_t kBlock = 64U << 10U;
  std::span<const char> read_file();
  void look_aside();

  int fd_;
  std::function<void()> meanwhile_;
  std::uint64_t max_bytes_;
  std::size_t blocks_ = 0;
  std::uint64_t file_bytes_ = 0;
  std::uint64_t json_bytes_ = 0;
  int error_number_ = 0;
  bool too_large_ = false;
  bool begun_ = false;
  std::array<char, kBlock> file_block_;
  std::span<const char> first_;  // read to see what the file is, not given away yet
  std::optional<GzipInflater> gzip_;
  std::array<char, kBlock> json_block_;  // of a compressed file
};

}  // namespace dynolog
