// Sink `relay`: the JSON lines over a TCP or unix stream, to a collector of lines of the site's.
#pragma once

#include <memory>
#include <string>

#include "base/log.h"
#include "metrics/sink.h"
#include "net/connector.h"
#include "sinks/options.h"

namespace dynolog {

// Where the options say: a path is a unix socket's.
[[nodiscard]] Destination relay_destination(const RelaySinkOptions& options);

// `log` outlives the sink. `executable`: see net/host_resolver.h.
[[nodiscard]] std::unique_ptr<Sink> make_relay_sink(const RelaySinkOptions& options,
                                                    Nanoseconds slowest, std::string executable,
                                                    Log& log);

}  // namespace dynolog
