// From rows of many series to columns of many ticks.
#include "sinks/history/row.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "sinks/history/column.h"

namespace dynolog::history {
namespace {

constexpr Slot kNoSlot = std::numeric_limits<Slot>::max();

std::int64_t wall_ms(WallTime time) { return epoch_milliseconds(time); }

// Where the series are in each of the tables that the rows have; nearly always there is one table.
struct Plan {
  struct Column {
    SeriesNumber number = 0;
    SourceIndex source = 0;
  };
  std::vector<const SeriesTable*> tables;
  std::vector<std::size_t> table_of_row;
  std::vector<Column> columns;  // by number
  std::vector<Slot> slots;      // each column's, of all tables

  [[nodiscard]] Slot slot_of(std::size_t column, std::size_t row) const {
    return slots[column * tables.size() + table_of_row[row]];
  }
};

struct Place {
  SeriesNumber number = 0;
  SourceIndex source = 0;
  std::size_t table = 0;
  Slot slot = kNoSlot;
};

// Every series of every table, by number.
std::vector<Place> places_of(std::span<const std::shared_ptr<const SeriesTable>> tables,
                             SeriesIndex& index, std::size_t& left_out) {
  std::vector<Place> places;
  left_out = 0;
  for (std::size_t at = 0; at < tables.size(); ++at) {
    const SeriesTable& table = *tables[at];
    const auto numbers = index.numbers_of(tables[at]);
    places.reserve(places.size() + table.size());
    for (Slot slot = 0; slot < table.size(); ++slot) {
      const Series* series = table.at(slot);
      if (series == nullptr) continue;
      if (numbers[slot] == kNoNumber) {
        ++left_out;
      } else {
        places.push_back({numbers[slot], series->source, at, slot});
      }
    }
  }
  std::ranges::sort(places, {},
                    [](const Place& place) { return std::pair(place.number, place.table); });
  return places;
}

Plan plan_of(std::span<const Row* const> rows, SeriesIndex& index, std::size_t& left_out) {
  Plan plan;
  std::vector<std::shared_ptr<const SeriesTable>> tables;
  for (const Row* row : rows) {
    const auto found = std::ranges::find(tables, row->table);
    plan.table_of_row.push_back(static_cast<std::size_t>(found - tables.begin()));
    if (found == tables.end()) tables.push_back(row->table);
  }
  for (const auto& table : tables) plan.tables.push_back(table.get());
  for (const Place& place : places_of(tables, index, left_out)) {
    if (plan.columns.empty() || plan.columns.back().number != place.number) {
      plan.columns.push_back({place.number, place.source});
      plan.slots.resize(plan.slots.size() + tables.size(), kNoSlot);
    }
    plan.columns.back().source = place.source;
    plan.slots[(plan.columns.size() - 1) * tables.size() + place.table] = place.slot;
  }
  return plan;
}

// What one column has at each of the rows.
struct ColumnValues {
  TickMask mask;
  std::vector<double> values;

  void gather(std::span<const Row* const> rows, const Plan& plan, std::size_t column) {
    const SourceIndex source = plan.columns[column].source;
    mask.assign(rows.size(), 0);
    values.clear();
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const Row& row = *rows[i];
      const Slot slot = plan.slot_of(column, i);
      if (slot == kNoSlot) {  // closed, or not open yet
        mask[i] = 1;
        values.push_back(kAbsent);
      } else if (source < row.is_fresh.size() && row.is_fresh[source] != 0) {
        mask[i] = 1;
        values.push_back(row.values[slot]);
      }
    }
  }
};

}  // namespace

void Row::fill(const Frame& frame) {
  table = frame.table();
  tick.wall_ms = wall_ms(frame.wall());
  tick.monotonic_us =
      std::chrono::duration_cast<std::chrono::microseconds>(frame.monotonic().time_since_epoch())
          .count();
  const auto states = frame.states();
  const auto from = frame.values();
  values.resize(from.size());
  for (std::size_t slot = 0; slot < from.size(); ++slot) {
    values[slot] = states[slot].is_present() ? from[slot] : kAbsent;
  }
  is_fresh.resize(frame.sources().size());
  for (std::size_t i = 0; i < is_fresh.size(); ++i) {
    is_fresh[i] = frame.sources()[i].fresh ? 1 : 0;
  }
}

std::vector<PlainBlock> blocks_of(std::span<const Row* const> rows, std::uint64_t session,
                                  SeriesIndex& index, std::size_t& left_out) {
  std::vector<PlainBlock> blocks;
  if (rows.empty()) return blocks;
  std::vector<Tick> ticks;
  for (const Row* row : rows) ticks.push_back(row->tick);
  const Plan plan = plan_of(rows, index, left_out);
  std::optional<BlockWriter> writer;
  const auto finish = [&](Part part) {
    if (!writer) return;
    blocks.push_back(
        {part, ticks.front().wall_ms, ticks.back().wall_ms, std::move(*writer).finish()});
    writer.reset();
  };
  Part part = 0;
  ColumnValues column;
  for (std::size_t at = 0; at < plan.columns.size(); ++at) {
    const SeriesNumber number = plan.columns[at].number;
    if (part_of(number) != part) {
      finish(part);
      part = part_of(number);
    }
    if (!writer) writer.emplace(session, ticks);
    column.gather(rows, plan, at);
    // Patterns are as many as columns at most, which a block takes.
    if (!writer->add({number, Field::last}, column.mask, column.values)) ++left_out;
    index.seen(number, ticks.back().wall_ms);
  }
  finish(part);
  return blocks;
}

}  // namespace dynolog::history
