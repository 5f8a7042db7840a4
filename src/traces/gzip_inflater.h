// Bytes out of gzip, a piece at a time: members that follow each other are one text, as gzip(1) has
// it.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>

struct z_stream_s;

namespace dynolog {

class GzipInflater {
 public:
  // Gives the next piece of the file, empty at its end; the piece stays valid until the next call.
  using Source = std::function<std::span<const char>()>;

  explicit GzipInflater(Source source);  // throws std::bad_alloc

  // Fills `out` as far as it can. 0 at the end, or at the first thing wrong.
  [[nodiscard]] std::size_t read(std::span<char> out);
  // What is wrong with the compression, or "".
  [[nodiscard]] const std::string& problem() const { return problem_; }

  [[nodiscard]] static bool is_gzip(std::span<const char> beginning);

 private:
  enum class Step { more, full, end };
  Step inflate_some();
  Step next_member();
  bool supply();

  struct Free {
    void operator()(z_stream_s* stream) const;
  };
  Source source_;
  std::unique_ptr<z_stream_s, Free> stream_;
  bool in_member_ = true;
  bool ended_ = false;
  std::string problem_;
};

}  // namespace dynolog
