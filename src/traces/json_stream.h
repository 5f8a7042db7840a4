// RapidJSON's input stream concept over a trace's blocks, and its allocator concept with a limit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <span>

#include "traces/trace_input.h"

namespace dynolog {

class JsonStream {
 public:
  using Ch = char;

  explicit JsonStream(TraceInput& input) : input_(input) { refill(); }

  [[nodiscard]] Ch Peek() const { return *current_; }
  Ch Take() {
    const Ch taken = *current_;
    if (++current_ == end_) refill();
    return taken;
  }
  [[nodiscard]] std::size_t Tell() const {
    return before_ + static_cast<std::size_t>(current_ - begin_);
  }

  // Called only by in-situ parsing, which is not used.
  Ch* PutBegin() { return nullptr; }
  void Put(Ch /*c*/) {}
  void Flush() {}
  std::size_t PutEnd(Ch* /*begin*/) { return 0; }

  // A NUL byte in the file looks like the end to RapidJSON; this tells them apart.
  [[nodiscard]] bool at_end() const { return ended_; }
  [[nodiscard]] std::uint64_t bytes() const { return before_ + held_; }

 private:
  void refill() {
    static constexpr char kEnd = '\0';
    before_ += held_;
    const std::span<const char> block = ended_ ? std::span<const char>() : input_.next();
    held_ = block.size();
    ended_ = block.empty();
    begin_ = ended_ ? &kEnd : block.data();
    current_ = begin_;
    end_ = begin_ + (ended_ ? 1 : block.size());
  }

  TraceInput& input_;
  const char* begin_ = nullptr;
  const char* current_ = nullptr;
  const char* end_ = nullptr;
  std::size_t before_ = 0;  // bytes of earlier blocks
  std::size_t held_ = 0;    // bytes in this block
  bool ended_ = false;
};

// Thrown out of RapidJSON, which does not look at what its allocator returns.
struct ReaderStackLimit : std::bad_alloc {};

class BoundedAllocator {
 public:
  // The reader's stack holds the string under way and one byte for each open bracket. It grows by
  // half from 256 bytes, so this cap lets it grow to 14.5 MiB for certain and never beyond.
  static constexpr std::size_t kMaxReaderStack = 22U << 20U;

  [[maybe_unused]] static constexpr bool kNeedFree = true;
  void* Malloc(std::size_t size) { return Realloc(nullptr, 0, size); }
  void* Realloc(void* old, std::size_t /*old_size*/, std::size_t size) {
    if (size == 0) {
      std::free(old);
      return nullptr;
    }
    if (size > kMaxReaderStack) throw ReaderStackLimit();
    void* grown = std::realloc(old, size);
    if (grown == nullptr) throw std::bad_alloc();
    return grown;
  }
  static void Free(void* memory) { std::free(memory); }
};

}  // namespace dynolog
