// Reads every joined block and adds up.
#include "history_contents.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sinks/history/column.h"
#include "sinks/history/keeper.h"

namespace dynolog::history {
namespace {

constexpr std::size_t kMetricsShown = 25;

struct Sum {
  double columns = 0;
  double values = 0;
  double plain = 0;
  double compressed = 0;  // by themselves: together they are somewhat less
  std::string bytes;      // of this block
};

class Adder {
 public:
  Adder(Store& store, const std::vector<StoredSeries>& series) : store_(store) {
    for (const StoredSeries& each : series) {
      metrics_[each.number] = each.key.substr(0, each.key.find('\n'));
    }
  }

  Status add(const StoredBlock& stored) {
    const auto data = store_.read(stored.id);
    if (!data) return std::unexpected(data.error());
    const auto plain = decompress(*data);
    if (!plain) return std::unexpected(plain.error());
    const auto block = BlockReader::open(*plain);
    if (!block) return std::unexpected(block.error());
    if (auto joined = gather(stored, *plain, block->session()); !joined) return joined;
    ++contents_.blocks;
    contents_.bytes += static_cast<double>(data->size());
    for (const Tick& tick : block->ticks()) ticks_.insert(tick.wall_ms);
    double columns = 0;
    for (const BlockReader::Column& column : block->columns()) {
      columns += static_cast<double>(column.bytes.size());
      if (auto added = add(*block, column); !added) return added;
    }
    Sum& head = by_form_["times, names and sizes"];
    head.plain += static_cast<double>(plain->size()) - columns;
    head.bytes = plain->substr(0, plain->size() - static_cast<std::size_t>(columns));
    for (auto* sums : {&by_form_, &by_metric_}) {
      for (auto& [name, sum] : *sums) {
        if (sum.bytes.empty()) continue;
        const auto alone = compress(sum.bytes);
        if (!alone) return std::unexpected(alone.error());
        sum.compressed += static_cast<double>(alone->size());
        sum.bytes.clear();
      }
    }
    return {};
  }

  [[nodiscard]] Result<Contents> finish() && {
    if (auto joined = join_gathered(); !joined) return std::unexpected(std::move(joined.error()));
    contents_.seconds = static_cast<double>(ticks_.size());
    contents_.breakdown = table("form", by_form_, by_form_.size());
    contents_.breakdown += table("metric that varies", by_metric_, kMetricsShown);
    return std::move(contents_);
  }

 private:
  using Sums = std::map<std::string, Sum>;

  Status add(const BlockReader& block, const BlockReader::Column& column) {
    if (auto read = block.read(column, values_); !read) return read;
    const auto absent =
        std::ranges::remove_if(values_, [](double value) { return std::isnan(value); });
    values_.erase(absent.begin(), absent.end());
    const bool varies = std::ranges::adjacent_find(values_, std::not_equal_to{}) != values_.end();
    const auto present = static_cast<double>(values_.size());
    contents_.values += present;
    add_to(by_form_[std::string(form_of(column.bytes))], column, present);
    if (varies) {
      contents_.varying += present;
      const auto metric = metrics_.find(column.key.series);
      add_to(by_metric_[metric == metrics_.end() ? "forgotten" : metric->second], column, present);
    }
    return {};
  }
  // What the keeper would join to one block. Blocks come part by part, in the order of time.
  Status gather(const StoredBlock& stored, const std::string& plain, std::uint64_t session) {
    const std::tuple window{stored.part, stretch_begin(stored.begin_ms, kJoinRawMs), session};
    if (window != std::exchange(window_, window)) {
      if (auto joined = join_gathered(); !joined) return joined;
    }
    gathered_.push_back(plain);
    return {};
  }
  Status join_gathered() {
    std::vector<BlockReader> readers;
    for (const std::string& plain : gathered_) {
      auto reader = BlockReader::open(plain);
      if (!reader) return std::unexpected(std::move(reader.error()));
      readers.push_back(std::move(*reader));
    }
    if (readers.empty()) return {};
    const auto joined = join(readers);
    if (!joined) return std::unexpected(joined.error());
    const auto data = compress(*joined);
    if (!data) return std::unexpected(data.error());
    contents_.bytes_anew += static_cast<double>(data->size());
    gathered_.clear();
    return {};
  }
  static void add_to(Sum& sum, const BlockReader::Column& column, double present) {
    ++sum.columns;
    sum.values += present;
    sum.plain += static_cast<double>(column.bytes.size());
    sum.bytes += column.bytes;
  }

  static std::string table(std::string_view title, const Sums& sums, std::size_t most) {
    std::vector<std::pair<std::string, Sum>> sorted(sums.begin(), sums.end());
    std::ranges::sort(sorted, std::greater{},
                      [](const auto& named) { return named.second.compressed; });
    std::string text = fmt::format("{:<32} {:>8} {:>9} {:>10} {:>10} {:>8}\n", title, "columns",
                                   "values", "plain", "compressed", "a value");
    for (std::size_t i = 0; i < std::min(most, sorted.size()); ++i) {
      const auto& [name, sum] = sorted[i];
      fmt::format_to(std::back_inserter(text), "{:<32} {:8} {:9} {:10} {:10} {:8.2f}\n", name,
                     sum.columns, sum.values, sum.plain, sum.compressed,
                     sum.values > 0 ? sum.compressed / sum.values : 0);
    }
    return text;
  }

  Store& store_;
  Contents contents_;
  std::unordered_map<SeriesNumber, std::string> metrics_;
  std::set<std::int64_t> ticks_;
  Sums by_form_;
  Sums by_metric_;
  std::vector<double> values_;
  std::tuple<Part, std::int64_t, std::uint64_t> window_;
  std::vector<std::string> gathered_;
};

}  // namespace

Result<Contents> contents_of(Store& store) {
  const auto series = store.series();
  if (!series) return std::unexpected(series.error());
  constexpr std::int64_t kEver = std::numeric_limits<std::int64_t>::max();
  const auto loose = store.loose(BlockKind::raw, kEver);
  if (!loose) return std::unexpected(loose.error());
  std::set<std::int64_t> short_ones;
  for (const StoredBlock& block : *loose) short_ones.insert(block.id);
  std::set<Part> parts;
  for (const StoredSeries& each : *series) parts.insert(part_of(each.number));
  Adder adder(store, *series);
  for (const Part part : parts) {
    const auto blocks = store.find(BlockKind::raw, part, 0, kEver);
    if (!blocks) return std::unexpected(blocks.error());
    for (const StoredBlock& block : *blocks) {
      if (short_ones.contains(block.id)) continue;
      if (auto added = adder.add(block); !added) return std::unexpected(added.error());
    }
  }
  return std::move(adder).finish();
}

}  // namespace dynolog::history
