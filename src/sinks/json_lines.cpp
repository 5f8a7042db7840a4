// Writing the lines of sink `json` and of the relay.
#include "sinks/json_lines.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/time_text.h"
#include "sinks/interval_record.h"

namespace dynolog {
namespace {

using Json = nlohmann::ordered_json;

// An increase over a longer time than this is none: the source was away.
Nanoseconds longest_increase(const JsonLinesAbout& about) {
  constexpr Nanoseconds kAtLeast = std::chrono::minutes(10);
  return std::max({kAtLeast, Nanoseconds(3 * about.interval), 3 * about.slowest});
}

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
  JsonLinesSink(std::unique_ptr<LineWriter> writer, const JsonLinesAbout& about)
      : writer_(std::move(writer)),
        name_(about.sink),
        interval_(about.interval),
        record_(longest_increase(about)) {}
  JsonLinesSink(const JsonLinesSink&) = delete;
  JsonLinesSink& operator=(const JsonLinesSink&) = delete;
  ~JsonLinesSink() override {
    if (newest_ && (!said_ || newest_->monotonic != said_->monotonic)) say();
  }

  [[nodiscard]] std::string_view name() const override { return name_; }

  [[nodiscard]] Status consume(const Frame& frame) override {
    record_.add(frame);
    newest_ = {frame.wall(), frame.monotonic()};
    if (interval_.is_due(frame.wall())) say();
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
  struct Moment {
    WallTime wall{};
    MonotonicTime monotonic{};
  };

  void say() {
    fmt::memory_buffer line;
    fmt::format_to(std::back_inserter(line), "{{\"time\":\"{}\"", to_rfc3339(newest_->wall));
    if (said_) {
      const std::chrono::duration<double> since = newest_->monotonic - said_->monotonic;
      append_key(line, "interval_s");
      append_number(line, std::round(since.count() * 1000) / 1000);
    }
    for (const NamedValue& value : record_.take()) {
      append_key(line, value.name);
      append_number(line, value.value);
    }
    line.push_back('}');
    writer_->put(fmt::to_string(line));
    said_ = newest_;
  }

  [[nodiscard]] Status status() {
    if (auto error = writer_->problem()) return std::unexpected(std::move(*error));
    return {};
  }

  std::unique_ptr<LineWriter> writer_;
  std::string_view name_;
  ReportingInterval interval_;
  IntervalRecord record_;
  std::optional<Moment> newest_;  // the last frame
  std::optional<Moment> said_;    // the last line
};

}  // namespace

Result<std::unique_ptr<Sink>> make_json_lines_sink(const JsonSinkOptions& options,
                                                   Nanoseconds slowest) {
  auto writer = options.file.empty()
                    ? LineWriter::to_descriptor(STDOUT_FILENO, options.max_queued_bytes)
                    : LineWriter::to_file(options.file, options.rotation, options.max_queued_bytes);
  if (!writer) return std::unexpected(writer.error());
  return make_json_lines_sink(std::move(*writer),
                              {.sink = "json", .interval = options.interval, .slowest = slowest});
}

std::unique_ptr<Sink> make_json_lines_sink(std::unique_ptr<LineWriter> writer,
                                           const JsonLinesAbout& about) {
  return std::make_unique<JsonLinesSink>(std::move(writer), about);
}

}  // namespace dynolog
