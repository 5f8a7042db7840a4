// Sink `json`.
#include "sinks/json_lines.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <iterator>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/time_text.h"
#include "sinks/interval_record.h"

namespace dynolog {
namespace {

using Json = nlohmann::ordered_json;

constexpr auto kLongestInterval = std::chrono::minutes(10);

std::string dump(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// Whole numbers as such; others with nine digits, so that sums of floats do not end in noise.
void append_number(fmt::memory_buffer& line, double value) {
  constexpr double kExact = 9'007'199'254'740'992;  // 2^53
  if (std::floor(value) == value && std::abs(value) <= kExact) {
    fmt::format_to(std::back_inserter(line), "{}", static_cast<std::int64_t>(value));
  } else {
    fmt::format_to(std::back_inserter(line), "{:.9g}", value);
  }
}

// A name may hold a device's name: clean text, in which only quotes and backslashes need care.
void append_key(fmt::memory_buffer& line, std::string_view name) {
  if (name.find_first_of("\"\\") == std::string_view::npos) {
    fmt::format_to(std::back_inserter(line), ",\"{}\":", name);
  } else {
    fmt::format_to(std::back_inserter(line), ",{}:", dump(Json(name)));
  }
}

class JsonLinesSink final : public Sink {
 public:
  explicit JsonLinesSink(std::unique_ptr<LineWriter> writer)
      : writer_(std::move(writer)), record_(kLongestInterval) {}

  [[nodiscard]] std::string_view name() const override { return "json"; }

  [[nodiscard]] Status consume(const Frame& frame) override {
    const auto values = record_.update(frame);
    fmt::memory_buffer line;
    fmt::format_to(std::back_inserter(line), "{{\"time\":\"{}\"", to_rfc3339(frame.wall()));
    for (const NamedValue& value : values) {
      append_key(line, value.name);
      append_number(line, value.value);
    }
    line.push_back('}');
    writer_->put(fmt::to_string(line));
    return status();
  }

  [[nodiscard]] Status consume(const Event& event) override {
    Json fields = Json::object();
    for (const auto& [key, value] : event.fields) fields[key] = value;
    writer_->put(dump({{"time", to_rfc3339(event.time)},
                       {"event", event.kind},
                       {"subject", event.subject},
                       {"text", event.text},
                       {"fields", std::move(fields)}}));
    return status();
  }

  [[nodiscard]] SinkQueue queue() const override { return writer_->queue(); }

 private:
  [[nodiscard]] Status status() {
    if (auto error = writer_->take_error()) return std::unexpected(std::move(*error));
    return {};
  }

  std::unique_ptr<LineWriter> writer_;
  IntervalRecord record_;
};

}  // namespace

Result<std::unique_ptr<Sink>> make_json_lines_sink(const JsonSinkOptions& options) {
  auto writer = options.file.empty()
                    ? LineWriter::to_descriptor(STDOUT_FILENO, options.max_queued_bytes)
                    : LineWriter::to_file(options.file, options.max_queued_bytes);
  if (!writer) return std::unexpected(writer.error());
  return make_json_lines_sink(std::move(*writer));
}

std::unique_ptr<Sink> make_json_lines_sink(std::unique_ptr<LineWriter> writer) {
  return std::make_unique<JsonLinesSink>(std::move(writer));
}

}  // namespace dynolog
