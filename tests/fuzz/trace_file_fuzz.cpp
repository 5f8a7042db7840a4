// Any bytes as a trace file, as they are and packed into gzip: the check ends, within its bounds, a
// whole one says no problem, and its summary survives its JSON. Any bytes as a summary's JSON.
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/file.h"
#include "base/unique_fd.h"
#include "traces/trace_check.h"
#include "traces/trace_summary_json.h"

namespace {

using namespace dynolog;  // NOLINT: a program of its own

void require(bool holds) {
  if (!holds) std::abort();
}

TraceSummary summary_of(std::string_view bytes) {
  const UniqueFd file(::memfd_create("trace", MFD_CLOEXEC));
  require(write_all(file.get(), bytes).has_value() && ::lseek(file.get(), 0, SEEK_SET) == 0);
  auto summary = summarise_trace(file.get());
  require(summary.has_value());
  return *summary;
}

std::string gzip(std::string_view bytes) {
  z_stream stream{};
  require(::deflateInit2(&stream, 1, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY) == Z_OK);
  std::string out(::deflateBound(&stream, bytes.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  require(::deflate(&stream, Z_FINISH) == Z_STREAM_END);
  out.resize(out.size() - stream.avail_out);
  ::deflateEnd(&stream);
  return out;
}

void check_gpu(const GpuTime& gpu) {
  require(gpu.window_s > 0 && gpu.busy_s >= 0 && gpu.idle_s >= 0 && gpu.longest_gap_s >= 0);
  require(gpu.communication_s <= gpu.busy_s * (1 + 1e-9) || std::isnan(gpu.busy_s));
  require(gpu.longest_gap_s <= gpu.idle_s * (1 + 1e-9));
}

void check_bounds(const TraceSummary& summary) {
  require(summary.whole == summary.problem.empty());
  require(summary.approximate != summary.approximation.empty());
  require(summary.trace_id.size() <= kMaxSummaryName);
  require(summary.host_name.size() <= kMaxSummaryName);
  require(summary.categories.size() <= kMaxSummaryCategories);
  require(summary.top_kernels.size() <= kMaxSummaryTop);
  require(summary.top_operators.size() <= kMaxSummaryTop);
  require(summary.warnings.size() <= kMaxSummaryWarnings);
  std::uint64_t events = 0;
  for (const CategoryCount& count : summary.categories) events += count.events;
  require(events == summary.events);
  for (const GpuTime& gpu : summary.gpus) check_gpu(gpu);
  const auto again = decode_trace_summary(encode_trace_summary(summary));
  require(again.has_value() && *again == summary);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  TraceSummary plain = summary_of(bytes);
  check_bounds(plain);
  if (plain.whole && !plain.compressed) {
    require(plain.bytes == size && bytes[plain.closing_brace.value()] == '}');
  }
  TraceSummary packed = summary_of(gzip(bytes));
  check_bounds(packed);
  if (!plain.compressed) {
    require(packed.whole == plain.whole && packed.events == plain.events);
    require(packed.gpus == plain.gpus && packed.top_operators == plain.top_operators);
  }
  if (const auto summary = decode_trace_summary(bytes)) {
    const auto again = decode_trace_summary(encode_trace_summary(*summary));
    require(again.has_value() && *again == *summary);
  }
  return 0;
}
