// Sink `json`: one JSON object a line, for a frame or an event.
//   {"time":"2026-07-21T23:42:34.141Z","uptime":4711,"cpu_u":12.345,...}
//   {"time":"...","event":"trace.written","subject":"pid 4711","text":"...","fields":{...}}
#pragma once

#include <memory>
#include <string>

#include "base/error.h"
#include "metrics/sink.h"
#include "sinks/line_writer.h"
#include "sinks/options.h"

namespace dynolog {

[[nodiscard]] Result<std::unique_ptr<Sink>> make_json_lines_sink(const JsonSinkOptions& options);
[[nodiscard]] std::unique_ptr<Sink> make_json_lines_sink(std::unique_ptr<LineWriter> writer);

}  // namespace dynolog
