// What is done about one process's file, once its directories were looked at. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "profiling/trace_config.h"
#include "workers/files_worker.h"

namespace dynolog {

// When the caller takes the file over instead of finding it on the host: rpc's TraceSpec::bring.
enum class Bring { never, other_view, needed, always };
[[nodiscard]] std::optional<Bring> bring_from(std::string_view name);

struct PlaceWishes {
  Bring bring = Bring::never;
  std::string caller_directory;  // "dev:inode" of the target's directory for the caller; "": none
  bool make_directories = false;

  // Directories are made in the process's view only where the caller has no such directory of its
  // own: else the two would differ by our doing.
  [[nodiscard]] bool may_make_directories() const {
    return make_directories && (bring == Bring::never || caller_directory.empty());
  }
};

enum class PlaceVerdict {
  good,
  bring,      // to the caller: to be placed anew, without a target
  by_itself,  // nobody but the process can look there: Kineto writes to the target itself
  refused,
};
struct PlaceChoice {
  PlaceVerdict verdict = PlaceVerdict::good;
  std::string why;                 // a sentence, with all but good
  std::vector<std::string> notes;  // sentences, with good
};
[[nodiscard]] PlaceChoice choose_place(const PlaceWishes& wishes, const TracePlace& place,
                                       const PreparedPlaces& prepared);

// What a files worker is asked about the place.
[[nodiscard]] PlacesAsked places_of(const TracePlace& place, bool make_directories = false);

// "dev:inode/name" of the file that the process's trace is going to replace: two processes of a
// request must not share one. "" when it is brought: then nobody else knows its name.
[[nodiscard]] std::string claimed_file(const TracePlace& place, const PreparedPlaces& prepared);

}  // namespace dynolog
