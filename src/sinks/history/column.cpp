// The forms of a column:
//   head       form (3 bits), whether values are absent (1 bit), scale (4 bits)
//   [absent]   a bit for each value: 1 where there is one
//   none       nothing
//   constant   the value's whole number by the scale, zigzag varint
//   raw_constant  the value, eight bytes
//   deltas     a common divisor, the first value, the differences divided by it: of older stores
//   sorted     each value XOR the one before, all lowest bytes, all second bytes, ...
//   steps      as deltas, but of the differences their width, all lowest bits, all second bits, ...
// zstd makes much of what is sorted: high bytes and bits are nearly all 0, and low bits, which are
// noise, take no more room than they have to.
#include "sinks/history/column.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <numeric>

#include "sinks/history/bytes.h"

namespace dynolog::history {
namespace {

enum class Form : std::uint8_t { none, constant, raw_constant, deltas, sorted, steps };
constexpr std::uint8_t kHasAbsent = 8;
constexpr unsigned kScaleShift = 4;
constexpr double kExact = 9'007'199'254'740'992;  // 2^53

// From a whole number to a value. Collectors divide 1234 by 1000 or multiply it with 0.001, and the
// two differ in their last bit now and then. Their order is that of the stored numbers.
struct Scale {
  double by;
  bool divides = true;
  [[nodiscard]] double up(double value) const { return divides ? value * by : value / by; }
  [[nodiscard]] double down(double whole) const { return divides ? whole / by : whole * by; }
};
constexpr std::array kScales{
    Scale{1e0},         Scale{1e1},         Scale{1e2},         Scale{1e3},        Scale{1e4},
    Scale{1e5},         Scale{1e6},         Scale{1e7},         Scale{1e8},        Scale{1e9},
    Scale{1e-2, false}, Scale{1e-3, false}, Scale{1e-6, false}, Scale{1e-9, false}};
static_assert(kScales.size() <= 16);

// The whole number that the scale makes exactly this value of, if there is one.
bool to_whole(double value, const Scale& scale, std::int64_t& whole) {
  const double scaled = std::nearbyint(scale.up(value));
  if (!(std::abs(scaled) <= kExact)) return false;
  whole = static_cast<std::int64_t>(scaled);
  const double back = scale.down(static_cast<double>(whole));
  return std::bit_cast<std::uint64_t>(back) == std::bit_cast<std::uint64_t>(value);
}

// The first scale that serves all of the values, or as many as there are. `whole` has room for as
// many numbers.
std::size_t scale_for(std::span<const double> present, std::span<std::int64_t> whole) {
  std::size_t scale = 0;
  for (std::size_t i = 0; i < present.size();) {
    if (to_whole(present[i], kScales[scale], whole[i])) {
      ++i;
      continue;
    }
    if (++scale == kScales.size()) return scale;
    i = 0;
  }
  return scale;
}

void put_head(std::string& to, Form form, bool has_absent, std::size_t scale) {
  to.push_back(static_cast<char>(static_cast<unsigned>(form) | (has_absent ? kHasAbsent : 0U) |
                                 static_cast<unsigned>(scale) << kScaleShift));
}

void put_absent(std::string& to, std::span<const double> values) {
  for (std::size_t i = 0; i < values.size(); i += 8) {
    unsigned bits = 0;
    for (std::size_t j = i; j < std::min(i + 8, values.size()); ++j) {
      if (!std::isnan(values[j])) bits |= 1U << (j - i);
    }
    to.push_back(static_cast<char>(bits));
  }
}

// All lowest bits, then all second ones, and so on.
void put_sorted_bits(std::string& to, std::span<const std::uint64_t> numbers, unsigned width) {
  for (unsigned bit = 0; bit < width; ++bit) {
    for (std::size_t i = 0; i < numbers.size(); i += 8) {
      unsigned bits = 0;
      for (std::size_t j = i; j < std::min(i + 8, numbers.size()); ++j) {
        bits |= static_cast<unsigned>(numbers[j] >> bit & 1U) << (j - i);
      }
      to.push_back(static_cast<char>(bits));
    }
  }
}

void put_steps(std::string& to, std::span<const std::int64_t> whole) {
  std::int64_t divisor = 0;
  for (std::size_t i = 1; i < whole.size() && divisor != 1; ++i) {
    divisor = std::gcd(divisor, whole[i] - whole[i - 1]);
  }
  if (divisor == 0) divisor = 1;
  std::vector<std::uint64_t> steps;
  steps.reserve(whole.size());
  std::uint64_t any = 0;
  for (std::size_t i = 1; i < whole.size(); ++i) {
    steps.push_back(zigzag((whole[i] - whole[i - 1]) / divisor));
    any |= steps.back();
  }
  const auto width = static_cast<unsigned>(std::bit_width(any));
  put_varint(to, static_cast<std::uint64_t>(divisor));
  put_varint(to, zigzag(whole[0]));
  to.push_back(static_cast<char>(width));
  put_sorted_bits(to, steps, width);
}

void put_sorted(std::string& to, std::span<const double> present) {
  for (unsigned byte = 0; byte < 8; ++byte) {
    std::uint64_t before = 0;
    for (const double value : present) {
      const auto bits = std::bit_cast<std::uint64_t>(value);
      to.push_back(static_cast<char>((bits ^ before) >> (8 * byte)));
      before = bits;
    }
  }
}

bool all_equal(std::span<const double> present) {
  const auto first = std::bit_cast<std::uint64_t>(present[0]);
  for (const double value : present) {
    if (std::bit_cast<std::uint64_t>(value) != first) return false;
  }
  return true;
}

// As many numbers as there is room for.
bool read_sorted_bits(ByteReader& from, std::span<std::uint64_t> numbers) {
  const unsigned width = from.byte();
  const std::size_t stride = (numbers.size() + 7) / 8;
  if (width > 64) return false;
  for (unsigned bit = 0; bit < width; ++bit) {
    const std::string_view bytes = from.take(stride);
    if (from.failed()) return false;
    for (std::size_t i = 0; i < stride; ++i) {
      auto bits = static_cast<std::uint8_t>(bytes[i]);
      if (bits == 0) continue;
      for (std::size_t j = 8 * i; j < std::min(8 * i + 8, numbers.size()); ++j, bits >>= 1U) {
        numbers[j] |= static_cast<std::uint64_t>(bits & 1U) << bit;
      }
    }
  }
  return !from.failed();
}

bool read_varints(ByteReader& from, std::span<std::uint64_t> numbers) {
  for (std::uint64_t& number : numbers) number = from.varint();
  return !from.failed();
}

// `values` has room for the present ones, in their order; there are some.
bool read_differences(ByteReader& from, Form form, const Scale& scale, std::span<double> values) {
  const auto divisor = static_cast<std::int64_t>(from.varint());
  std::int64_t whole = unzigzag(from.varint());
  std::vector<std::uint64_t> steps(values.size() - 1);
  if (!(form == Form::steps ? read_sorted_bits(from, steps) : read_varints(from, steps))) {
    return false;
  }
  values[0] = scale.down(static_cast<double>(whole));
  for (std::size_t i = 0; i < steps.size(); ++i) {
    std::int64_t step = 0;
    if (__builtin_mul_overflow(unzigzag(steps[i]), divisor, &step) ||
        __builtin_add_overflow(whole, step, &whole)) {
      return false;
    }
    values[i + 1] = scale.down(static_cast<double>(whole));
  }
  return true;
}

bool read_sorted(ByteReader& from, std::span<double> values) {
  const std::string_view bytes = from.take(values.size() * 8);
  if (from.failed()) return false;
  std::uint64_t before = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::uint64_t bits = 0;
    for (std::size_t byte = 0; byte < 8; ++byte) {
      bits |= static_cast<std::uint64_t>(static_cast<std::uint8_t>(bytes[byte * values.size() + i]))
              << (8 * byte);
    }
    before ^= bits;
    values[i] = std::bit_cast<double>(before);
  }
  return true;
}

bool read_values(ByteReader& from, std::uint8_t head, std::span<double> values) {
  const std::size_t number = head >> kScaleShift;
  if (number >= kScales.size()) return false;
  const Scale& scale = kScales[number];
  switch (const auto form = static_cast<Form>(head & 7U)) {
    case Form::none:
      return values.empty();
    case Form::constant:
      std::ranges::fill(values, scale.down(static_cast<double>(unzigzag(from.varint()))));
      return !from.failed();
    case Form::raw_constant:
      std::ranges::fill(values, std::bit_cast<double>(from.u64()));
      return !from.failed();
    case Form::deltas:
    case Form::steps:
      return read_differences(from, form, scale, values);
    case Form::sorted:
      return read_sorted(from, values);
  }
  return false;
}

// Moves the present values, which stand at the front, to their places.
void spread(std::string_view absent, std::size_t present, std::span<double> values) {
  for (std::size_t i = values.size(); i-- > 0;) {
    const bool there = (static_cast<std::uint8_t>(absent[i / 8]) >> (i % 8) & 1U) != 0;
    values[i] = there ? values[--present] : kAbsent;
  }
}

std::size_t count_present(std::string_view absent, std::size_t count) {
  std::size_t present = 0;
  for (std::size_t i = 0; i < count; ++i) {
    present += static_cast<std::uint8_t>(absent[i / 8]) >> (i % 8) & 1U;
  }
  return present;
}

std::unexpected<Error> no_column() { return fail(ErrorKind::invalid, "a column is malformed"); }

}  // namespace

void append_column(std::string& to, std::span<const double> values) {
  std::vector<double> gathered;  // most columns lack nothing
  const bool has_absent =
      std::ranges::any_of(values, [](double value) { return std::isnan(value); });
  if (has_absent) {
    std::ranges::copy_if(values, std::back_inserter(gathered),
                         [](double value) { return !std::isnan(value); });
  }
  const std::span<const double> present = has_absent ? std::span<const double>(gathered) : values;
  if (present.empty()) return put_head(to, Form::none, false, 0);
  const bool constant = all_equal(present);
  std::int64_t only = 0;
  std::vector<std::int64_t> many(constant ? 0 : present.size());
  const std::span<std::int64_t> whole = constant ? std::span(&only, 1) : std::span(many);
  const std::size_t scale = scale_for(present.first(whole.size()), whole);
  const bool decimal = scale < kScales.size();
  const Form form = constant ? (decimal ? Form::constant : Form::raw_constant)
                             : (decimal ? Form::steps : Form::sorted);
  put_head(to, form, has_absent, decimal ? scale : 0);
  if (has_absent) put_absent(to, values);
  switch (form) {
    case Form::none:
    case Form::deltas:
      break;  // written elsewhere: above, and by older daemons
    case Form::constant:
      return put_varint(to, zigzag(whole[0]));
    case Form::raw_constant:
      return put_u64(to, std::bit_cast<std::uint64_t>(present[0]));
    case Form::sorted:
      return put_sorted(to, present);
    case Form::steps:
      return put_steps(to, whole);
  }
}

Status read_column(std::string_view bytes, std::size_t count, std::vector<double>& values) {
  values.assign(count, kAbsent);
  ByteReader from(bytes);
  const std::uint8_t head = from.byte();
  if (from.failed()) return no_column();
  if (static_cast<Form>(head & 7U) == Form::none) {
    return from.at_end() ? Status() : no_column();
  }
  std::string_view absent;
  std::size_t present = count;
  if ((head & kHasAbsent) != 0) {
    absent = from.take((count + 7) / 8);
    if (from.failed()) return no_column();
    present = count_present(absent, count);
  }
  if (present == 0) return no_column();
  if (!read_values(from, head, std::span(values).first(present)) || !from.at_end()) {
    return no_column();
  }
  if (!absent.empty()) spread(absent, present, values);
  return {};
}

std::string_view form_of(std::string_view column) {
  constexpr std::array<std::string_view, 6> kNames{"none",   "constant", "raw constant",
                                                   "deltas", "sorted",   "steps"};
  const std::size_t form = column.empty() ? 0 : static_cast<std::uint8_t>(column.front()) & 7U;
  return form < kNames.size() ? kNames[form] : "unknown";
}

}  // namespace dynolog::history
