// Writing and reading the small pieces that blocks are made of.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace dynolog::history {

[[nodiscard]] constexpr std::uint64_t zigzag(std::int64_t value) {
  return (static_cast<std::uint64_t>(value) << 1U) ^ static_cast<std::uint64_t>(value >> 63U);
}
[[nodiscard]] constexpr std::int64_t unzigzag(std::uint64_t value) {
  return static_cast<std::int64_t>((value >> 1U) ^ (~(value & 1U) + 1U));
}

void put_varint(std::string& to, std::uint64_t value);
void put_u64(std::string& to, std::uint64_t value);  // eight bytes, the lowest first

// Reads from foreign bytes. Once something was missing or malformed it stays failed, and every
// further answer is 0 or "".
class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : rest_(bytes) {}

  [[nodiscard]] std::uint8_t byte();
  [[nodiscard]] std::uint64_t varint();
  [[nodiscard]] std::uint64_t u64();
  [[nodiscard]] std::string_view take(std::size_t size);
  // A varint that is a number of things: failed when it is over `most`.
  [[nodiscard]] std::size_t count(std::size_t most);

  [[nodiscard]] bool failed() const { return failed_; }
  [[nodiscard]] bool at_end() const { return rest_.empty(); }
  [[nodiscard]] std::string_view rest() const { return rest_; }

 private:
  std::string_view rest_;
  bool failed_ = false;
};

}  // namespace dynolog::history
