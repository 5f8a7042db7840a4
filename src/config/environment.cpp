// OpenTelemetry's environment variables, the specification's names and meanings.
#include <fmt/format.h>

#include <array>

#include "base/number.h"
#include "base/text.h"
#include "base/url.h"
#include "config/layers.h"
#include "config/values.h"

namespace dynolog {
namespace {

using Variables = std::map<std::string, std::string>;

struct Found {
  std::string name;
  std::string value;
};

// An empty variable is none.
std::optional<Found> find(const Variables& variables, const std::string& name) {
  const auto found = variables.find(name);
  if (found == variables.end() || trim(found->second).empty()) return std::nullopt;
  return Found{name, std::string(trim(found->second))};
}

// OTEL_EXPORTER_OTLP_METRICS_X, else OTEL_EXPORTER_OTLP_X.
std::optional<Found> exporter(const Variables& variables, std::string_view what) {
  if (auto found = find(variables, fmt::format("OTEL_EXPORTER_OTLP_METRICS_{}", what))) {
    return found;
  }
  return find(variables, fmt::format("OTEL_EXPORTER_OTLP_{}", what));
}

void add(Layer& layer, std::string_view option, const std::optional<Found>& found) {
  if (!found) return;
  const KnownOption known = *find_option(option);
  Values values;
  if (known.kind == ValueKind::list) {
    for (const std::string_view item : split(found->value, ',')) {
      if (!trim(item).empty()) values.emplace_back(trim(item));
    }
    if (values.empty()) return;
  } else {
    values.push_back(found->value);
  }
  layer.push_back({known, std::move(values), found->name});
}

// The general one is a base, to which the signal's path is added.
std::optional<Found> endpoint(const Variables& variables) {
  if (auto own = find(variables, "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT")) return own;
  auto base = find(variables, "OTEL_EXPORTER_OTLP_ENDPOINT");
  if (!base) return std::nullopt;
  while (base->value.ends_with('/')) base->value.pop_back();
  base->value += "/v1/metrics";
  return base;
}

// Milliseconds to the whole seconds that ticks are.
Result<std::optional<Found>> interval(const Variables& variables) {
  auto found = find(variables, "OTEL_METRIC_EXPORT_INTERVAL");
  if (!found) return std::nullopt;
  const auto milliseconds = parse_number<std::int64_t>(found->value);
  if (!milliseconds || *milliseconds < 1 || *milliseconds > 86'400'000) {
    return fail(ErrorKind::invalid,
                fmt::format("OTEL_METRIC_EXPORT_INTERVAL={}: must be 1 to 86400000 milliseconds",
                            clean_text(found->value, 64)));
  }
  found->value = std::to_string((*milliseconds + 999) / 1000);
  return found;
}

Status check_protocol(const Variables& variables) {
  const auto protocol = exporter(variables, "PROTOCOL");
  if (!protocol || protocol->value == "http/protobuf") return {};
  return fail(ErrorKind::invalid,
              fmt::format("{}={}: only http/protobuf is spoken here, on port 4318 as a rule; "
                          "OTEL_EXPORTER_OTLP_METRICS_PROTOCOL=http/protobuf says so for metrics",
                          protocol->name, clean_text(protocol->value, 64)));
}

}  // namespace

Result<Layer> read_environment(const std::map<std::string, std::string>& variables) {
  Layer layer;
  if (const auto disabled = find(variables, "OTEL_SDK_DISABLED");
      disabled && parse_bool(disabled->value) == true) {
    return layer;
  }
  if (auto spoken = check_protocol(variables); !spoken) {
    return std::unexpected(std::move(spoken.error()));
  }
  auto seconds = interval(variables);
  if (!seconds) return std::unexpected(std::move(seconds.error()));
  add(layer, "otlp_endpoint", endpoint(variables));
  add(layer, "otlp_interval_s", *seconds);
  add(layer, "otlp_headers", exporter(variables, "HEADERS"));
  add(layer, "otlp_service_name", find(variables, "OTEL_SERVICE_NAME"));
  add(layer, "otlp_resource_attributes", find(variables, "OTEL_RESOURCE_ATTRIBUTES"));
  add(layer, "otlp_compression", exporter(variables, "COMPRESSION"));
  add(layer, "otlp_timeout_ms", exporter(variables, "TIMEOUT"));
  add(layer, "otlp_ssl_ca_cert_path", exporter(variables, "CERTIFICATE"));
  add(layer, "otlp_ssl_client_cert_path", exporter(variables, "CLIENT_CERTIFICATE"));
  add(layer, "otlp_ssl_client_key_path", exporter(variables, "CLIENT_KEY"));
  return layer;
}

}  // namespace dynolog
