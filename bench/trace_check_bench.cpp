// The trace check beside a bare RapidJSON pass over the same generated file, in the same run: the
// check is to keep at least 70 % of the bare pass's speed.
#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <rapidjson/filereadstream.h>
#include <rapidjson/reader.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <memory>
#include <string>

#include "base/file.h"
#include "base/unique_fd.h"
#include "traces/trace_check.h"

namespace dynolog {
namespace {

constexpr int kEvents = 400'000;

// Events as Kineto writes them, some 300 bytes each.
class GeneratedTrace {
 public:
  GeneratedTrace() : fd_(::memfd_create("trace", MFD_CLOEXEC)) {
    std::string text = R"({"schemaVersion": 1, "trace_id": "77", "traceEvents": [)";
    for (int i = 0; i < kEvents; ++i) {
      text += fmt::format(
          R"({}
  {{
    "ph": "X", "cat": "cpu_op", "name": "aten::convolution_backward", "pid": 4242, "tid": 4242,
    "ts": {}.{:03}, "dur": 17.250,
    "args": {{
      "External id": {}, "Record function id": 0, "Sequence number": {}, "Fwd thread id": 1,
      "Input Dims": [[64, 3, 224, 224], [64]], "Ev Idx": {}
    }}
  }})",
          i == 0 ? "" : ",", 7'000'000 + 20L * i, i % 1000, i, i / 2, i);
      if (text.size() > kChunk) flush(text);
    }
    text += "\n]}\n";
    flush(text);
  }
  [[nodiscard]] int rewound() const {
    ::lseek(fd_.get(), 0, SEEK_SET);
    return fd_.get();
  }
  [[nodiscard]] std::int64_t bytes() const { return bytes_; }

 private:
  static constexpr std::size_t kChunk = 1U << 20U;
  void flush(std::string& text) {
    if (!write_all(fd_.get(), text)) std::abort();
    bytes_ += static_cast<std::int64_t>(text.size());
    text.clear();
  }
  UniqueFd fd_;
  std::int64_t bytes_ = 0;
};

const GeneratedTrace& generated_trace() {
  static const GeneratedTrace trace;
  return trace;
}

void bare_rapidjson(benchmark::State& state) {
  constexpr unsigned kFlags = rapidjson::kParseIterativeFlag | rapidjson::kParseNanAndInfFlag |
                              rapidjson::kParseValidateEncodingFlag |
                              rapidjson::kParseNumbersAsStringsFlag;
  const GeneratedTrace& trace = generated_trace();
  for (auto _ : state) {
    std::FILE* file = ::fdopen(::dup(trace.rewound()), "r");
    std::array<char, 65536> buffer;
    rapidjson::FileReadStream stream(file, buffer.data(), buffer.size());
    rapidjson::BaseReaderHandler<> handler;
    rapidjson::Reader reader;
    if (reader.Parse<kFlags>(stream, handler).IsError()) state.SkipWithError("not parsed");
    std::fclose(file);
  }
  state.SetBytesProcessed(state.iterations() * trace.bytes());
}
BENCHMARK(bare_rapidjson)->Unit(benchmark::kMillisecond);

void trace_check(benchmark::State& state) {
  const GeneratedTrace& trace = generated_trace();
  for (auto _ : state) {
    const auto summary = summarise_trace(trace.rewound());
    if (!summary || !summary->whole || summary->events != kEvents) state.SkipWithError("not whole");
  }
  state.SetBytesProcessed(state.iterations() * trace.bytes());
}
BENCHMARK(trace_check)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace dynolog
