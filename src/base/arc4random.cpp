// arc4random(3) for portable builds: libstdc++ wants that of glibc 2.36. Nobody calls it here
// (random_u64() is what we use); std::random_device would.
#include <sys/random.h>

#include <cstdint>
#include <cstdlib>

extern "C" std::uint32_t arc4random() noexcept {
  std::uint32_t value = 0;
  if (::getrandom(&value, sizeof value, 0) != sizeof value) std::abort();
  return value;
}
