// What a process's PyTorch says of itself in files that its user may write: torch/version.py, and
// the base configuration that KINETO_CONFIG names.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/text.h"
#include "processes/torch_version.h"
#include "workers/torch_probe.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace dynolog;  // NOLINT: a program of its own
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::string version = torch_version_in(text);
  if (clean_text(version, version.size() + 3) != version) std::abort();
  if (poll_interval_in(text) < 0) std::abort();
  static_cast<void>(torch_version(version));
  static_cast<void>(torch_version(text));
  return 0;
}
