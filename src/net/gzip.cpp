// Compressing with zlib.
#include "net/gzip.h"

#include <zlib.h>

#include <limits>

namespace dynolog {

Result<std::string> gzip(std::string_view text) {
  constexpr int kGzip = 16 + MAX_WBITS;  // deflateInit2: a gzip header and trailer
  constexpr int kMemoryLevel = 8;
  if (text.size() > std::numeric_limits<uInt>::max() / 2) {
    return fail(ErrorKind::exhausted, "the text is too large to be compressed at once");
  }
  z_stream stream{};
  if (::deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, kGzip, kMemoryLevel, Z_DEFAULT_STRATEGY) !=
      Z_OK) {
    return fail(ErrorKind::exhausted, "no memory to compress with");
  }
  std::string out(::deflateBound(&stream, static_cast<uLong>(text.size())), '\0');
  // zlib's interface is not const.
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const int result = ::deflate(&stream, Z_FINISH);
  out.resize(out.size() - stream.avail_out);
  ::deflateEnd(&stream);
  if (result != Z_STREAM_END) return fail(ErrorKind::failed, "zlib could not compress");
  return out;
}

}  // namespace dynolog
