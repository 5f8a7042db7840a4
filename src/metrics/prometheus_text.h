// Parser of Prometheus' text format, as a directory of text files holds it. Foreign bytes: bounded,
// and anything that is not of the format is an error that names its line.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"

namespace dynolog {

struct TextSample {
  std::string name;  // the family's, or with "_bucket", "_sum" or "_count" behind it
  std::vector<std::pair<std::string, std::string>> labels;  // by key
  double value = 0;
  bool operator==(const TextSample&) const = default;
};

struct TextFamily {
  std::string name;
  std::string type = "untyped";  // or "counter", "gauge", "histogram", "summary"
  std::string help{};            // "": none
  std::vector<TextSample> samples{};
};

struct TextLimits {
  std::size_t samples = 10'000;
  std::size_t labels = 64;  // of one sample
  std::size_t name_bytes = 256;
  std::size_t value_bytes = 4096;  // of a label, or of a help text
};

// In the order in which families first appear. Timestamps are refused, as those of a file's
// writing would be: the reader's are what counts. The last line has to end, or the file may be only
// half written.
[[nodiscard]] Result<std::vector<TextFamily>> parse_prometheus_text(std::string_view text,
                                                                    const TextLimits& limits);

}  // namespace dynolog
