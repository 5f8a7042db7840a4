// Compressing a piece into a room of fixed size: block by block, and a block that does not fit any
// more is taken back.
#include "artifacts/chunk.h"

#include <fmt/format.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <memory>
#include <string_view>

namespace dynolog {
namespace {

constexpr int kLevel = 3;
constexpr int kGzip = 15 + 16;  // the largest window, and gzip's header and trailer
constexpr int kMemory = 8;      // zlib's default
constexpr std::size_t kMaxBlock = 64U << 10U;
constexpr std::size_t kLeastBlock = 512;
constexpr unsigned kEnd = 32;  // of a member after a flush: an empty block, checksum and length

struct EndDeflate {
  void operator()(z_stream* stream) const {
    ::deflateEnd(stream);
    delete stream;
  }
};
// On the heap, because zlib's state points back at its stream.
using Deflate = std::unique_ptr<z_stream, EndDeflate>;

std::unexpected<Error> no_memory() {
  return fail(ErrorKind::exhausted, "no memory is left to compress the file");
}

Deflate begin_deflate() {
  Deflate stream(new z_stream{});
  if (::deflateInit2(stream.get(), kLevel, Z_DEFLATED, kGzip, kMemory, Z_DEFAULT_STRATEGY) !=
      Z_OK) {
    stream.reset();
  }
  return stream;
}

Deflate copy_of(z_stream& stream) {
  Deflate copy(new z_stream{});
  if (::deflateCopy(copy.get(), &stream) != Z_OK) copy.reset();
  return copy;
}

// False when it did not fit into the output; the stream is of no use then.
bool feed(z_stream& stream, std::string_view block) {
  // zlib's interface is older than const; it does not write here.
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(block.data()));
  stream.avail_in = static_cast<uInt>(block.size());
  const int result = ::deflate(&stream, Z_SYNC_FLUSH);
  // A flush that filled the output may not have come to its end.
  return result == Z_OK && stream.avail_in == 0 && stream.avail_out > 0;
}

// Feeds as much of `block` as fits by halving it; 0 when not even the least does. An error
// (exhausted) without memory.
Result<std::size_t> feed_what_fits(Deflate& stream, std::string_view block) {
  while (true) {
    Deflate before = copy_of(*stream);
    if (!before) return no_memory();
    if (feed(*stream, block)) return block.size();
    stream = std::move(before);
    if (block.size() <= kLeastBlock) return 0;
    block = block.substr(0, block.size() / 2);
  }
}

Result<std::size_t> read_at(int fd, std::string& block, std::size_t most, std::uint64_t offset) {
  if (offset > static_cast<std::uint64_t>(std::numeric_limits<off_t>::max())) return 0;
  while (true) {
    const ssize_t got = ::pread(fd, block.data(), most, static_cast<off_t>(offset));
    if (got >= 0) return static_cast<std::size_t>(got);
    if (errno != EINTR) return fail_errno(errno, "reading the file");
  }
}

Status fill(Deflate& stream, Chunk& chunk, int fd, std::uint64_t offset) {
  std::string block(kMaxBlock, '\0');
  std::size_t ask = kMaxBlock;
  while (ask >= kLeastBlock && chunk.plain_bytes < kMaxChunkPlain) {
    const std::size_t most = std::min<std::size_t>(ask, kMaxChunkPlain - chunk.plain_bytes);
    const auto got = read_at(fd, block, most, offset + chunk.plain_bytes);
    if (!got) return std::unexpected(got.error());
    if (*got == 0) break;
    const auto fed = feed_what_fits(stream, std::string_view(block.data(), *got));
    if (!fed) return std::unexpected(fed.error());
    chunk.plain_bytes += *fed;
    chunk.crc32 = static_cast<std::uint32_t>(::crc32(
        chunk.crc32, reinterpret_cast<const Bytef*>(block.data()), static_cast<uInt>(*fed)));
    // Twice as much as was fed did not fit: another block of that size hardly would.
    if (*fed < *got) ask = *fed / 2;
  }
  return {};
}

}  // namespace

Result<Chunk> read_chunk(int fd, std::uint64_t offset, std::size_t max_data) {
  if (max_data < kLeastChunkData || max_data > std::numeric_limits<uInt>::max()) {
    return fail(ErrorKind::invalid, fmt::format("a chunk cannot be of {} bytes", max_data));
  }
  Deflate stream = begin_deflate();
  if (!stream) return no_memory();
  Chunk chunk;
  chunk.data.resize(max_data);
  stream->next_out = reinterpret_cast<Bytef*>(chunk.data.data());
  stream->avail_out = static_cast<uInt>(max_data) - kEnd;
  if (auto filled = fill(stream, chunk, fd, offset); !filled) {
    return std::unexpected(std::move(filled.error()));
  }
  stream->avail_in = 0;
  stream->avail_out += kEnd;
  if (::deflate(stream.get(), Z_FINISH) != Z_STREAM_END) {
    return fail(ErrorKind::failed, "compressing the file failed");
  }
  chunk.data.resize(stream->total_out);
  return chunk;
}

}  // namespace dynolog
