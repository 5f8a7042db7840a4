// Plain bytes in, one gzip member out, piece by piece.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace dynolog {

class GzipDeflater {
 public:
  GzipDeflater();
  ~GzipDeflater();
  GzipDeflater(const GzipDeflater&) = delete;
  GzipDeflater& operator=(const GzipDeflater&) = delete;

  // False when there was no memory for it: it must not be fed then.
  [[nodiscard]] bool ready() const { return ready_; }
  // What comes of `plain` is handed to `write`, which says whether to go on; false when it said no.
  // The last ones, which may be none, end the member.
  bool feed(std::string_view plain, bool last, const std::function<bool(std::string_view)>& write);
  // Begins another member.
  void restart();

 private:
  struct Stream;  // zlib's
  std::unique_ptr<Stream> stream_;
  bool ready_ = false;
  std::string out_;
};

}  // namespace dynolog
