// The framework's own metrics: how each collector and sink is doing.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "metrics/descriptor.h"
#include "metrics/samples.h"
#include "metrics/stage.h"

namespace dynolog {

// Read by the framework itself at the medium tier, after the collectors and before the sinks.
inline constexpr std::string_view kFrameworkSource = "the daemon itself";

inline constexpr std::array kFrameworkMetrics = {
    MetricDescriptor{.id = "collector.duration",
                     .kind = MetricKind::gauge,
                     .unit = Unit::seconds,
                     .help = "How long a collector's last run took",
                     .source = kFrameworkSource,
                     .labels = {LabelKey{"collector", "dynolog.collector"}},
                     .prometheus = {.name = "node_scrape_collector_duration_seconds"},
                     .otlp = {.name = "dynolog.collector.duration"},
                     .json = {.name = "dynolog_collector_duration_seconds.{collector}"}},
    MetricDescriptor{.id = "collector.success",
                     .kind = MetricKind::gauge,
                     .unit = Unit::none,
                     .help = "Whether a collector's last run succeeded (1) or failed (0)",
                     .source = kFrameworkSource,
                     .labels = {LabelKey{"collector", "dynolog.collector"}},
                     .prometheus = {.name = "node_scrape_collector_success"},
                     .otlp = {.name = "dynolog.collector.success"},
                     .json = {.name = "dynolog_collector_success.{collector}"}},
    MetricDescriptor{.id = "collector.runs",
                     .kind = MetricKind::counter,
                     .unit = Unit::none,
                     .help = "Runs of a collector, by result",
                     .source = kFrameworkSource,
                     .labels = {LabelKey{"collector", "dynolog.collector"},
                                LabelKey{"result", "dynolog.result"}},
                     .counter = {.of_daemon = true},
                     .prometheus = {.name = "dynolog_collector_runs_total"},
                     .otlp = {.name = "dynolog.collector.runs"},
                     .json = {.name = "dynolog_collector_runs.{collector}.{result}"}},
    MetricDescriptor{.id = "collector.last_success",
                     .kind = MetricKind::gauge,
                     .unit = Unit::seconds,
                     .help = "When a collector last succeeded, in seconds since the epoch",
                     .source = kFrameworkSource,
                     .labels = {LabelKey{"collector", "dynolog.collector"}},
                     .prometheus = {.name = "dynolog_collector_last_success_timestamp_seconds"},
                     .otlp = {.name = "dynolog.collector.last_success"},
                     .newest_only = true},
    MetricDescriptor{.id = "collector.values_rejected",
                     .kind = MetricKind::counter,
                     .unit = Unit::none,
                     .help = "Values that a collector could not deliver, by reason",
                     .source = kFrameworkSource,
                     .labels = {LabelKey{"collector", "dynolog.collector"},
                                LabelKey{"reason", "dynolog.reason"}},
                     .counter = {.of_daemon = true},
                     .prometheus = {.name = "dynolog_collector_values_rejected_total"},
                     .otlp = {.name = "dynolog.collector.values_rejected"},
                     .json = {.name = "dynolog_collector_values_rejected.{collector}.{reason}"}},
    MetricDescriptor{.id = "sink.duration",
                     .kind = MetricKind::gauge,
                     .unit = Unit::seconds,
                     .help = "How long a sink's last frame took",
                     .source = kFrameworkSource,
                     .labels = {LabelKey{"sink", "dynolog.sink"}},
                     .prometheus = {.name = "dynolog_sink_duration_seconds"},
                     .otlp = {.name = "dynolog.sink.duration"},
                     .json = {.name = "dynolog_sink_duration_seconds.{sink}"}},
    MetricDescriptor{.id = "sink.success",
                     .kind = MetricKind::gauge,
                     .unit = Unit::none,
                     .help = "Whether a sink's last frame or delivery succeeded (1) or failed (0)",
                     .source = kFrameworkSource,
                     .labels = {LabelKey{"sink", "dynolog.sink"}},
                     .prometheus = {.name = "dynolog_sink_success"},
                     .otlp = {.name = "dynolog.sink.success"},
                     .json = {.name = "dynolog_sink_success.{sink}"}},
    MetricDescriptor{
        .id = "sink.frames",
        .kind = MetricKind::counter,
        .unit = Unit::none,
        .help = "Frames given to a sink, by result",
        .source = kFrameworkSource,
        .labels = {LabelKey{"sink", "dynolog.sink"}, LabelKey{"result", "dynolog.result"}},
        .counter = {.of_daemon = true},
        .prometheus = {.name = "dynolog_sink_frames_total"},
        .otlp = {.name = "dynolog.sink.frames"},
        .json = {.name = "dynolog_sink_frames.{sink}.{result}"}},
    MetricDescriptor{.id = "sink.last_success",
                     .kind = MetricKind::gauge,
                     .unit = Unit::seconds,
                     .help = "When a sink last took a frame, in seconds since the epoch",
                     .source = kFrameworkSource,
                     .labels = {LabelKey{"sink", "dynolog.sink"}},
                     .prometheus = {.name = "dynolog_sink_last_success_timestamp_seconds"},
                     .otlp = {.name = "dynolog.sink.last_success"},
                     .newest_only = true},
    MetricDescriptor{.id = "sink.queue_length",
                     .kind = MetricKind::gauge,
                     .unit = Unit::none,
                     .help = "What waits for delivery in a sink's own queue",
                     .source = kFrameworkSource,
                     .labels = {LabelKey{"sink", "dynolog.sink"}},
                     .prometheus = {.name = "dynolog_sink_queue_length"},
                     .otlp = {.name = "dynolog.sink.queue_length"},
                     .json = {.name = "dynolog_sink_queue_length.{sink}"}},
    MetricDescriptor{.id = "sink.dropped",
                     .kind = MetricKind::counter,
                     .unit = Unit::none,
                     .help = "What a sink dropped because its queue was full",
                     .source = kFrameworkSource,
                     .labels = {LabelKey{"sink", "dynolog.sink"}},
                     .counter = {.of_daemon = true},
                     .prometheus = {.name = "dynolog_sink_dropped_total"},
                     .otlp = {.name = "dynolog.sink.dropped"},
                     .json = {.name = "dynolog_sink_dropped.{sink}"}},
    MetricDescriptor{.id = "sink.delivery_failures",
                     .kind = MetricKind::counter,
                     .unit = Unit::none,
                     .help = "Deliveries of a sink's own queue that failed, repeated ones included",
                     .source = kFrameworkSource,
                     .labels = {LabelKey{"sink", "dynolog.sink"}},
                     .counter = {.of_daemon = true},
                     .prometheus = {.name = "dynolog_sink_delivery_failures_total"},
                     .otlp = {.name = "dynolog.sink.delivery_failures"},
                     .json = {.name = "dynolog_sink_delivery_failures.{sink}"}},
    MetricDescriptor{.id = "pipeline.late_ticks",
                     .kind = MetricKind::counter,
                     .unit = Unit::none,
                     .help = "Ticks that were left out because the one before took too long",
                     .source = kFrameworkSource,
                     .counter = {.of_daemon = true},
                     .prometheus = {.name = "dynolog_pipeline_late_ticks_total"},
                     .otlp = {.name = "dynolog.pipeline.late_ticks"},
                     .json = {.name = "dynolog_pipeline_late_ticks"}},
    MetricDescriptor{.id = "pipeline.events_dropped",
                     .kind = MetricKind::counter,
                     .unit = Unit::none,
                     .help = "Events dropped because the pipeline's queue was full",
                     .source = kFrameworkSource,
                     .counter = {.of_daemon = true},
                     .prometheus = {.name = "dynolog_pipeline_events_dropped_total"},
                     .otlp = {.name = "dynolog.pipeline.events_dropped"},
                     .json = {.name = "dynolog_pipeline_events_dropped"}},
};

class FrameworkSeries {
 public:
  // Between begin_source() and end_source() of a source of its own.
  void emit(const std::vector<StageState>& stages, std::uint64_t late_ticks,
            std::uint64_t events_dropped, Samples& out);

 private:
  struct Stage {
    SeriesHandle duration, success, succeeded, failed, last_success, queue_length, dropped;
    SeriesHandle delivery_failures;
    std::array<SeriesHandle, kAbsentReasons> rejected;  // opened at the first one
  };
  void open(const StageState& state, Stage& stage, Samples& out);
  void emit_collector(const StageState& state, Stage& stage, Samples& out);
  void emit_sink(const StageState& state, const Stage& stage, Samples& out);

  std::vector<Stage> stages_;
  std::optional<std::array<SeriesHandle, 2>> totals_;
};

}  // namespace dynolog
