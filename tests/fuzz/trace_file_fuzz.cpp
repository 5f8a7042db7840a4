// The trace checker on arbitrary bytes: every file gives a summary, within bounds, and one that is
// not whole says why.
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
  if (!file.valid() || !dynolog::write_all(file.get(), bytes)) std::abort();
  if (::lseek(file.get(), 0, SEEK_SET) != 0) std::abort();
  const auto summary = dynolog::summarise_trace(file.get());
  if (!summary) std::abort();  // it can be read, whatever is in it
  if (!summary->whole && summary->problem.empty()) std::abort();
  if (summary->trace_id.size() > 256 || summary->host_name.size() > 256) std::abort();
  return 0;
}
