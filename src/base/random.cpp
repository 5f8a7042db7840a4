// getrandom(2), not std::random_device: that needs a newer glibc when linked statically.
#include "base/random.h"

#include <fmt/format.h>
#include <sys/random.h>

#include <cstdlib>

namespace dynolog {

std::uint64_t random_u64() {
  std::uint64_t value = 0;
  // Up to 256 bytes never come short once the pool is ready; a failure here is a bug.
  if (::getrandom(&value, sizeof value, 0) != sizeof value) std::abort();
  return value;
}

std::string random_hex64() { return fmt::format("{:016x}", random_u64()); }

}  // namespace dynolog
