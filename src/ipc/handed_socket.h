// A socket that an earlier daemon bound and somebody kept meanwhile: is it what it is said to be?
#pragma once

#include <sys/stat.h>

#include <memory>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/unique_fd.h"

namespace dynolog {

struct HandedSocket {
  std::string endpoint;  // "abstract" or the directory
  std::shared_ptr<UniqueFd> socket;
};

// A unix datagram socket bound to that address (raw: a leading NUL when abstract), to which nothing
// else has been done. The error is a sentence that says what it is instead.
[[nodiscard]] Status check_handed_socket(int fd, std::string_view address);

// Whether it is the socket that was bound to that very file: its path alone may lead to another's
// by now. An error where the kernel does not say.
[[nodiscard]] Status check_bound_file(int fd, const struct stat& file);

// For use by one thread that never waits, and by no child.
[[nodiscard]] Status make_private(int fd);

}  // namespace dynolog
