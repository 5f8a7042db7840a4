// The parser's callback does the checking while the text is read, so that a hostile text is left at
// its first offence and never becomes a deep tree.
#include "rpc/protocol/strict_json.h"

#include <fmt/format.h>

#include <set>
#include <string>
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
  bool operator()(int depth, json::parse_event_t event, json& parsed) {
    if (++values_ > kMaxJsonValues) throw Refused{"it holds too many values"};
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
  std::size_t values_ = 0;
  std::vector<std::set<std::string>> keys_;  // of the open objects
};

}  // namespace

Result<std::unique_ptr<json>> parse_object(std::string_view text) {
  try {
    Checks checks;
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
