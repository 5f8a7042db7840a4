// Sink `prometheus`: the newest frame as a page on HTTP, rendered for each scrape.
//   /metrics   ?collect[]=NAME...: of these collectors only
//   /healthz   200 while the daemon serves; /readyz 200 while its figures are fresh
#pragma once

#include <memory>
#include <string>

#include "base/clock.h"
#include "base/error.h"
#include "metrics/catalogue.h"
#include "metrics/sink.h"
#include "sinks/options.h"

namespace dynolog {

class PrometheusSink : public Sink {
 public:
  [[nodiscard]] virtual int port() const = 0;
};

struct PrometheusAbout {
  std::string version;
  Nanoseconds interval;  // from frame to frame: figures of five intervals ago are no figures
};

// `catalogue` and `clock` outlive the sink. An error of kind unavailable when the port is taken.
[[nodiscard]] Result<std::unique_ptr<PrometheusSink>> make_prometheus_sink(
    const PrometheusSinkOptions& options, Catalogue catalogue, const Clock& clock,
    PrometheusAbout about);

}  // namespace dynolog
