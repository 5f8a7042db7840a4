// Error construction: context and errno.
#include "base/error.h"

#include <system_error>

namespace dynolog {
namespace {

ErrorKind kind_of(int error_number) {
  switch (error_number) {
    case EACCES:
    case EPERM:
      return ErrorKind::denied;
    case ENOENT:
    case ESRCH:
    case ENODEV:
      return ErrorKind::not_found;
    case ENOSYS:
    case EOPNOTSUPP:
      return ErrorKind::unavailable;
    case EMFILE:
    case ENFILE:
    case ENOMEM:
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
      return ErrorKind::exhausted;
    case ETIMEDOUT:
      return ErrorKind::timed_out;
    default:
      return ErrorKind::failed;
  }
}

}  // namespace

std::unexpected<Error> with_context(Error error, std::string_view doing) {
  error.message.insert(0, std::string(doing) + ": ");
  return std::unexpected(std::move(error));
}

std::unexpected<Error> fail_errno(int error_number, std::string_view doing) {
  // generic_category().message() is thread-safe, strerror() is not.
  return fail(kind_of(error_number),
              std::string(doing) + ": " + std::generic_category().message(error_number));
}

std::string_view to_string(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::unavailable:
      return "unavailable";
    case ErrorKind::failed:
      return "failed";
    case ErrorKind::invalid:
      return "invalid";
    case ErrorKind::denied:
      return "denied";
    case ErrorKind::not_found:
      return "not_found";
    case ErrorKind::timed_out:
      return "timed_out";
    case ErrorKind::exhausted:
      return "exhausted";
    case ErrorKind::ambiguous:
      return "ambiguous";
    case ErrorKind::not_identified:
      return "not_identified";
  }
  return "failed";
}

}  // namespace dynolog
