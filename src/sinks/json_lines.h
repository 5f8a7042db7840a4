// Sink `json`: one JSON object a line, for a reporting interval or an event. The relay says the
// same lines.
//   {"time":"2026-07-21T23:42:34.141Z","interval_s":60,"uptime":4711,"cpu_u":12.345,...}
//   {"time":"...","event":"trace.written","subject":"pid 4711","text":"...","fields":{...}}
#pragma once

#include <memory>
#include <string_view>

#include "base/error.h"
#include "metrics/sink.h"
#include "sinks/line_writer.h"
#include "sinks/options.h"

namespace dynolog {

struct JsonLinesAbout {
  std::string_view sink;          // its name: constant text
  std::chrono::seconds interval;  // from line to line
  Nanoseconds slowest;            // between two readings of the slowest source
};

[[nodiscard]] Result<std::unique_ptr<Sink>> make_json_lines_sink(const JsonSinkOptions& options,
                                                                 Nanoseconds slowest);
// The destructor says what is left of the last interval.
[[nodiscard]] std::unique_ptr<Sink> make_json_lines_sink(std::unique_ptr<LineWriter> writer,
                                                         const JsonLinesAbout& about);

}  // namespace dynolog
