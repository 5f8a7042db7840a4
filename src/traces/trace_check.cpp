// The streaming check of a trace file, on RapidJSON's iterative SAX reader.
#include "traces/trace_check.h"

#include <fmt/format.h>
#include <rapidjson/error/en.h>
#include <rapidjson/reader.h>
#include <sys/stat.h>

#include <new>
#include <utility>

#include "traces/json_stream.h"
#include "traces/trace_figures.h"
#include "traces/trace_input.h"
#include "traces/trace_sax.h"

namespace dynolog {
namespace {

// Numbers stay text, since a trace id is larger than a double can tell; Kineto writes NaN.
constexpr unsigned kFlags = rapidjson::kParseIterativeFlag | rapidjson::kParseNanAndInfFlag |
                            rapidjson::kParseValidateEncodingFlag |
                            rapidjson::kParseNumbersAsStringsFlag;

std::string gzip_problem(const GzipInflater& gzip, const TraceInput& input) {
  return fmt::format("{}: the file's {} bytes are not one whole trace", gzip.problem(),
                     input.file_bytes());
}

std::string parse_problem(const rapidjson::ParseResult& result, const TraceInput& input,
                          const JsonStream& stream, const TraceSax& sax) {
  if (input.too_large()) {
    return fmt::format("larger than the {} MiB of any trace: not looked at further",
                       input.max_bytes() >> 20U);
  }
  if (input.file_bytes() == 0) return "the file is empty";
  if (result.Code() == rapidjson::kParseErrorTermination && sax.too_deep()) {
    return fmt::format("nested deeper than {} levels at byte {}", kMaxTraceDepth, stream.Tell());
  }
  if (stream.at_end() && input.gzip() != nullptr && !input.gzip()->problem().empty()) {
    return gzip_problem(*input.gzip(), input);
  }
  if (result.IsError() && stream.at_end()) {
    return fmt::format("cut off: the file ends at byte {} in the middle of its JSON",
                       stream.bytes());
  }
  if (result.IsError()) {
    return fmt::format("not JSON at byte {}: {}", result.Offset(),
                       rapidjson::GetParseError_En(result.Code()));
  }
  if (!stream.at_end()) return fmt::format("something follows the JSON at byte {}", stream.Tell());
  if (!sax.root_is_object()) return "the JSON is not an object";
  return {};
}

std::uint64_t size_on_disk(int fd, const TraceInput& input) {
  struct stat status{};
  const bool regular = ::fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
  return regular ? static_cast<std::uint64_t>(status.st_size) : input.file_bytes();
}

}  // namespace

Result<TraceSummary> summarise_trace(int fd, std::function<void()> meanwhile,
                                     std::uint64_t max_bytes) {
  TraceSummary summary;
  try {
    TraceInput input(fd, std::move(meanwhile), max_bytes);
    JsonStream stream(input);
    TraceFigures figures;
    TraceSax sax(summary, figures, stream);
    try {
      rapidjson::GenericReader<rapidjson::UTF8<>, rapidjson::UTF8<>, BoundedAllocator> reader;
      const rapidjson::ParseResult result = reader.Parse<kFlags>(stream, sax);
      summary.problem = parse_problem(result, input, stream, sax);
    } catch (const ReaderStackLimit&) {
      summary.problem = fmt::format("a string of over {} MiB ends at byte {} or later",
                                    kMaxTraceString >> 20U, stream.Tell());
    }
    if (input.error_number() != 0) return fail_errno(input.error_number(), "reading the trace");
    summary.whole = summary.problem.empty();
    summary.compressed = input.compressed();
    summary.bytes = stream.bytes();
    summary.file_bytes = size_on_disk(fd, input);
    if (summary.whole && !summary.compressed) summary.closing_brace = sax.closing_brace();
    figures.fill(summary, sax.base());
  } catch (const std::bad_alloc&) {
    return fail(ErrorKind::exhausted, "checking a trace: out of memory");
  }
  return summary;
}

}  // namespace dynolog
