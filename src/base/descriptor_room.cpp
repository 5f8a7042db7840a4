// A table never shrinks, so that one descriptor at its end is enough, and only for a moment.
#include "base/descriptor_room.h"

#include <fcntl.h>
#include <sys/resource.h>

#include <algorithm>

#include "base/unique_fd.h"

namespace dynolog {

void make_room_for_descriptors(int count) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  const auto most = std::min(static_cast<rlim_t>(count), limit.rlim_cur);
  const UniqueFd any(::open("/", O_PATH | O_CLOEXEC));
  const UniqueFd highest(::fcntl(any.get(), F_DUPFD_CLOEXEC, static_cast<int>(most) - 1));
}

}  // namespace dynolog
