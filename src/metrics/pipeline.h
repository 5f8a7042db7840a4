// Collectors, frame and sinks on a thread of their own, at whole seconds. Knows no concrete
// collector or sink: collectors/all_collectors.h and sinks/all_sinks.h make them.
#pragma once

#include <memory>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "metrics/collector.h"
#include "metrics/event.h"
#include "metrics/options.h"
#include "metrics/sink.h"
#include "metrics/stage.h"

namespace dynolog {

// The first tick is at once, the others at whole multiples of the interval of wall time. The
// destructor delivers the events that were published before it, ends the thread at once and joins
// it.
class Pipeline {
 public:
  // `clock` and `log` outlive the pipeline.
  [[nodiscard]] static Result<std::unique_ptr<Pipeline>> start(
      const PipelineOptions& options, std::vector<std::unique_ptr<Collector>> collectors,
      std::vector<std::unique_ptr<Sink>> sinks, const Clock& clock, Log& log);
  virtual ~Pipeline() = default;

  virtual void publish(Event event) = 0;                             // any thread
  [[nodiscard]] virtual std::vector<StageState> states() const = 0;  // any thread
  // Whether the thread has come round since the last call, which also asked it to. True at first.
  [[nodiscard]] virtual bool alive() = 0;
};

}  // namespace dynolog
