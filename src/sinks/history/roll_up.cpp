// Minutes of one column after another.
#include "sinks/history/roll_up.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "sinks/history/column.h"

namespace dynolog::history {
namespace {

std::int64_t minute_of(std::int64_t wall_ms) {
  const std::int64_t minute = wall_ms / kMinuteMs;
  return wall_ms % kMinuteMs < 0 ? minute - 1 : minute;
}

struct Minutes {
  std::vector<Tick> starts;
  std::vector<std::size_t> of_tick;  // for each tick of the block the index of its minute
};

Minutes minutes_of(std::span<const Tick> ticks) {
  Minutes minutes;
  for (const Tick& tick : ticks) {
    const std::int64_t start = minute_of(tick.wall_ms) * kMinuteMs;
    if (minutes.starts.empty() || minutes.starts.back().wall_ms != start) {
      minutes.starts.push_back({start, tick.monotonic_us});
    }
    minutes.starts.back().monotonic_us = tick.monotonic_us;
    minutes.of_tick.push_back(minutes.starts.size() - 1);
  }
  return minutes;
}

struct Spread {
  double sum = 0;
  double weight = 0;
  double min = kAbsent;
  double max = kAbsent;
  void add(double value, double by) {
    sum += value * by;
    weight += by;
    if (!(min <= value)) min = value;
    if (!(max >= value)) max = value;
  }
};

// The four figures of each minute.
struct Figures {
  explicit Figures(std::size_t minutes) : last(minutes, kAbsent), spread(minutes) {}
  std::vector<double> last;
  std::vector<Spread> spread;

  [[nodiscard]] std::vector<double> of(Field field, bool counter) const {
    if (field == Field::last) return last;
    std::vector<double> values;
    for (const Spread& each : spread) {
      if (each.weight <= 0) {
        values.push_back(kAbsent);
      } else if (field == Field::mean) {
        values.push_back(to_five_digits(each.sum / each.weight));
      } else {
        const double value = field == Field::min ? each.min : each.max;
        values.push_back(counter ? to_five_digits(value) : value);
      }
    }
    return values;
  }
};

}  // namespace

double to_five_digits(double value) {
  if (value == 0 || !std::isfinite(value)) return value;
  const int exponent = static_cast<int>(std::floor(std::log10(std::abs(value))));
  const int places = 4 - exponent;
  if (places > 18 || places < -18) return value;
  const double power = std::pow(10.0, std::abs(places));
  return places >= 0 ? std::nearbyint(value * power) / power
                     : std::nearbyint(value / power) * power;
}

Result<std::string> RollUp::take(const BlockReader& block, const NatureOf& nature_of) {
  const Minutes minutes = minutes_of(block.ticks());
  BlockWriter writer(block.session(), minutes.starts);
  const TickMask all(minutes.starts.size(), 1);
  std::unordered_map<SeriesNumber, Carried> carried;  // of series that are still there
  std::vector<double> values;
  for (const BlockReader::Column& column : block.columns()) {
    if (column.key.field != Field::last) {
      return fail(ErrorKind::invalid, "a block of readings has a column of a roll-up");
    }
    if (auto read = block.read(column, values); !read) {
      return std::unexpected(std::move(read.error()));
    }
    const Nature nature = nature_of(column.key.series);
    const auto known = carried_.find(column.key.series);
    Carried state = known == carried_.end() ? Carried{{}, kAbsent} : known->second;
    Figures figures(minutes.starts.size());
    const auto read_at = block.ticks_of(column);
    std::size_t next = 0;
    for (std::size_t minute = 0; minute < minutes.starts.size(); ++minute) {
      for (; next < read_at.size() && minutes.of_tick[read_at[next]] == minute; ++next) {
        state.held = values[next];
        if (std::isnan(state.held)) {
          state.track.clear();
        } else if (!nature.is_counter()) {
          figures.spread[minute].add(state.held, 1);
        } else if (const auto step =
                       state.track.take(state.held, block.ticks()[read_at[next]].monotonic_us,
                                        block.session(), nature.counter)) {
          figures.spread[minute].add(step->per_second(), step->elapsed.count());
        }
      }
      figures.last[minute] = state.held;
      if (!nature.is_counter() && figures.spread[minute].weight == 0 && !std::isnan(state.held)) {
        figures.spread[minute].add(state.held, 1);
      }
    }
    for (unsigned field = 0; field < kFields; ++field) {
      const auto which = static_cast<Field>(field);
      if (!writer.add({column.key.series, which}, all, figures.of(which, nature.is_counter()))) {
        return fail(ErrorKind::exhausted, "too many columns for a block of minutes");
      }
    }
    carried.emplace(column.key.series, state);
  }
  carried_ = std::move(carried);
  return std::move(writer).finish();
}

}  // namespace dynolog::history
