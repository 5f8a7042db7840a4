// The parser's callback does the checking while the text is read, so that a hostile text is left at
// its first offence and never becomes a deep tree.
#include "rpc/protocol/strict_json.h"

#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "rpc/protocol/codec.h"

namespace dynolog::rpc {
namespace {

using nlohmann::json;

struct Refused {
  std::string why;
};

class Checks {
 public:
  explicit Checks(std::size_t limit) : limit_(limit) {}

  bool operator()(int depth, json::parse_event_t event, json& parsed) {
    if (++values_ > limit_) throw Refused{"it holds too many values"};
    switch (event) {
      case json::parse_event_t::object_start:
      case json::parse_event_t::array_start:
        if (depth >= kMaxJsonDepth) {
          throw Refused{fmt::format("it is nested deeper than {} levels", kMaxJsonDepth)};
        }
        keys_.emplace_back();
        break;
      case json::parse_event_t::object_end:
      case json::parse_event_t::array_end:
        keys_.pop_back();
        break;
      case json::parse_event_t::key: {
        const auto& key = parsed.get_ref<const std::string&>();
        if (!keys_.back().insert(key).second) {
          throw Refused{fmt::format("the key \"{}\" appears twice", clean_text(key, 80))};
        }
        break;
      }
      case json::parse_event_t::value:
        break;
    }
    return true;
  }

 private:
  std::size_t limit_;
  std::size_t values_ = 0;
  std::vector<std::set<std::string>> keys_;  // of the open objects
};

// Follows the parser through a text and keeps one member of its outermost object.
class FunctionFinder final : public json::json_sax_t {
 public:
  [[nodiscard]] Result<std::string> take() && {
    if (!is_object_) return fail(ErrorKind::invalid, "not a JSON object");
    if (!seen_) return fail(ErrorKind::invalid, "the field \"fn\" is missing");
    if (!found_) return fail(ErrorKind::invalid, "the field \"fn\" is not a string");
    return std::move(*found_);
  }

  bool null() override { return value(); }
  bool boolean(bool) override { return value(); }
  bool number_integer(std::int64_t) override { return value(); }
  bool number_unsigned(std::uint64_t) override { return value(); }
  bool number_float(double, const std::string&) override { return value(); }
  bool binary(json::binary_t&) override { return value(); }
  bool string(std::string& text) override {
    if (std::exchange(expects_, false)) found_ = text;
    return value();
  }
  bool start_object(std::size_t) override {
    is_object_ = is_object_ || depth_ == 0;
    return open();
  }
  bool start_array(std::size_t) override { return open(); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(std::string& name) override {
    expects_ = depth_ == 1 && name == "fn";
    if (expects_ && std::exchange(seen_, true)) throw Refused{"the key \"fn\" appears twice"};
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const json::exception& error) override {
    throw Refused{error.what()};
  }

 private:
  bool value() {
    expects_ = false;
    if (++values_ > kMaxRequestValues) throw Refused{"it holds too many values"};
    return true;
  }
  bool open() {
    if (++depth_ > kMaxJsonDepth) {
      throw Refused{fmt::format("it is nested deeper than {} levels", kMaxJsonDepth)};
    }
    return value();
  }
  bool close() {
    --depth_;
    return true;
  }

  int depth_ = 0;
  std::size_t values_ = 0;
  bool is_object_ = false;
  bool seen_ = false;
  bool expects_ = false;
  std::optional<std::string> found_;
};

}  // namespace

Result<std::string> function_of(std::string_view text) {
  try {
    FunctionFinder finder;
    json::sax_parse(text, &finder);
    return std::move(finder).take();
  } catch (const Refused& refused) {
    return fail(ErrorKind::invalid, "this JSON is refused: " + clean_text(refused.why, 200));
  }
}

Result<std::unique_ptr<json>> parse_object(std::string_view text) {
  try {
    Checks checks(text.size() > kMaxRequestText ? kMaxJsonValues : kMaxRequestValues);
    auto parsed = std::make_unique<json>(
        json::parse(text, [&checks](int depth, json::parse_event_t event, json& value) {
          return checks(depth, event, value);
        }));
    if (!parsed->is_object()) return fail(ErrorKind::invalid, "not a JSON object");
    return parsed;
  } catch (const Refused& refused) {
    return fail(ErrorKind::invalid, "this JSON is refused: " + refused.why);
  } catch (const json::exception& exception) {
    return fail(ErrorKind::invalid, "not JSON: " + clean_text(exception.what(), 200));
  }
}

}  // namespace dynolog::rpc
