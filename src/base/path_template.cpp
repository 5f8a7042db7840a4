// Placeholders in paths, and the place where a pid goes in a name.
#include "base/path_template.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

#include "base/text.h"

namespace dynolog {
namespace {

constexpr std::size_t kMaxPath = 4000;  // of the 4,096 that the kernel takes, ".tmp" and NUL less
constexpr std::size_t kMaxValue = 255;  // no component of a path is longer
constexpr std::string_view kKnown = "{rank} {local_rank} {host} {pid} {job} {time}";
constexpr std::string_view kReplaced = "\xEF\xBF\xBD";  // by clean_text()

enum class Placeholder { rank, local_rank, host, pid, job, time };

struct Piece {
  std::string text;
  std::optional<Placeholder> placeholder;  // instead of text
};

std::optional<Placeholder> placeholder_of(std::string_view name) {
  if (name == "rank") return Placeholder::rank;
  if (name == "local_rank") return Placeholder::local_rank;
  if (name == "host") return Placeholder::host;
  if (name == "pid") return Placeholder::pid;
  if (name == "job") return Placeholder::job;
  if (name == "time") return Placeholder::time;
  return std::nullopt;
}

std::unexpected<Error> lone_brace(char brace, std::string_view pattern) {
  return fail(
      ErrorKind::invalid,
      fmt::format("'{0}' without its partner in {1}: write {0}{0} for a brace, or one of {2}",
                  brace, clean_text(pattern, kMaxValue), kKnown));
}

Result<std::vector<Piece>> parse(std::string_view pattern) {
  std::vector<Piece> pieces(1);
  for (std::size_t at = 0; at < pattern.size(); ++at) {
    const char byte = pattern[at];
    if (byte != '{' && byte != '}') {
      pieces.back().text += byte;
      continue;
    }
    if (at + 1 < pattern.size() && pattern[at + 1] == byte) {
      pieces.back().text += byte;
      ++at;
      continue;
    }
    const std::size_t end = pattern.find_first_of("{}", at + 1);
    if (byte == '}' || end == std::string_view::npos || pattern[end] == '{') {
      return lone_brace(byte, pattern);
    }
    const std::string_view name = pattern.substr(at + 1, end - at - 1);
    const auto placeholder = placeholder_of(name);
    if (!placeholder) {
      return fail(ErrorKind::invalid, fmt::format("{{{}}} is not a placeholder: choose among {}",
                                                  clean_text(name, kMaxValue), kKnown));
    }
    pieces.push_back({.text = {}, .placeholder = placeholder});
    pieces.emplace_back();
    at = end;
  }
  return pieces;
}

// A value comes from the job's environment: it must not name another directory, hide the file, or
// hold a placeholder of its own.
std::string fit(std::string_view value) {
  std::string fit = clean_text(value, kMaxValue);
  for (std::size_t at = fit.find(kReplaced); at != std::string::npos; at = fit.find(kReplaced)) {
    fit.replace(at, kReplaced.size(), 1, '_');
  }
  std::ranges::replace_if(
      fit, [](char byte) { return byte == '/' || byte == '{' || byte == '}'; }, '_');
  const std::size_t dots = std::min(fit.find_first_not_of('.'), fit.size());
  fit.replace(0, dots, dots, '_');
  return fit.empty() ? "none" : fit;
}

std::string value_of(Placeholder placeholder, const PathValues& values) {
  const auto number = [](std::optional<int> value) {
    return value ? std::to_string(*value) : std::string("none");
  };
  switch (placeholder) {
    case Placeholder::rank:
      return number(values.rank);
    case Placeholder::local_rank:
      return number(values.local_rank);
    case Placeholder::host:
      return fit(values.host);
    case Placeholder::pid:
      return std::to_string(values.pid);
    case Placeholder::job:
      return fit(values.job);
    case Placeholder::time:
      return fit(values.time);
  }
  return {};
}

Result<std::string> limited(std::string path) {
  if (path.size() <= kMaxPath) return path;
  return fail(ErrorKind::invalid,
              fmt::format("the path is {} bytes long, {} are the limit: choose a shorter one",
                          path.size(), kMaxPath));
}

Result<std::string> expand(const std::vector<Piece>& pieces, const PathValues& values) {
  std::string path;
  for (const Piece& piece : pieces) {
    path += piece.placeholder ? value_of(*piece.placeholder, values) : piece.text;
  }
  return limited(std::move(path));
}

// Whether what stands for the placeholder is another for each process of the host.
bool is_own(Placeholder placeholder, const PathValues& values) {
  return placeholder == Placeholder::pid ||
         (placeholder == Placeholder::rank && values.rank.has_value()) ||
         (placeholder == Placeholder::local_rank && values.local_rank.has_value());
}

// Where the name's suffix begins, "x.json" -> 1; the path's end when it has none that is known.
std::size_t suffix_of(std::string_view path) {
  constexpr std::array<std::string_view, 4> kSuffixes = {".pt.trace.json.gz", ".pt.trace.json",
                                                         ".json.gz", ".json"};
  const std::string_view name = file_name(path);
  for (const std::string_view suffix : kSuffixes) {
    if (name.ends_with(suffix)) return path.size() - suffix.size();
  }
  return path.size();
}

}  // namespace

Result<std::string> expand_path(std::string_view pattern, const PathValues& values) {
  const auto pieces = parse(pattern);
  if (!pieces) return std::unexpected(pieces.error());
  return expand(*pieces, values);
}

bool has_placeholders(std::string_view pattern) {
  for (std::size_t at = 0; at < pattern.size(); ++at) {
    if (pattern[at] != '{') continue;
    if (at + 1 == pattern.size() || pattern[at + 1] != '{') return true;
    ++at;
  }
  return false;
}

std::string as_pattern(std::string_view text) {
  std::string pattern;
  for (const char byte : text) {
    pattern += byte;
    if (byte == '{' || byte == '}') pattern += byte;
  }
  return pattern;
}

std::string with_insertion(std::string_view path, std::string_view insertion) {
  const std::size_t at = suffix_of(path);
  return fmt::format("{}_{}{}", path.substr(0, at), insertion, path.substr(at));
}

Result<std::string> process_path(std::string_view pattern, const PathValues& values) {
  const auto pieces = parse(pattern);
  if (!pieces) return std::unexpected(pieces.error());
  auto path = expand(*pieces, values);
  if (!path) return path;
  if (path->empty() || path->ends_with('/')) {
    return fail(ErrorKind::invalid,
                fmt::format("{} has no name of a file at its end: add one, such as trace.json",
                            path->empty() ? "an empty path" : clean_text(*path, kMaxValue)));
  }
  const bool apart = std::ranges::any_of(*pieces, [&](const Piece& piece) {
    return piece.placeholder && is_own(*piece.placeholder, values);
  });
  return apart ? path : limited(with_insertion(*path, std::to_string(values.pid)));
}

std::string_view file_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

std::string with_gz(std::string name) {
  if (!name.ends_with(".gz")) name += ".gz";
  return name;
}

std::string snapshot_path(std::string_view path) {
  return fmt::format("{}.pickle", path.substr(0, suffix_of(path)));
}

}  // namespace dynolog
