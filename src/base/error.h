// Errors as values: what went wrong, in words that a user can act on.
#pragma once

#include <cerrno>
#include <expected>
#include <string>
#include <string_view>
#include <utility>

namespace dynolog {

// "Not available here" (no permission, no hardware, no such kernel file) is told apart from
// "failed": the first degrades one feature with one line, the second is worth somebody's attention.
enum class ErrorKind {
  unavailable,  // not offered on this host or to this user
  failed,       // should have worked
  invalid,      // the input is wrong; the message names what and how to mend it
  denied,       // the caller may not
  not_found,
  timed_out,
  exhausted,       // a limit was reached
  ambiguous,       // could mean several things: the caller must choose
  not_identified,  // the kernel cannot say who the caller is
};

struct Error {
  ErrorKind kind = ErrorKind::failed;
  std::string message;
};

template <class T>
using Result = std::expected<T, Error>;
using Status = Result<void>;

[[nodiscard]] inline std::unexpected<Error> fail(ErrorKind kind, std::string message) {
  return std::unexpected(Error{kind, std::move(message)});
}

// Adds what was being done: "reading /proc/stat: Permission denied".
[[nodiscard]] std::unexpected<Error> with_context(Error error, std::string_view doing);

// An errno as an Error: EACCES and EPERM are denied, ENOENT and ESRCH not_found, ENOSYS and
// EOPNOTSUPP unavailable, EMFILE, ENFILE, ENOMEM, ENOSPC, EDQUOT, EFBIG exhausted, others failed.
[[nodiscard]] std::unexpected<Error> fail_errno(int error_number, std::string_view doing);

[[nodiscard]] std::string_view to_string(ErrorKind kind);

}  // namespace dynolog
