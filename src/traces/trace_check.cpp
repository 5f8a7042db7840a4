// The streaming check of a trace file, on RapidJSON's iterative SAX reader.
#include "traces/trace_check.h"

#include <fmt/format.h>
#include <rapidjson/error/en.h>
#include <rapidjson/reader.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <new>
#include <string_view>
#include <utility>

#include "base/text.h"

namespace dynolog {
namespace {

constexpr std::size_t kBlock = 64U << 10U;
constexpr std::size_t kBlocksBetween = 256;
constexpr std::size_t kMaxKeptText = 256;
// The reader's stack holds the string under way and one byte for each open bracket. It grows by
// half from 256 bytes, so this cap lets it grow to 14.5 MiB for certain and never beyond.
constexpr std::size_t kMaxReaderStack = 22U << 20U;

// Thrown out of RapidJSON, which does not look at what its allocator returns.
struct StackLimit : std::bad_alloc {};

// RapidJSON's allocator concept, with a limit.
class BoundedAllocator {
 public:
  [[maybe_unused]] static constexpr bool kNeedFree = true;
  void* Malloc(std::size_t size) { return Realloc(nullptr, 0, size); }
  void* Realloc(void* old, std::size_t /*old_size*/, std::size_t size) {
    if (size == 0) {
      std::free(old);
      return nullptr;
    }
    if (size > kMaxReaderStack) throw StackLimit();
    void* grown = std::realloc(old, size);
    if (grown == nullptr) throw std::bad_alloc();
    return grown;
  }
  static void Free(void* memory) { std::free(memory); }
};

// RapidJSON's input stream concept over a descriptor, a block at a time. Ends at the file's end, at
// a read error, and at kMaxTraceBytes.
class DescriptorStream {
 public:
  using Ch = char;

  DescriptorStream(int fd, std::function<void()> meanwhile)
      : fd_(fd), meanwhile_(std::move(meanwhile)) {
    refill();
  }

  [[nodiscard]] Ch Peek() const { return *current_; }
  Ch Take() {
    const Ch taken = *current_;
    if (++current_ == end_) refill();
    return taken;
  }
  [[nodiscard]] std::size_t Tell() const {
    return before_ + static_cast<std::size_t>(current_ - block_.data());
  }

  // Called only by in-situ parsing, which is not used.
  Ch* PutBegin() { return nullptr; }
  void Put(Ch /*c*/) {}
  void Flush() {}
  std::size_t PutEnd(Ch* /*begin*/) { return 0; }

  // A NUL byte in the file looks like the end to RapidJSON; this tells them apart.
  [[nodiscard]] bool at_end() const { return ended_; }
  [[nodiscard]] int error_number() const { return error_number_; }
  [[nodiscard]] bool too_large() const { return too_large_; }
  [[nodiscard]] std::uint64_t bytes() const { return before_ + held_; }

 private:
  void refill() {
    if (ended_) {
      current_ = end_ - 1;  // stays at the closing NUL
      return;
    }
    before_ += held_;
    held_ = 0;
    if (before_ > kMaxTraceBytes) {
      too_large_ = true;
    } else {
      held_ = read_block();
    }
    if (held_ == 0) {
      ended_ = true;
      block_[0] = '\0';
    }
    current_ = block_.data();
    end_ = current_ + (held_ == 0 ? 1 : held_);
  }

  std::size_t read_block() {
    if (meanwhile_ && ++blocks_ % kBlocksBetween == 0) meanwhile_();
    while (true) {
      const ssize_t got = ::read(fd_, block_.data(), block_.size());
      if (got >= 0) return static_cast<std::size_t>(got);
      if (errno == EINTR) continue;
      error_number_ = errno;
      return 0;
    }
  }

  int fd_;
  std::function<void()> meanwhile_;
  std::size_t blocks_ = 0;
  std::array<char, kBlock> block_;
  const char* current_ = nullptr;
  const char* end_ = nullptr;
  std::size_t before_ = 0;  // bytes of earlier blocks
  std::size_t held_ = 0;    // bytes in this block
  bool ended_ = false;
  bool too_large_ = false;
  int error_number_ = 0;
};

// Counts events and keeps the two names; everything else passes by.
class SummaryHandler {
 public:
  explicit SummaryHandler(TraceSummary& summary) : summary_(summary) {}

  bool Null() { return scalar(); }
  bool Bool(bool /*value*/) { return scalar(); }
  bool Int(int /*value*/) { return scalar(); }
  bool Uint(unsigned /*value*/) { return scalar(); }
  bool Int64(std::int64_t /*value*/) { return scalar(); }
  bool Uint64(std::uint64_t /*value*/) { return scalar(); }
  bool Double(double /*value*/) { return scalar(); }
  bool RawNumber(const char* text, rapidjson::SizeType size, bool copy) {
    return String(text, size, copy);
  }
  bool String(const char* text, rapidjson::SizeType size, bool /*copy*/) {
    if (depth_ == 1 && (key_ == Key1::trace_id || key_ == Key1::host_name)) {
      std::string& kept = key_ == Key1::trace_id ? summary_.trace_id : summary_.host_name;
      kept = clean_text({text, size}, kMaxKeptText);
    }
    return scalar();
  }
  bool Key(const char* text, rapidjson::SizeType size, bool /*copy*/) {
    if (depth_ == 1) key_ = key_of({text, size});
    return true;
  }
  bool StartObject() {
    if (depth_ == 0) root_is_object_ = true;
    return open();
  }
  bool EndObject(rapidjson::SizeType /*members*/) { return close(); }
  bool StartArray() {
    const bool opens_events = depth_ == 1 && key_ == Key1::trace_events;
    if (!open()) return false;
    if (opens_events) in_events_ = true;
    return true;
  }
  bool EndArray(rapidjson::SizeType /*elements*/) { return close(); }

  [[nodiscard]] bool root_is_object() const { return root_is_object_; }
  [[nodiscard]] bool too_deep() const { return depth_ >= kMaxTraceDepth; }

 private:
  enum class Key1 { other, trace_events, trace_id, host_name };

  static Key1 key_of(std::string_view key) {
    if (key == "traceEvents") return Key1::trace_events;
    if (key == "trace_id") return Key1::trace_id;
    if (key == "host_name") return Key1::host_name;
    return Key1::other;
  }
  bool scalar() {
    if (in_events_ && depth_ == 2) ++summary_.events;
    return true;
  }
  bool open() {
    if (too_deep()) return false;
    if (in_events_ && depth_ == 2) ++summary_.events;
    ++depth_;
    return true;
  }
  bool close() {
    --depth_;
    if (depth_ == 1) in_events_ = false;
    return true;
  }

  TraceSummary& summary_;
  std::size_t depth_ = 0;
  Key1 key_ = Key1::other;
  bool in_events_ = false;
  bool root_is_object_ = false;
};

// Numbers stay text, since a trace id is larger than a double can tell; Kineto writes NaN.
constexpr unsigned kFlags = rapidjson::kParseIterativeFlag | rapidjson::kParseNanAndInfFlag |
                            rapidjson::kParseValidateEncodingFlag |
                            rapidjson::kParseNumbersAsStringsFlag;

std::string parse_problem(const rapidjson::ParseResult& result, const DescriptorStream& stream,
                          const SummaryHandler& handler) {
  if (stream.too_large()) {
    return fmt::format("larger than {} GiB: not looked at further", kMaxTraceBytes >> 30U);
  }
  if (stream.bytes() == 0) return "the file is empty";
  if (result.Code() == rapidjson::kParseErrorTermination && handler.too_deep()) {
    return fmt::format("nested deeper than {} levels at byte {}", kMaxTraceDepth, stream.Tell());
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
  if (!handler.root_is_object()) return "the JSON is not an object";
  return {};
}

}  // namespace

Result<TraceSummary> summarise_trace(int fd, std::function<void()> meanwhile) {
  TraceSummary summary;
  DescriptorStream stream(fd, std::move(meanwhile));
  SummaryHandler handler(summary);
  try {
    rapidjson::GenericReader<rapidjson::UTF8<>, rapidjson::UTF8<>, BoundedAllocator> reader;
    const rapidjson::ParseResult result = reader.Parse<kFlags>(stream, handler);
    summary.problem = parse_problem(result, stream, handler);
  } catch (const StackLimit&) {
    summary.problem = fmt::format("a string of over {} MiB ends at byte {} or later",
                                  kMaxTraceString >> 20U, stream.Tell());
  } catch (const std::bad_alloc&) {
    return fail(ErrorKind::exhausted, "checking a trace: out of memory");
  }
  if (stream.error_number() != 0) return fail_errno(stream.error_number(), "reading the trace");
  summary.whole = summary.problem.empty();
  summary.bytes = stream.bytes();
  return summary;
}

}  // namespace dynolog
