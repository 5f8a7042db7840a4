// A file that lines are appended to, under a name that the daemon was given: opened only where
// nobody else can have said which file that is.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

#include "base/error.h"
#include "base/unique_fd.h"

namespace dynolog {

// Opens `path` to append to it, and makes it with `mode` where it is missing. Refuses (denied, with
// what to do) when somebody besides root and the effective user could lead the lines elsewhere:
// - a directory or a link on the way that belongs to another user, or a directory that everybody
//   may write to, but for sticky ones (/tmp). A group may (/var/log is root:syslog on some
//   systems): what it puts there is looked at as the rest is;
// - at the end a link, a file of another user's, one with further names, or one that others may
//   write to; a group may that is the daemon's or root's.
// A terminal, a device such as /dev/null, and a FIFO are written to as they are.
[[nodiscard]] Result<UniqueFd> open_own_file(const std::string& path, mode_t mode);

// Whether that would succeed, as far as can be seen: nothing is made, and nothing opened that
// somebody may be reading from.
[[nodiscard]] Status see_own_file(const std::string& path);

// Whether it names a descriptor of this process, which whoever started the daemon has chosen:
// /dev/stdout, /dev/stderr, /dev/fd/N, /proc/self/fd/N. Opened as it is, whatever it is.
[[nodiscard]] bool names_descriptor(std::string_view path);

}  // namespace dynolog
