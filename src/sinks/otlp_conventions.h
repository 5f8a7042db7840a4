// OpenTelemetry's semantic conventions for metrics, as data: which names there are, and which unit
// and instrument each has. Names that are not here are our own ("dynolog."), with units of ours.
#pragma once

#include <string_view>

#include "metrics/descriptor.h"

namespace dynolog {

enum class Instrument {
  counter,          // a monotonic sum
  up_down_counter,  // a sum that goes both ways: a total that can be added up
  gauge,
};

struct Convention {
  std::string_view name;
  Instrument instrument;
  std::string_view unit;  // UCUM
};

// nullptr: the conventions have no such name.
[[nodiscard]] const Convention* convention_of(std::string_view name);

// What the descriptor is in OTLP: by the convention that its name is of, else by its kind and unit.
struct OtlpShape {
  Instrument instrument = Instrument::gauge;
  std::string_view unit;
};
[[nodiscard]] OtlpShape otlp_shape(const MetricDescriptor& descriptor);

// Attributes whose values are integers.
[[nodiscard]] bool is_integer_attribute(std::string_view key);

}  // namespace dynolog
