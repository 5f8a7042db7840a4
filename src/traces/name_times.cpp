// Names are told apart by a hash of all their bytes; only the beginning of each is kept.
#include "traces/name_times.h"

#include <algorithm>
#include <functional>

#include "base/random.h"
#include "base/text.h"

namespace dynolog {
namespace {

// One byte more than is told, so that a cut shows.
constexpr std::size_t kKept = kMaxSummaryName + 1;
constexpr std::size_t kFirstBuckets = 512;

}  // namespace

NameTimes::NameTimes() : index_by_hash_(kFirstBuckets, Scatter{random_u64() | 1U}), entries_(1) {}

NameTimes::Index NameTimes::index_of(std::string_view name) {
  const std::uint64_t hash = std::hash<std::string_view>{}(name);
  if (const auto found = index_by_hash_.find(hash); found != index_by_hash_.end()) {
    return found->second;
  }
  if (entries_.size() > kMaxNames) return kBeyond;
  const auto index = static_cast<Index>(entries_.size());
  entries_.push_back({.name = std::string(name.substr(0, kKept)), .ns = 0, .count = 0});
  index_by_hash_.emplace(hash, index);
  return index;
}

void NameTimes::add_time(Index index, std::int64_t ns) {
  std::int64_t& sum = entries_[index].ns;
  if (__builtin_add_overflow(sum, ns, &sum)) sum = INT64_MAX;
}

std::vector<NameTime> NameTimes::top(std::size_t count) const {
  std::vector<const Entry*> order;
  for (auto entry = entries_.begin() + 1; entry != entries_.end(); ++entry) {
    order.push_back(&*entry);
  }
  const std::size_t told = std::min(count, order.size());
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(told), order.end(),
                    [](const Entry* a, const Entry* b) {
                      return a->ns != b->ns ? a->ns > b->ns : a->name < b->name;
                    });
  std::vector<NameTime> times;
  for (std::size_t i = 0; i < told; ++i) {
    times.push_back({.name = clean_text(order[i]->name, kMaxSummaryName),
                     .self_s = static_cast<double>(order[i]->ns) / 1e9,
                     .count = order[i]->count});
  }
  return times;
}

}  // namespace dynolog
