// Queries: some expressions over one stretch of time, each a metric, its form, and how its series
// are put together.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "metrics/catalogue.h"
#include "sinks/history/names.h"
#include "sinks/history/time_grid.h"

namespace dynolog::history {

enum class Value : std::uint8_t {
  natural,   // counters as rates, anything else as it is
  raw,       // counters as they are, too
  rate,      // per second
  increase,  // within a step
};
enum class Join : std::uint8_t { none, sum, mean, min, max, count };

struct Expression {
  std::string selector{};  // as parse_selector() takes it
  Value value = Value::natural;
  std::optional<Fold> fold{};     // within a step; default: mean, of raw counters the last
  Join join = Join::none;         // over series
  std::vector<std::string> by{};  // with a join: one result for each value of these labels
};

struct Question {
  std::vector<Expression> expressions{};
  // At most one of the two: a stretch before the end, or its begin. Neither: 10 minutes.
  std::optional<std::int64_t> last_ms{};
  std::optional<std::int64_t> begin_ms{};  // wall time, since the epoch
  std::optional<std::int64_t> end_ms{};    // default: now
  std::int64_t step_ms = 0;                // 0: one that gives some 200 points
  bool newest_only = false;                // one value: the newest within the last three minutes
  bool absent_ok = false;  // metrics without series, or not known, have a result without any
};

struct ResultSeries {
  Labels labels;
  std::vector<double> values;  // one for each step, NaN where absent
  // Of newest_only: the step that the value is of; none when there was none. One of a closed
  // series, or the rate of a slower source, is older than others.
  std::optional<std::int64_t> newest_ms{};
};
struct Outcome {
  std::string selector;
  std::string metric;  // our own id
  std::string unit;    // "bytes/s"; "": none
  std::string help;
  std::vector<ResultSeries> series;
};
struct Answer {
  std::int64_t begin_ms = 0;  // of newest_only: the newest of all
  std::int64_t step_ms = 0;
  std::vector<Outcome> results;
  std::vector<std::string> notes;  // sentences
};

struct QueryLimits {
  std::size_t expressions = 64;
  std::size_t steps = 11'000;
  std::size_t series = 20'000;   // that are read for one expression
  std::size_t cells = 600'000;   // series x steps of one expression
  std::size_t points = 200'000;  // of the whole answer
  std::size_t labels = 16;       // to group one expression by
};

// Where blocks come from. The history implements it.
class BlockSource {
 public:
  virtual ~BlockSource() = default;
  // Calls `take` with each block of the part that may hold something of [begin_ms, end_ms], in the
  // order in which they were recorded; those that are damaged are passed over.
  virtual Status raw(Part part, std::int64_t begin_ms, std::int64_t end_ms,
                     const std::function<Status(const BlockReader&)>& take) = 0;
  virtual Status minutes(Part part, std::int64_t begin_ms, std::int64_t end_ms,
                         const std::function<Status(const BlockReader&)>& take) = 0;
  // Since when there are values as they were read, and since and up to when there are minutes. 0:
  // none.
  [[nodiscard]] virtual std::int64_t raw_since_ms() = 0;
  [[nodiscard]] virtual std::int64_t minutes_since_ms() = 0;
  [[nodiscard]] virtual std::int64_t minutes_until_ms() = 0;
};

struct QueryWorld {
  Catalogue catalogue;
  const SeriesIndex& index;
  BlockSource& blocks;
  std::int64_t now_ms = 0;
  std::int64_t interval_ms = 1000;  // between readings
  QueryLimits limits{};
  std::function<bool()> is_over = nullptr;  // nobody waits for the answer any more; may be empty
};

// Errors: invalid, not_found and exhausted say what to ask instead.
[[nodiscard]] Result<Answer> answer(const Question& question, const QueryWorld& world);

// The grid that a question means.
[[nodiscard]] Result<Grid> grid_of(const Question& question, const QueryWorld& world);

}  // namespace dynolog::history
