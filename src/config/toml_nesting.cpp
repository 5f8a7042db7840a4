// One pass over the bytes: all that TOML is made of is ASCII.
#include "config/toml_nesting.h"

#include <algorithm>
#include <vector>

namespace dynolog {
namespace {

class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  std::optional<std::size_t> run() {
    while (at_ < text_.size()) {
      step();
      if (outer_ + dots_ + key_dots_ > kMaxTomlNesting) return line_;
    }
    return std::nullopt;
  }

 private:
  void step() {
    const char byte = text_[at_];
    switch (byte) {
      case '#':
        at_ = std::min(text_.find('\n', at_), text_.size());
        return;
      case '"':
      case '\'':
        skip_string(byte);
        return;
      case '[':
      case '{':
        open();
        break;
      case ']':
      case '}':
        close();
        break;
      case '.':
        ++dots_;
        break;
      case '=':
        key_dots_ = dots_;
        dots_ = 0;
        break;
      case ',':
        key_dots_ = dots_ = 0;
        break;
      case '\n':
        ++line_;
        // Inside of brackets a line's end is a blank.
        if (open_.empty()) key_dots_ = dots_ = 0;
        break;
      default:
        break;
    }
    ++at_;
  }

  // What is inside lies as deep as its key says, and one more.
  void open() {
    open_.push_back(key_dots_ + dots_ + 1);
    outer_ += open_.back();
    key_dots_ = dots_ = 0;
  }

  void close() {
    key_dots_ = dots_ = 0;
    if (open_.empty()) return;
    outer_ -= open_.back();
    open_.pop_back();
  }

  [[nodiscard]] bool stands_here(std::string_view what) const {
    return text_.substr(at_).starts_with(what);
  }

  void skip_string(char quote) {
    const std::string_view three = quote == '"' ? R"(""")" : "'''";
    const bool many_lines = stands_here(three);
    at_ += many_lines ? 3 : 1;
    while (at_ < text_.size()) {
      const char byte = text_[at_];
      if (byte == '\n') {
        if (!many_lines) return;  // not closed, which is a fault
        ++line_;
      }
      if (byte == '\\' && quote == '"') {
        // A line's end may follow, and counts.
        ++at_;
        if (at_ < text_.size() && text_[at_] != '\n') ++at_;
        continue;
      }
      if (many_lines ? stands_here(three) : byte == quote) {
        at_ += many_lines ? 3 : 1;
        // Of up to five quotes at the end, the first two are text.
        for (int more = 0; many_lines && more < 2 && stands_here(three.substr(0, 1)); ++more) ++at_;
        return;
      }
      ++at_;
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t line_ = 1;
  std::vector<std::size_t> open_;  // levels that each bracket adds
  std::size_t outer_ = 0;          // their sum
  std::size_t dots_ = 0;           // of the key, or the value, that is being read
  std::size_t key_dots_ = 0;       // of the key whose value is being read
};

}  // namespace

std::optional<std::size_t> line_nested_too_deep(std::string_view text) {
  return Scanner(text).run();
}

}  // namespace dynolog
