// Sizes are compared before anything is unfolded, and what unfolds is bounded by what was
// announced.
#include "cli/piece_reader.h"

#include <fmt/format.h>
#include <zlib.h>

#include "base/base64.h"
#include "traces/trace_check.h"

namespace dynolog {
namespace {

constexpr int kGzipOnly = MAX_WBITS + 16;
constexpr std::size_t kMaxStamp = 256;

std::unexpected<Error> bad(std::string_view what) {
  return fail(ErrorKind::invalid, fmt::format("a piece of the file {}", what));
}

Bytef* bytes_of(const char* text) {
  return const_cast<Bytef*>(reinterpret_cast<const Bytef*>(text));
}

}  // namespace

Result<std::string> gunzip(std::string_view member, std::size_t plain_bytes) {
  z_stream stream{};
  if (::inflateInit2(&stream, kGzipOnly) != Z_OK) return fail(ErrorKind::exhausted, "no memory");
  std::string plain(plain_bytes + 1, '\0');  // one more, to see that there is no more
  stream.next_in = bytes_of(member.data());
  stream.avail_in = static_cast<uInt>(member.size());
  stream.next_out = bytes_of(plain.data());
  stream.avail_out = static_cast<uInt>(plain.size());
  const int end = ::inflate(&stream, Z_FINISH);
  const bool room = stream.avail_out > 0;
  const bool rest = stream.avail_in > 0;
  const std::size_t got = stream.total_out;
  ::inflateEnd(&stream);
  if (got > plain_bytes || (end != Z_STREAM_END && !room)) {
    return bad("unfolds to more than was announced");
  }
  if (end != Z_STREAM_END) return bad("is no whole gzip member");
  if (rest) return bad("has something behind its gzip member");
  if (got < plain_bytes) return bad("unfolds to less than was announced");
  plain.resize(plain_bytes);
  return plain;
}

bool PieceReader::is_other_file(const rpc::FetchReply& piece) const {
  return begun_ && (piece.stamp != stamp_ || piece.total_bytes != total_);
}

std::string PieceReader::problem_with(const rpc::FetchReply& piece) const {
  if (piece.total_bytes > kMaxTraceBytes) return "is of a file that is too large to be a trace";
  if (piece.plain_bytes > kMaxPlainPiece) return "is larger than a piece may be";
  if (piece.stamp.size() > kMaxStamp) return "has a stamp that is too long";
  if (is_other_file(piece)) return "is of another file";
  if (piece.offset > offset_) return "leaves a gap before it";
  const std::uint64_t end = piece.offset + piece.plain_bytes;
  if (end > piece.total_bytes) return "reaches beyond the end of its file";
  if (end < offset_ || (end == offset_ && !piece.last)) return "brings nothing new";
  if (piece.last && end != piece.total_bytes) return "is said to be the last, and is not";
  return "";
}

Result<std::string> PieceReader::take(const rpc::FetchReply& piece) {
  if (const std::string problem = problem_with(piece); !problem.empty()) return bad(problem);
  std::string plain;
  if (piece.plain_bytes > 0) {
    auto member = from_base64(piece.data);
    if (!member) return bad("is no base64: " + member.error().message);
    auto unfolded = gunzip(*member, piece.plain_bytes);
    if (!unfolded) return unfolded;
    plain = std::move(*unfolded);
  }
  const auto sum = ::crc32(0, bytes_of(plain.data()), static_cast<uInt>(plain.size()));
  if (sum != piece.crc32) return bad("has another checksum than was announced");
  plain.erase(0, offset_ - piece.offset);
  begun_ = true;
  stamp_ = piece.stamp;
  total_ = piece.total_bytes;
  offset_ = piece.offset + piece.plain_bytes;
  whole_ = piece.last;
  return plain;
}

}  // namespace dynolog
