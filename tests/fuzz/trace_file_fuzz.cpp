// Any bytes as a trace file: the check ends, within its bounds, and a whole one says no problem.
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/file.h"
#include "base/unique_fd.h"
#include "traces/trace_check.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const dynolog::UniqueFd file(::memfd_create("trace", MFD_CLOEXEC));
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (!dynolog::write_all(file.get(), bytes) || ::lseek(file.get(), 0, SEEK_SET) != 0) return 0;
  const auto summary = dynolog::summarise_trace(file.get());
  if (!summary || summary->whole != summary->problem.empty()) std::abort();
  if (summary->whole && summary->bytes != size) std::abort();
  if (summary->trace_id.size() > 256 || summary->host_name.size() > 256) std::abort();
  return 0;
}
