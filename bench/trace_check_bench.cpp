// The trace check beside a bare RapidJSON pass over the same generated file, in the same run: the
// check is to keep at least 70 % of the bare pass's speed, plain and from gzip, and to stay under
// 64 MiB of memory. DYNOLOG_BENCH_TRACE_MB chooses the file's size (300).
#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <rapidjson/filereadstream.h>
#include <rapidjson/reader.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>

#include "base/file.h"
#include "base/unique_fd.h"
#include "traces/trace_check.h"

namespace dynolog {
namespace {

constexpr std::size_t kChunk = 1U << 20U;

std::int64_t wanted_bytes() {
  const char* const megabytes = std::getenv("DYNOLOG_BENCH_TRACE_MB");
  return (megabytes != nullptr ? std::atoll(megabytes) : 300) * 1'000'000;
}

// A training step's events as Kineto writes them, some 300 bytes each: operators three deep, the
// launches, the flows between launch and kernel, kernels on two streams.
class GeneratedTrace {
 public:
  GeneratedTrace() : fd_(::memfd_create("trace", MFD_CLOEXEC)) {
    text_ = R"({"schemaVersion": 1, "trace_id": "77", "baseTimeNanoseconds": 1790857026000000000,
  "traceEvents": [
  {"ph": "M", "name": "process_name", "pid": 0, "tid": 0, "ts": 1.5, "args": {"name": "python"}})";
    while (bytes_ < wanted_bytes()) layer();
    text_ += fmt::format(R"JSON(,
  {{"ph": "X", "cat": "Trace", "name": "PyTorch Profiler (0)", "pid": "Spans", "tid": "x",
   "ts": 7000000000.000, "dur": {}}}
  ],"traceName": "/tmp/x.json"
}}
)JSON",
                         40 * layers_);
    flush();
  }
  [[nodiscard]] int rewound() const {
    ::lseek(fd_.get(), 0, SEEK_SET);
    return fd_.get();
  }
  [[nodiscard]] std::int64_t bytes() const { return bytes_; }
  [[nodiscard]] std::uint64_t events() const { return events_; }

 private:
  void layer() {
    const std::int64_t start = 7'000'000'000 + 40 * layers_;
    for (int depth = 0; depth < 3; ++depth) operation(start + depth, 30 - 4 * depth, depth);
    launch(start + 5);
    kernel(start + 12);
    ++layers_;
    if (text_.size() > kChunk) flush();
  }
  void operation(std::int64_t ts, int dur, int depth) {
    constexpr std::array kNames{"aten::linear", "aten::addmm", "aten::cudnn_convolution"};
    text_ += fmt::format(
        R"(,
  {{
    "ph": "X",
    "cat": "cpu_op",
    "name": "{}",
    "pid": 4242,
    "tid": 4242,
    "ts": {}.{:03},
    "dur": {}.250
    ,
    "args": {{
      "External id": {},"Record function id": 0, "Sequence number": {},
      "Fwd thread id": 1,
      "Concrete Inputs": ["", "", "0.1"], "Input Dims": [[64, 3, 224, 224], [64], []], "Ev Idx": {}
    }}
  }})",
        kNames[static_cast<std::size_t>(depth)], ts, layers_ % 1000, dur, events_, layers_,
        events_);
    ++events_;
  }
  void launch(std::int64_t ts) {
    text_ += fmt::format(
        R"(,
  {{
    "ph": "X",
    "cat": "cuda_runtime",
    "name": "cudaLaunchKernel",
    "pid": 4242,
    "tid": 4242,
    "ts": {}.250,
    "dur": 4.125
    ,
    "args": {{
      "External id": {},"cbid": 211, "correlation": {}
    }}
  }},
  {{
    "ph": "s",
    "id": {},
    "pid": 4242,
    "tid": 4242,
    "ts": {}.250,
    "cat": "ac2g",
    "name": "ac2g"
  }})",
        ts, events_, layers_, layers_, ts);
    events_ += 2;
  }
  void kernel(std::int64_t ts) {
    constexpr std::string_view kKernel =
        "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, "
        "std::array<char*, 3ul> >(int, at::native::CUDAFunctor_add<float>)";
    text_ += fmt::format(
        R"(,
  {{
    "ph": "X",
    "cat": "kernel",
    "name": "{}<{}>",
    "pid": 0,
    "tid": {},
    "ts": {}.500,
    "dur": {}.375
    ,
    "args": {{
      "External id": {},"queued": 0, "device": 0, "context": 1, "stream": {}, "correlation": {},
      "registers per thread": 32, "shared memory": 0, "blocks per SM": 2.4, "warps per SM": 9.6,
      "grid": [262, 1, 1], "block": [128, 1, 1], "est. achieved occupancy %": 15
    }}
  }},
  {{
    "ph": "f",
    "id": {},
    "pid": 0,
    "tid": 7,
    "ts": {}.500,
    "cat": "ac2g",
    "name": "ac2g",
    "bp": "e"
  }})",
        kKernel, layers_ % 200, 7 + layers_ % 2, ts, 10 + layers_ % 25, events_, 7 + layers_ % 2,
        layers_, layers_, ts);
    events_ += 2;
  }
  void flush() {
    if (!write_all(fd_.get(), text_)) std::abort();
    bytes_ += static_cast<std::int64_t>(text_.size());
    text_.clear();
  }

  UniqueFd fd_;
  std::string text_;
  std::int64_t bytes_ = 0;
  std::int64_t layers_ = 0;
  std::uint64_t events_ = 2;
};

const GeneratedTrace& generated_trace() {
  static const GeneratedTrace trace;
  return trace;
}

// The same, in gzip.
const UniqueFd& compressed_trace() {
  static const UniqueFd compressed = [] {
    UniqueFd file(::memfd_create("trace.gz", MFD_CLOEXEC));
    const gzFile out = ::gzdopen(::dup(file.get()), "wb1");
    const int from = generated_trace().rewound();
    std::string block(kChunk, '\0');
    while (const ssize_t got = ::read(from, block.data(), block.size())) {
      if (::gzwrite(out, block.data(), static_cast<unsigned>(got)) != got) std::abort();
    }
    ::gzclose(out);
    return file;
  }();
  return compressed;
}

// The peak of this process's resident memory since the last begin_peak().
void begin_peak() { std::ofstream("/proc/self/clear_refs") << "5"; }
double peak_mib() {
  std::ifstream status("/proc/self/status");
  std::string line;
  while (std::getline(status, line)) {
    if (line.starts_with("VmHWM:")) return std::atof(line.c_str() + 6) / 1024;
  }
  return 0;
}

constexpr unsigned kFlags = rapidjson::kParseIterativeFlag | rapidjson::kParseNanAndInfFlag |
                            rapidjson::kParseValidateEncodingFlag |
                            rapidjson::kParseNumbersAsStringsFlag;

void bare_rapidjson(benchmark::State& state) {
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
BENCHMARK(bare_rapidjson)->Unit(benchmark::kMillisecond)->UseRealTime();

void check(benchmark::State& state, int (*rewound)()) {
  const GeneratedTrace& trace = generated_trace();
  static_cast<void>(rewound());
  begin_peak();
  for (auto _ : state) {
    const auto summary = summarise_trace(rewound());
    if (!summary || !summary->whole || summary->events != trace.events()) {
      state.SkipWithError("not whole");
    }
  }
  state.SetBytesProcessed(state.iterations() * trace.bytes());
  state.counters["peak_MiB"] = peak_mib();
}

void trace_check(benchmark::State& state) {
  check(state, [] { return generated_trace().rewound(); });
}
BENCHMARK(trace_check)->Unit(benchmark::kMillisecond)->UseRealTime();

void bare_rapidjson_gzip(benchmark::State& state) {
  const GeneratedTrace& trace = generated_trace();
  const UniqueFd& compressed = compressed_trace();
  for (auto _ : state) {
    ::lseek(compressed.get(), 0, SEEK_SET);
    const gzFile in = ::gzdopen(::dup(compressed.get()), "rb");
    // FileReadStream reads through fread(3): a stream over zlib's reader.
    const cookie_io_functions_t functions{
        .read = [](void* cookie, char* buffer, std::size_t size) -> ssize_t {
          return ::gzread(static_cast<gzFile>(cookie), buffer, static_cast<unsigned>(size));
        },
        .write = nullptr,
        .seek = nullptr,
        .close = nullptr};
    std::FILE* file = ::fopencookie(in, "r", functions);
    std::array<char, 65536> buffer;
    rapidjson::FileReadStream stream(file, buffer.data(), buffer.size());
    rapidjson::BaseReaderHandler<> handler;
    rapidjson::Reader reader;
    if (reader.Parse<kFlags>(stream, handler).IsError()) state.SkipWithError("not parsed");
    std::fclose(file);
    ::gzclose(in);
  }
  state.SetBytesProcessed(state.iterations() * trace.bytes());
}
BENCHMARK(bare_rapidjson_gzip)->Unit(benchmark::kMillisecond)->UseRealTime();

void trace_check_gzip(benchmark::State& state) {
  check(state, [] {
    ::lseek(compressed_trace().get(), 0, SEEK_SET);
    return compressed_trace().get();
  });
}
BENCHMARK(trace_check_gzip)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace
}  // namespace dynolog
