// The table of sinks. To add one: a row here.
#include "sinks/all_sinks.h"

#include <array>
#include <string_view>

#include "sinks/json_lines.h"

namespace dynolog {
namespace {

struct SinkRow {
  std::string_view name;
  bool (*is_wanted)(const SinkOptions& options);
  Result<std::unique_ptr<Sink>> (*make)(const SinkOptions& options);
};

constexpr std::array kSinks = {
    SinkRow{"json", [](const SinkOptions& options) { return options.json.enabled; },
            [](const SinkOptions& options) { return make_json_lines_sink(options.json); }},
};

consteval bool has_unique_sinks() {
  for (std::size_t i = 0; i < kSinks.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (kSinks[i].name == kSinks[j].name) return false;
    }
  }
  return true;
}
static_assert(has_unique_sinks(), "two sinks have the same name");

}  // namespace

Result<std::vector<std::unique_ptr<Sink>>> make_sinks(const SinkOptions& options) {
  std::vector<std::unique_ptr<Sink>> sinks;
  for (const SinkRow& row : kSinks) {
    if (!row.is_wanted(options)) continue;
    auto sink = row.make(options);
    if (!sink) return with_context(std::move(sink.error()), row.name);
    sinks.push_back(std::move(*sink));
  }
  return sinks;
}

}  // namespace dynolog
