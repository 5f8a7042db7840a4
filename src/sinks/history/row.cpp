// From rows of many series to columns of many ticks.
#include "sinks/history/row.h"

#include <algorithm>
#include <map>
#include <optional>

#include "sinks/history/column.h"

namespace dynolog::history {
namespace {

constexpr Slot kNoSlot = std::numeric_limits<Slot>::max();

std::int64_t wall_ms(WallTime time) { return epoch_milliseconds(time); }

// A series' place in each of the tables that the rows have; nearly always there is one table.
struct ColumnPlan {
  std::vector<Slot> slots;
  SourceIndex source = 0;
};

struct Plan {
  std::vector<const SeriesTable*> tables;
  std::vector<std::size_t> table_of_row;
  std::map<SeriesNumber, ColumnPlan> columns;
};

Plan plan_of(std::span<const Row* const> rows, SeriesIndex& index, std::size_t& left_out) {
  Plan plan;
  for (const Row* row : rows) {
    const auto found = std::ranges::find(plan.tables, row->table.get());
    plan.table_of_row.push_back(static_cast<std::size_t>(found - plan.tables.begin()));
    if (found == plan.tables.end()) plan.tables.push_back(row->table.get());
  }
  left_out = 0;
  for (std::size_t at = 0; at < plan.tables.size(); ++at) {
    const SeriesTable& table = *plan.tables[at];
    for (Slot slot = 0; slot < table.size(); ++slot) {
      const Series* series = table.at(slot);
      if (series == nullptr) continue;
      const auto number = index.number_of(*series);
      if (!number) {
        ++left_out;
        continue;
      }
      ColumnPlan& column = plan.columns[*number];
      column.slots.resize(plan.tables.size(), kNoSlot);
      column.slots[at] = slot;
      column.source = series->source;
    }
  }
  return plan;
}

// What one column has at each of the rows.
struct ColumnValues {
  TickMask mask;
  std::vector<double> values;

  void gather(std::span<const Row* const> rows, const Plan& plan, const ColumnPlan& column) {
    mask.assign(rows.size(), false);
    values.clear();
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const Row& row = *rows[i];
      const Slot slot = column.slots[plan.table_of_row[i]];
      if (slot == kNoSlot) {  // closed, or not open yet
        mask[i] = true;
        values.push_back(kAbsent);
      } else if (column.source < row.is_fresh.size() && row.is_fresh[column.source] != 0) {
        mask[i] = true;
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
  for (const auto& [number, columns] : plan.columns) {
    if (part_of(number) != part) {
      finish(part);
      part = part_of(number);
    }
    if (!writer) writer.emplace(session, ticks);
    column.gather(rows, plan, columns);
    // Patterns are as many as sources at most, and those are fewer than a block takes.
    if (!writer->add({number, Field::last}, column.mask, column.values)) ++left_out;
    index.seen(number, ticks.back().wall_ms);
  }
  finish(part);
  return blocks;
}

}  // namespace dynolog::history
