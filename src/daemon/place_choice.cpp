// The order of the questions: can anybody look, is it the caller's directory, can it be written.
#include "daemon/place_choice.h"

#include <fmt/format.h>

#include "base/path_template.h"

namespace dynolog {
namespace {

constexpr std::uint64_t kLittleRoom = 64ULL << 20U;

std::string directory_of(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == 0 || slash == std::string_view::npos ? "/" : std::string(path.substr(0, slash));
}

void note_room(const DirectoryAnswer& answer, const std::string& directory,
               std::vector<std::string>& notes) {
  if (answer.free_bytes >= kLittleRoom) return;
  notes.push_back(fmt::format("only {} MiB are free in {}", answer.free_bytes >> 20U, directory));
}

std::vector<std::string> notes_on(const TracePlace& place, const PreparedPlaces& prepared) {
  std::vector<std::string> notes;
  const std::string staging = directory_of(place.file);
  const bool moved = !place.target.empty() && !place.in_place;
  note_room(prepared.file, staging, notes);
  if (moved && !prepared.one_file_system) {
    const std::string end = directory_of(place.target);
    note_room(prepared.target, end, notes);
    notes.push_back(fmt::format(
        "the file is copied afterwards: {} and {} are not on one file system", staging, end));
  }
  if (moved && prepared.target.in_memory) {
    notes.push_back(
        fmt::format("{} is in memory (tmpfs): the trace takes memory for as long as it lies there",
                    directory_of(place.target)));
  }
  if (prepared.file.in_memory && !(moved && prepared.one_file_system)) {
    notes.push_back(
        fmt::format("{} is in memory (tmpfs): until the trace is {} it counts as the job's memory",
                    staging, place.brought() ? "fetched" : "moved"));
  }
  const bool exists = moved ? prepared.target.file_exists : prepared.file.file_exists;
  if (exists) notes.emplace_back("a file of that name is there and will be replaced");
  return notes;
}

PlaceChoice choose_brought(const PlaceWishes& wishes, const TracePlace& place,
                           const PreparedPlaces& prepared) {
  const DirectoryAnswer& file = prepared.file;
  if (file.unknown && wishes.bring != Bring::always) {
    return {PlaceVerdict::by_itself, file.problem, {}};
  }
  if (!file.usable) {
    return {PlaceVerdict::refused,
            fmt::format("{}; the trace lies there until it is fetched: set "
                        "KINETO_ONDEMAND_TRACE_DIR in the job, or name a place with --log-file",
                        file.problem),
            {}};
  }
  return {PlaceVerdict::good, "", notes_on(place, prepared)};
}

PlaceChoice choose_in_place(const TracePlace& place, const PreparedPlaces& prepared) {
  const DirectoryAnswer& file = prepared.file;
  if (file.unknown) return {PlaceVerdict::by_itself, file.problem, {}};
  if (!file.usable) return {PlaceVerdict::refused, file.problem, {}};
  return {PlaceVerdict::good, "", notes_on(place, prepared)};
}

// Why it is brought, or "" when the process's directory will do.
std::string why_brought(const PlaceWishes& wishes, const TracePlace& place,
                        const DirectoryAnswer& target) {
  if (wishes.bring == Bring::never) return "";
  if (!wishes.caller_directory.empty() && target.directory_id != wishes.caller_directory) {
    const std::string directory = directory_of(place.target);
    return fmt::format("the job {}: the file is brought to your side",
                       target.directory_id.empty() ? "does not see your " + directory
                                                   : "sees another " + directory + " than you");
  }
  if (wishes.bring == Bring::needed && !target.usable) {
    return fmt::format("the job cannot write there ({}): the file is brought to your side",
                       target.problem);
  }
  return "";
}

}  // namespace

std::optional<Bring> bring_from(std::string_view name) {
  if (name == "never") return Bring::never;
  if (name == "other_view") return Bring::other_view;
  if (name == "needed") return Bring::needed;
  if (name == "always") return Bring::always;
  return std::nullopt;
}

PlaceChoice choose_place(const PlaceWishes& wishes, const TracePlace& place,
                         const PreparedPlaces& prepared) {
  if (place.in_place) return choose_in_place(place, prepared);
  if (place.brought()) return choose_brought(wishes, place, prepared);
  const DirectoryAnswer& target = prepared.target;
  const DirectoryAnswer& file = prepared.file;
  if (target.unknown) return {PlaceVerdict::by_itself, target.problem, {}};
  if (std::string why = why_brought(wishes, place, target); !why.empty()) {
    return {PlaceVerdict::bring, std::move(why), {}};
  }
  if (!target.usable) return {PlaceVerdict::refused, target.problem, {}};
  if (file.unknown) return {PlaceVerdict::by_itself, file.problem, {}};
  if (!file.usable) return {PlaceVerdict::refused, file.problem, {}};
  return {PlaceVerdict::good, "", notes_on(place, prepared)};
}

PlacesAsked places_of(const TracePlace& place, bool make_directories) {
  return {.file = place.file,
          .elsewhere = place.elsewhere,
          .target = place.in_place ? "" : place.target,
          .named = place.in_place ? "" : place.named,
          .make_directories = make_directories};
}

std::string claimed_file(const TracePlace& place, const PreparedPlaces& prepared) {
  if (place.brought()) return "";
  if (place.in_place) {
    return fmt::format("{}/{}", prepared.file.directory_id, file_name(place.file));
  }
  return fmt::format("{}/{}", prepared.target.directory_id, file_name(place.target));
}

}  // namespace dynolog
