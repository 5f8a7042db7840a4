// The name of a trace's file as people write it for many processes at once, and what it becomes for
// one of them. Shared by the daemon and dyno, which both name files. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"

namespace dynolog {

// What stands for {rank} {local_rank} {host} {pid} {job} {time}. Text is made fit for a part of one
// component of a path: '/', braces, control characters, what is not UTF-8 and leading dots become
// '_', and "" becomes "none".
struct PathValues {
  std::optional<int> rank;        // without one, {rank} is "none"
  std::optional<int> local_rank;  // the same
  std::string host;
  std::int64_t pid = 0;  // in the process's own pid namespace, as Kineto counts
  std::string job;       // "none" when it has none
  std::string time;      // of the request, as compact_utc() has it: 20261130-062542Z
};

// Errors (invalid) name what is wrong: an unknown placeholder, a brace without its partner ("{{"
// and "}}" are braces), a result over 4,000 bytes.
[[nodiscard]] Result<std::string> expand_path(std::string_view pattern, const PathValues& values);

// Whether something is to be filled in: a '{' that is no brace of its own ("{{").
[[nodiscard]] bool has_placeholders(std::string_view pattern);
// The text as a pattern that expands to it.
[[nodiscard]] std::string as_pattern(std::string_view text);

// "x.json" -> "x_12.json": before ".pt.trace.json" or ".json" at the end of the name (".gz" may
// follow), else at its end. The directory is left alone.
[[nodiscard]] std::string with_insertion(std::string_view path, std::string_view insertion);

// The whole rule: expanded, with the pid inserted where the pattern does not tell processes apart
// (or the value it would use is not known). A path that ends in '/' is an error too.
[[nodiscard]] Result<std::string> process_path(std::string_view pattern, const PathValues& values);

// What follows the last '/'; "" of a directory that ends in one.
[[nodiscard]] std::string_view file_name(std::string_view path);

// The name that a compressed file has: with ".gz" at its end, unless it ends so already.
[[nodiscard]] std::string with_gz(std::string name);

// The name of a memory snapshot beside that of the trace: "x_12.json" -> "x_12.pickle".
[[nodiscard]] std::string snapshot_path(std::string_view path);

}  // namespace dynolog
