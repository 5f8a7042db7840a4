// zlib's inflate over the members of a gzip file.
#include "traces/gzip_inflater.h"

#include <zlib.h>

#include <new>
#include <utility>

namespace dynolog {
namespace {

constexpr int kGzipOnly = 16 + MAX_WBITS;

}  // namespace

void GzipInflater::Free::operator()(z_stream_s* stream) const {
  ::inflateEnd(stream);
  delete stream;
}

GzipInflater::GzipInflater(Source source) : source_(std::move(source)) {
  auto stream = std::make_unique<z_stream_s>();
  if (::inflateInit2(stream.get(), kGzipOnly) != Z_OK) throw std::bad_alloc();
  stream_.reset(stream.release());
}

bool GzipInflater::is_gzip(std::span<const char> beginning) {
  return beginning.size() >= 2 && beginning[0] == '\x1f' && beginning[1] == '\x8b';
}

std::size_t GzipInflater::read(std::span<char> out) {
  if (ended_) return 0;
  stream_->next_out = reinterpret_cast<Bytef*>(out.data());
  stream_->avail_out = static_cast<uInt>(out.size());
  Step step = Step::more;
  while (step == Step::more) step = in_member_ ? inflate_some() : next_member();
  ended_ = step == Step::end;
  return out.size() - stream_->avail_out;
}

bool GzipInflater::supply() {
  if (stream_->avail_in > 0) return true;
  const std::span<const char> piece = source_();
  stream_->next_in = reinterpret_cast<Bytef*>(const_cast<char*>(piece.data()));
  stream_->avail_in = static_cast<uInt>(piece.size());
  return !piece.empty();
}

GzipInflater::Step GzipInflater::inflate_some() {
  if (!supply()) {
    problem_ = "cut off: the gzip data ends too early";
    return Step::end;
  }
  const int code = ::inflate(stream_.get(), Z_NO_FLUSH);
  if (code == Z_STREAM_END) {
    in_member_ = false;
    return Step::more;
  }
  if (code == Z_MEM_ERROR) throw std::bad_alloc();
  if (code != Z_OK && code != Z_BUF_ERROR) {
    problem_ = "the gzip data is damaged";
    if (stream_->msg != nullptr) problem_ += std::string(" (") + stream_->msg + ")";
    return Step::end;
  }
  return stream_->avail_out == 0 ? Step::full : Step::more;
}

GzipInflater::Step GzipInflater::next_member() {
  if (!supply()) return Step::end;
  if (*stream_->next_in != 0x1f) {
    problem_ = "something follows the gzip data";
    return Step::end;
  }
  if (::inflateReset(stream_.get()) != Z_OK) throw std::bad_alloc();
  in_member_ = true;
  return Step::more;
}

}  // namespace dynolog
