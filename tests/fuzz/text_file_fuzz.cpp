// Any bytes as a text file of metrics.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "metrics/prometheus_text.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace dynolog;  // NOLINT: a program of its own
  const TextLimits limits{.samples = 100, .labels = 8, .name_bytes = 64, .value_bytes = 256};
  const auto families =
      parse_prometheus_text(std::string_view(reinterpret_cast<const char*>(data), size), limits);
  if (!families) return families.error().message.starts_with("line ") ? 0 : (std::abort(), 0);
  std::size_t samples = 0;
  for (const TextFamily& family : *families) {
    if (family.name.empty() || family.samples.empty()) std::abort();
    samples += family.samples.size();
    for (const TextSample& sample : family.samples) {
      if (!sample.name.starts_with(family.name) || sample.labels.size() > limits.labels) {
        std::abort();
      }
    }
  }
  if (samples > limits.samples) std::abort();
  return 0;
}
