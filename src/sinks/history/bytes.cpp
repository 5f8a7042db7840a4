// Variable-length numbers, seven bits a byte.
#include "sinks/history/bytes.h"

namespace dynolog::history {

void put_varint(std::string& to, std::uint64_t value) {
  while (value >= 0x80U) {
    to.push_back(static_cast<char>(value | 0x80U));
    value >>= 7U;
  }
  to.push_back(static_cast<char>(value));
}

void put_u64(std::string& to, std::uint64_t value) {
  for (unsigned i = 0; i < 8; ++i) to.push_back(static_cast<char>(value >> (8 * i)));
}

std::uint8_t ByteReader::byte() {
  const std::string_view one = take(1);
  return one.empty() ? std::uint8_t{0} : static_cast<std::uint8_t>(one.front());
}

std::uint64_t ByteReader::varint() {
  // Nearly all are of one byte.
  if (!failed_ && !rest_.empty() && (static_cast<std::uint8_t>(rest_.front()) & 0x80U) == 0) {
    const auto value = static_cast<std::uint8_t>(rest_.front());
    rest_.remove_prefix(1);
    return value;
  }
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    const std::uint8_t next = byte();
    if (failed_) return 0;
    value |= static_cast<std::uint64_t>(next & 0x7fU) << shift;
    if ((next & 0x80U) == 0) return value;
  }
  failed_ = true;  // longer than any number
  return 0;
}

std::uint64_t ByteReader::u64() {
  const std::string_view bytes = take(8);
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    value |= static_cast<std::uint64_t>(static_cast<std::uint8_t>(bytes[i])) << (8 * i);
  }
  return value;
}

std::string_view ByteReader::take(std::size_t size) {
  if (failed_ || size > rest_.size()) {
    failed_ = true;
    return {};
  }
  const std::string_view taken = rest_.substr(0, size);
  rest_.remove_prefix(size);
  return taken;
}

std::size_t ByteReader::count(std::size_t most) {
  const std::uint64_t value = varint();
  if (value > most) failed_ = true;
  return failed_ ? 0 : static_cast<std::size_t>(value);
}

}  // namespace dynolog::history
