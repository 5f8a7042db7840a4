// Pieces of files as a daemon sends them, for the tests.
#pragma once

#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/base64.h"
#include "rpc/protocol/messages.h"

namespace dynolog::testing {

inline Bytef* as_bytes(const char* text) {
  return const_cast<Bytef*>(reinterpret_cast<const Bytef*>(text));
}

// One gzip member.
inline std::string gzipped(std::string_view plain) {
  z_stream stream{};
  ::deflateInit2(&stream, 6, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY);
  std::string out(::deflateBound(&stream, plain.size()) + 64, '\0');
  stream.next_in = as_bytes(plain.data());
  stream.avail_in = static_cast<uInt>(plain.size());
  stream.next_out = as_bytes(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  ::deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  ::deflateEnd(&stream);
  return out;
}

// Of one or more members in a row.
inline std::string gunzipped(std::string_view bytes, int* members = nullptr) {
  std::string plain;
  z_stream stream{};
  ::inflateInit2(&stream, MAX_WBITS + 16);
  stream.next_in = as_bytes(bytes.data());
  stream.avail_in = static_cast<uInt>(bytes.size());
  int count = 0;
  while (stream.avail_in > 0) {
    std::array<char, 65536> buffer;
    stream.next_out = as_bytes(buffer.data());
    stream.avail_out = buffer.size();
    const int result = ::inflate(&stream, Z_NO_FLUSH);
    plain.append(buffer.data(), buffer.size() - stream.avail_out);
    if (result == Z_STREAM_END) {
      ++count;
      ::inflateReset(&stream);
    } else if (result != Z_OK) {
      break;
    }
  }
  ::inflateEnd(&stream);
  if (members != nullptr) *members = count;
  return plain;
}

// The piece of `file` at `offset`, of `size` bytes at most.
inline rpc::FetchReply piece_of(std::string_view file, std::uint64_t offset, std::size_t size,
                                const std::string& side_car = "") {
  const std::string_view plain = file.substr(std::min<std::size_t>(offset, file.size()), size);
  rpc::FetchReply piece;
  piece.offset = std::min<std::uint64_t>(offset, file.size());
  piece.plain_bytes = plain.size();
  piece.total_bytes = file.size();
  piece.crc32 = static_cast<std::uint32_t>(
      ::crc32(0, as_bytes(plain.data()), static_cast<uInt>(plain.size())));
  piece.stamp = "2049:7:1:2";
  piece.data = plain.empty() ? "" : to_base64(gzipped(plain));
  piece.last = piece.offset + piece.plain_bytes == file.size();
  if (piece.last) piece.side_car = side_car;
  return piece;
}

}  // namespace dynolog::testing
