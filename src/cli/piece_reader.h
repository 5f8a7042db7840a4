// The pieces of a trace's file as they come over the RPC, checked before anything of them is
// written. The daemon counts as hostile. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"
#include "rpc/protocol/messages.h"

namespace dynolog {

// No daemon of ours puts more plain bytes into a piece.
inline constexpr std::uint64_t kMaxPlainPiece = 4U << 20U;

// The gzip member that `member` is, when it unfolds to exactly `plain_bytes` and nothing follows
// it; never unfolds more. Errors (invalid) say what is wrong with it.
[[nodiscard]] Result<std::string> gunzip(std::string_view member, std::size_t plain_bytes);

// One file from its first piece to its last, in order and without a gap.
class PieceReader {
 public:
  // The piece is of another file than those before it: begin() anew, and write anew.
  [[nodiscard]] bool is_other_file(const rpc::FetchReply& piece) const;
  void begin() { *this = {}; }

  // The plain bytes that are new. An error (invalid) names what is wrong; the reader is then as it
  // was before.
  [[nodiscard]] Result<std::string> take(const rpc::FetchReply& piece);

  [[nodiscard]] std::uint64_t offset() const { return offset_; }  // plain bytes taken
  [[nodiscard]] std::uint64_t total() const { return total_; }    // 0 before the first piece
  [[nodiscard]] bool whole() const { return whole_; }

 private:
  [[nodiscard]] std::string problem_with(const rpc::FetchReply& piece) const;

  std::uint64_t offset_ = 0;
  std::uint64_t total_ = 0;
  std::string stamp_;
  bool begun_ = false;
  bool whole_ = false;
};

}  // namespace dynolog
