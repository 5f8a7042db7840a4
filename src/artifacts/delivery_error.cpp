// errno and byte counts as sentences.
#include "artifacts/delivery_error.h"

#include <fmt/format.h>

#include <cerrno>
#include <string_view>
#include <system_error>

namespace dynolog {
namespace {

// The advice that ends every sentence.
std::string still_there(const DeliveryPlaces& places) {
  return fmt::format("the file is still {}", places.from);
}

std::string saved(std::uint64_t written, std::uint64_t read, const DeliveryPlaces& places) {
  if (places.compressed) {
    return fmt::format("{} bytes, compressed from {} of {}, went into {}", written, read,
                       places.total_bytes, places.directory);
  }
  return fmt::format("{} of {} bytes went into {}", written, places.total_bytes, places.directory);
}

Error error_of(int error_number, std::uint64_t written, std::uint64_t read,
               const DeliveryPlaces& places) {
  const std::string_view directory = places.directory;
  switch (error_number) {
    case ENOSPC:
      return {ErrorKind::exhausted,
              fmt::format("no room: {}; {}: make room, or choose another directory",
                          saved(written, read, places), still_there(places))};
    case EDQUOT:
      return {ErrorKind::exhausted,
              fmt::format("over the disk quota of uid {}: {}; {}: remove something, or choose "
                          "another directory",
                          places.owner.value, saved(written, read, places), still_there(places))};
    case EFBIG:
      return {ErrorKind::exhausted,
              fmt::format("too large for the file system: {}; {}: use --gzip, or choose another "
                          "directory",
                          saved(written, read, places), still_there(places))};
    case EROFS:
      return {ErrorKind::denied,
              fmt::format("{} is on a read-only file system; {}: choose another directory",
                          directory, still_there(places))};
    case EACCES:
    case EPERM:
      return {ErrorKind::denied,
              fmt::format("uid {} may not put {} there ({}); {}: choose another directory",
                          places.owner.value, places.target,
                          std::generic_category().message(error_number), still_there(places))};
    case ENOENT:
    case ENOTDIR:
      return {ErrorKind::not_found,
              fmt::format("{} was removed meanwhile; {}: make it again, or choose another "
                          "directory",
                          directory, still_there(places))};
    case EISDIR:
      return {ErrorKind::denied, fmt::format("{} is a directory; {}: choose another name",
                                             places.target, still_there(places))};
    default:
      return {ErrorKind::failed,
              fmt::format("{} could not be written: {}; {}: try again, or choose another directory",
                          places.target, std::generic_category().message(error_number),
                          still_there(places))};
  }
}

}  // namespace

Error copy_error(const CopyResult& copied, const DeliveryPlaces& places) {
  switch (copied.end) {
    case CopyResult::End::write_failed:
      return error_of(copied.error, copied.written, copied.read, places);
    case CopyResult::End::read_failed:
      return {ErrorKind::failed, fmt::format("{} could not be read: {}", places.from,
                                             std::generic_category().message(copied.error))};
    case CopyResult::End::cut_short:
      return {ErrorKind::denied,
              fmt::format("{} was changed while it was copied, and is not delivered: somebody else "
                          "writes to it",
                          places.from)};
    case CopyResult::End::no_memory:
    case CopyResult::End::whole:
      break;
  }
  return {ErrorKind::exhausted, fmt::format("no memory is left to compress the file; {}: try "
                                            "without --gzip",
                                            still_there(places))};
}

Error step_error(int error_number, std::uint64_t copied, const DeliveryPlaces& places) {
  return error_of(error_number, copied, places.compressed ? places.total_bytes : copied, places);
}

Error no_room_error(std::uint64_t free_bytes, const DeliveryPlaces& places) {
  return {ErrorKind::exhausted,
          fmt::format("no room: 0 of {} bytes went into {}, where {} are free; {}: make room, or "
                      "choose another directory",
                      places.total_bytes, places.directory, free_bytes, still_there(places))};
}

}  // namespace dynolog
