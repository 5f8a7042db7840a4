// A file's pieces as a hostile daemon may send them: nothing unfolds to more than was announced,
// and what is taken follows on what was there.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/base64.h"
#include "cli/piece_reader.h"
#include "rpc/protocol/codec.h"

using namespace dynolog;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (size > 2) {
    const std::size_t announced = data[0] | static_cast<std::size_t>(data[1]) << 8U;
    const auto plain = gunzip(text.substr(2), announced);
    if (plain && plain->size() != announced) std::abort();
    (void)from_base64(text);
  }
  PieceReader reader;
  std::size_t begin = 0;
  while (begin < text.size()) {  // a reply in each line
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const auto piece = rpc::decode_fetch_reply(text.substr(begin, end - begin));
    begin = end + 1;
    if (!piece) continue;
    const std::uint64_t before = reader.offset();
    const auto plain = reader.take(*piece);
    const std::uint64_t grown = plain ? plain->size() : 0;
    if (reader.offset() != before + grown || reader.offset() > reader.total()) std::abort();
  }
  return 0;
}
