// Sink `otlp`: frames to a receiver of OpenTelemetry's protocol, over HTTP in protobuf.
#pragma once

#include <memory>
#include <string>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "metrics/sink.h"
#include "sinks/options.h"

namespace dynolog {

struct OtlpAbout {
  std::string version;
  std::string host;     // its name
  std::string host_id;  // "": not known
  std::string executable;
  WallTime boot;
  WallTime started;
};

// An error when the endpoint is no URL, or a certificate cannot be used. The destructor sends what
// a receiver takes within half a second. `clock` and `log` outlive the sink.
[[nodiscard]] Result<std::unique_ptr<Sink>> make_otlp_sink(const OtlpSinkOptions& options,
                                                           const Clock& clock, Log& log,
                                                           OtlpAbout about);

}  // namespace dynolog
