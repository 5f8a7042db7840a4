// The table of sinks. To add one: a row here.
#include "sinks/all_sinks.h"

#include <fmt/format.h>

#include <array>
#include <string_view>

#include "sinks/json_lines.h"
#include "sinks/otlp.h"
#include "sinks/prometheus.h"
#include "sinks/relay.h"

namespace dynolog {
namespace {

struct SinkRow {
  std::string_view name;
  bool (*is_wanted)(const SinkOptions& options);
  // nullptr: left out, and reported.
  Result<std::unique_ptr<Sink>> (*make)(const SinkOptions& options, const SinkWorld& world);
};

Result<std::unique_ptr<Sink>> make_json(const SinkOptions& options, const SinkWorld& world) {
  const std::string feature =
      "json:" + (options.json.file.empty() ? std::string("stdout") : options.json.file);
  auto sink = make_json_lines_sink(options.json, world.slowest);
  if (sink) {
    world.report(feature, "ok", "");
    return std::move(*sink);
  }
  world.report(feature, "degraded", sink.error().message + "; a reload (SIGHUP) tries it again");
  return nullptr;
}

// The feature's name carries the address, with the port that was taken where any would do.
std::string prometheus_feature(const PrometheusSinkOptions& options, int port) {
  const std::string& address = options.address.empty() ? "127.0.0.1" : options.address;
  return fmt::format("prometheus:{}:{}", address.contains(':') ? "[" + address + "]" : address,
                     port);
}

Result<std::unique_ptr<Sink>> make_prometheus(const SinkOptions& options, const SinkWorld& world) {
  const PrometheusSinkOptions& wanted = options.prometheus;
  auto sink = make_prometheus_sink(wanted, world.catalogue, world.clock,
                                   {.version = world.version, .interval = world.interval});
  if (sink) {
    world.report(prometheus_feature(wanted, (*sink)->port()), "ok", "");
    return std::move(*sink);
  }
  world.report(prometheus_feature(wanted, wanted.port), "degraded", sink.error().message);
  return nullptr;
}

Result<std::unique_ptr<Sink>> make_relay(const SinkOptions& options, const SinkWorld& world) {
  return make_relay_sink(options.relay, world.slowest, world.executable, world.log);
}

Result<std::unique_ptr<Sink>> make_otlp(const SinkOptions& options, const SinkWorld& world) {
  const OtlpSinkOptions& wanted = options.otlp;
  auto sink = make_otlp_sink(wanted, world.clock, world.log,
                             {.version = world.version,
                              .host = world.host,
                              .host_id = world.host_id,
                              .executable = world.executable,
                              .boot = world.boot,
                              .started = world.started});
  // Whether the receiver is there is known of each delivery, and said of the sink.
  if (sink) return std::move(*sink);
  world.report("otlp:" + wanted.endpoint, "degraded", sink.error().message);
  return nullptr;
}

Result<std::unique_ptr<Sink>> make_history(const SinkOptions&, const SinkWorld& world) {
  return world.history == nullptr ? nullptr : world.history->make_sink();
}

constexpr std::array kSinks = {
    SinkRow{"history", [](const SinkOptions&) { return true; }, make_history},
    SinkRow{"json", [](const SinkOptions& options) { return options.json.enabled; }, make_json},
    SinkRow{"prometheus", [](const SinkOptions& options) { return options.prometheus.enabled; },
            make_prometheus},
    SinkRow{"relay", [](const SinkOptions& options) { return options.relay.enabled; }, make_relay},
    SinkRow{"otlp", [](const SinkOptions& options) { return options.otlp.enabled; }, make_otlp},
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

Result<std::vector<std::unique_ptr<Sink>>> make_sinks(const SinkOptions& options,
                                                      const SinkWorld& world) {
  std::vector<std::unique_ptr<Sink>> sinks;
  for (const SinkRow& row : kSinks) {
    if (!row.is_wanted(options)) continue;
    auto sink = row.make(options, world);
    if (!sink) return with_context(std::move(sink.error()), row.name);
    if (*sink) sinks.push_back(std::move(*sink));
  }
  return sinks;
}

}  // namespace dynolog
