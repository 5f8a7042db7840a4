// The forms of a column:
//   head       form (3 bits), whether values are absent (1 bit), decimal places (4 bits)
//   [absent]   a bit for each value: 1 where there is one
//   none       nothing
//   constant   the value, zigzag varint of value x 10^places
//   raw_constant  the value, eight bytes
//   deltas     a common divisor, the first value, the differences divided by it
//   sorted     each value XOR the one before, all first bytes, all second bytes, ...
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

enum class Form : std::uint8_t { none, constant, raw_constant, deltas, sorted };
constexpr std::uint8_t kHasAbsent = 8;
constexpr unsigned kPlacesShift = 4;
constexpr std::array<double, 10> kPowers{1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9};
constexpr double kExact = 9'007'199'254'740'992;  // 2^53

// value x 10^places, where that is a whole number from which exactly this value comes back.
bool to_whole(double value, std::size_t places, std::int64_t& whole) {
  const double scaled = std::nearbyint(value * kPowers[places]);
  if (!(std::abs(scaled) <= kExact)) return false;
  whole = static_cast<std::int64_t>(scaled);
  const double back = static_cast<double>(whole) / kPowers[places];
  return std::bit_cast<std::uint64_t>(back) == std::bit_cast<std::uint64_t>(value);
}

// The fewest decimal places that serve all of the values, or as many as there are powers. `whole`
// has room for as many.
std::size_t places_for(std::span<const double> present, std::span<std::int64_t> whole) {
  std::size_t places = 0;
  for (std::size_t i = 0; i < present.size();) {
    if (to_whole(present[i], places, whole[i])) {
      ++i;
      continue;
    }
    if (++places == kPowers.size()) return places;
    i = 0;
  }
  return places;
}

void put_head(std::string& to, Form form, bool has_absent, std::size_t places) {
  to.push_back(static_cast<char>(static_cast<unsigned>(form) | (has_absent ? kHasAbsent : 0U) |
                                 static_cast<unsigned>(places) << kPlacesShift));
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

void put_deltas(std::string& to, std::span<const std::int64_t> whole) {
  std::int64_t divisor = 0;
  for (std::size_t i = 1; i < whole.size() && divisor != 1; ++i) {
    divisor = std::gcd(divisor, whole[i] - whole[i - 1]);
  }
  if (divisor == 0) divisor = 1;
  put_varint(to, static_cast<std::uint64_t>(divisor));
  put_varint(to, zigzag(whole[0]));
  for (std::size_t i = 1; i < whole.size(); ++i) {
    put_varint(to, zigzag((whole[i] - whole[i - 1]) / divisor));
  }
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

// `values` has room for the present ones, in their order.
bool read_deltas(ByteReader& from, double power, std::span<double> values) {
  const auto divisor = static_cast<std::int64_t>(from.varint());
  std::int64_t whole = unzigzag(from.varint());
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i > 0) {
      std::int64_t step = 0;
      if (__builtin_mul_overflow(unzigzag(from.varint()), divisor, &step) ||
          __builtin_add_overflow(whole, step, &whole)) {
        return false;
      }
    }
    values[i] = static_cast<double>(whole) / power;
  }
  return !from.failed();
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
  const std::size_t places = head >> kPlacesShift;
  if (places >= kPowers.size()) return false;
  switch (static_cast<Form>(head & 7U)) {
    case Form::none:
      return values.empty();
    case Form::constant: {
      const double value = static_cast<double>(unzigzag(from.varint())) / kPowers[places];
      std::ranges::fill(values, value);
      return !from.failed();
    }
    case Form::raw_constant: {
      const auto value = std::bit_cast<double>(from.u64());
      std::ranges::fill(values, value);
      return !from.failed();
    }
    case Form::deltas:
      return read_deltas(from, kPowers[places], values);
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
  const std::size_t places = places_for(present.first(whole.size()), whole);
  const bool decimal = places < kPowers.size();
  const Form form = constant ? (decimal ? Form::constant : Form::raw_constant)
                             : (decimal ? Form::deltas : Form::sorted);
  put_head(to, form, has_absent, decimal ? places : 0);
  if (has_absent) put_absent(to, values);
  switch (form) {
    case Form::none:
      break;
    case Form::constant:
      return put_varint(to, zigzag(whole[0]));
    case Form::raw_constant:
      return put_u64(to, std::bit_cast<std::uint64_t>(present[0]));
    case Form::deltas:
      return put_deltas(to, whole);
    case Form::sorted:
      return put_sorted(to, present);
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

}  // namespace dynolog::history
