// zlib's deflate with gzip's header and trailer.
#include "traces/gzip_deflater.h"

#include <zlib.h>

#include <cstddef>

namespace dynolog {
namespace {

constexpr std::size_t kBuffer = 256U << 10U;
constexpr int kLevel = 6;
constexpr int kGzip = 15 + 16;  // the largest window, and gzip's header and trailer
constexpr int kMemory = 8;      // zlib's default

}  // namespace

struct GzipDeflater::Stream {
  z_stream zlib{};
};

GzipDeflater::GzipDeflater() : stream_(std::make_unique<Stream>()), out_(kBuffer, '\0') {
  ready_ = ::deflateInit2(&stream_->zlib, kLevel, Z_DEFLATED, kGzip, kMemory, Z_DEFAULT_STRATEGY) ==
           Z_OK;
}

GzipDeflater::~GzipDeflater() { ::deflateEnd(&stream_->zlib); }

bool GzipDeflater::feed(std::string_view plain, bool last,
                        const std::function<bool(std::string_view)>& write) {
  z_stream& zlib = stream_->zlib;
  // zlib's interface is older than const; it does not write here.
  zlib.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(plain.data()));
  zlib.avail_in = static_cast<uInt>(plain.size());
  do {
    zlib.next_out = reinterpret_cast<Bytef*>(out_.data());
    zlib.avail_out = static_cast<uInt>(out_.size());
    ::deflate(&zlib, last ? Z_FINISH : Z_NO_FLUSH);
    if (!write(std::string_view(out_).substr(0, out_.size() - zlib.avail_out))) return false;
  } while (zlib.avail_out == 0);
  return true;
}

void GzipDeflater::restart() { ::deflateReset(&stream_->zlib); }

}  // namespace dynolog
