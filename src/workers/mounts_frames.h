// The mounts worker's requests and replies as bodies of frames. Both sides decode the other's as
// hostile input: a body that does not fit is an error (invalid), never an exception or a crash.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/name_pattern.h"
#include "kernel/mounts.h"
#include "metrics/text_file.h"
#include "metrics/unit_state.h"

namespace dynolog {

struct MountsRequest {
  enum class Verb { file_systems, text_files, units };
  Verb verb = Verb::file_systems;
  NameFilterOptions mount_points{};  // file_systems: which ones
  NameFilterOptions types{};
  std::string directory{};           // text_files: where they are
  std::vector<std::string> units{};  // units: their names
};
[[nodiscard]] std::string encode(const MountsRequest& request);
[[nodiscard]] Result<MountsRequest> decode_mounts_request(std::string_view body);

// An answer comes in parts that each fit a frame: all but the last are events.
[[nodiscard]] std::vector<std::string> encode_mounts(std::span<const MountUsage> mounts);
[[nodiscard]] Result<std::vector<MountUsage>> decode_mounts(std::string_view body);

// One part of a file: a header in JSON, a newline, and the file's bytes as they are. Parts of one
// file follow each other. The answer's last part has no path.
struct TextFilePart {
  std::string path;
  std::int64_t modified_s = 0;
  std::string problem;
  std::string bytes;
};
inline constexpr std::size_t kTextFilePartBytes = 64U << 10U;
[[nodiscard]] std::string encode(const TextFilePart& part);
[[nodiscard]] Result<TextFilePart> decode_text_file_part(std::string_view body);
// Units of systemd: one frame has room for as many as may be asked for.
[[nodiscard]] std::string encode_units(std::span<const UnitState> units);
[[nodiscard]] Result<std::vector<UnitState>> decode_units(std::string_view body);
// An error, in the place of the last part.
[[nodiscard]] std::string encode_mounts_error(const Error& error);

}  // namespace dynolog
