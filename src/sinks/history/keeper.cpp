// Writing, joining, reading.
#include "sinks/history/keeper.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "sinks/history/file_system.h"

namespace dynolog::history {
namespace {

NewBlock new_block(BlockKind kind, bool joined, const PlainBlock& block, std::string data) {
  return {.kind = kind,
          .joined = joined,
          .part = block.part,
          .begin_ms = block.begin_ms,
          .end_ms = block.end_ms,
          .data = std::move(data)};
}

constexpr std::size_t kMaxKeptPlain = 4U << 20U;

// Blocks of a part that follow each other within one stretch of time.
bool belong_together(const StoredBlock& a, const StoredBlock& b, std::int64_t window_ms) {
  return a.part == b.part &&
         stretch_begin(a.begin_ms, window_ms) == stretch_begin(b.begin_ms, window_ms);
}

}  // namespace

std::int64_t stretch_begin(std::int64_t wall_ms, std::int64_t stretch_ms) {
  const std::int64_t rest = wall_ms % stretch_ms;
  return wall_ms - (rest < 0 ? rest + stretch_ms : rest);
}

Keeper::Keeper(KeeperWorld world) : world_(std::move(world)) {
  for (const CatalogueSection& section : world_.catalogue) {
    for (const MetricDescriptor& metric : section.metrics) by_id_.push_back(&metric);
  }
  std::ranges::sort(by_id_, {}, &MetricDescriptor::id);
  open();
}

// --- the store
// -----------------------------------------------------------------------------

void Keeper::open() {
  if (world_.directory.empty()) return open_memory(world_.memory_reason);
  if (std::string reason = unsuitable(world_.directory); !reason.empty()) {
    return open_memory(std::move(reason));
  }
  auto store = open_directory();
  if (store) return take_directory(std::move(*store));
  do_without(store.error());
}

// In memory for now: a disk that is full gets room, another daemon ends. For all else for good.
void Keeper::do_without(const Error& why) {
  may_come_ = why.kind == ErrorKind::exhausted || why.kind == ErrorKind::unavailable;
  open_memory(may_come_
                  ? fmt::format("{}; tried again every {} s", why.message, kWriteEveryMs / 1000)
                  : why.message);
}

void Keeper::try_directory() {
  auto store = open_directory();
  if (!store) return;
  take_directory(std::move(*store));
  if (!on_disk_) return;  // it was damaged, and could not be begun anew
  world_.log.info("the history is in {} from now on; what was kept in memory meanwhile is gone",
                  world_.directory);
}

void Keeper::take_directory(std::unique_ptr<Store> store) {
  store_ = std::move(store);
  on_disk_ = true;
  may_come_ = false;
  if (auto taken = take_over(); !taken) return begin_anew(taken.error());
  world_.report("ok", "");
}

// A store that cannot be read is set aside, and a new one begun.
Result<std::unique_ptr<Store>> Keeper::open_directory() {
  const Store::Place place{world_.directory, world_.bytes};
  auto store = Store::open(place);
  if (store || store.error().kind != ErrorKind::invalid) return store;
  const auto aside = set_aside(world_.directory);
  if (!aside) return std::unexpected(aside.error());
  world_.log.error("the history could not be read, and is begun anew: {}; what there was is now {}",
                   store.error().message, *aside);
  return Store::open(place);
}

void Keeper::open_memory(std::string reason) {
  on_disk_ = false;
  memory_reason_ = fmt::format("kept in memory only ({} MiB), and lost at the daemon's end: {}",
                               world_.memory_bytes >> 20U, reason);
  auto store = Store::open({"", world_.memory_bytes});
  if (!store) {
    // Only for want of memory; then nothing else goes on either.
    world_.report("degraded", "nothing is kept: " + store.error().message);
    return;
  }
  store_ = std::move(*store);
  static_cast<void>(take_over());
  world_.report("degraded", memory_reason_);
}

Status Keeper::take_over() {
  index_ = std::make_unique<SeriesIndex>(kMaxKnownSeries);
  raw_joined_ms_ = minutes_joined_ms_ = 0;
  roll_ups_.clear();
  unsaved_.clear();
  auto series = store_->series();
  if (!series) return std::unexpected(std::move(series.error()));
  const auto raw = store_->extent(BlockKind::raw);
  if (!raw) return std::unexpected(raw.error());
  for (StoredSeries& each : *series) {
    index_->restore(each.number, {.key = std::move(each.key),
                                  .last_seen_ms = each.gone_ms > 0 ? each.gone_ms : raw->end_ms,
                                  .is_gone = each.gone_ms > 0});
  }
  return {};
}

void Keeper::begin_anew(const Error& why) {
  store_.reset();
  const auto aside = set_aside(world_.directory);
  world_.log.error("the history is damaged, and is begun anew: {}{}", why.message,
                   aside ? "; what there was is now " + *aside : std::string());
  auto store = aside ? Store::open({world_.directory, world_.bytes})
                     : Result<std::unique_ptr<Store>>(std::unexpected(aside.error()));
  if (!store) return do_without(store.error());
  store_ = std::move(*store);
  if (auto taken = take_over(); !taken) return do_without(taken.error());
  world_.report("ok", "");
}

// What became of a write, for the status.
void Keeper::adopt(const Status& status) {
  if (status) {
    if (left_out_ > 0) {
      world_.report("degraded", fmt::format("{} series are not kept: there are over {}", left_out_,
                                            kMaxKnownSeries));
    } else {
      world_.report(on_disk_ ? "ok" : "degraded", on_disk_ ? "" : memory_reason_);
    }
    return;
  }
  if (status.error().kind == ErrorKind::invalid && on_disk_) return begin_anew(status.error());
  world_.report("degraded", fmt::format("nothing is written at present, and what is measured now "
                                        "will be missing: {}; tried again every {} s",
                                        status.error().message, kWriteEveryMs / 1000));
}

// --- writing
// -----------------------------------------------------------------------------

Status Keeper::write(std::span<const Row* const> rows) {
  if (may_come_) try_directory();
  if (rows.empty() || !store_) return {};
  Status done = write_blocks(rows);
  const std::int64_t now_ms = rows.back()->tick.wall_ms;
  const std::int64_t raw_begin = stretch_begin(now_ms, join_raw_ms());
  if (done && raw_begin != std::exchange(raw_joined_ms_, raw_begin)) {
    done = join_all(BlockKind::raw, join_raw_ms(), now_ms);
    if (done) done = forget_gone(now_ms);
  }
  if (done && stretch_begin(now_ms, kJoinMinutesMs) !=
                  std::exchange(minutes_joined_ms_, stretch_begin(now_ms, kJoinMinutesMs))) {
    done = join_all(BlockKind::minutes, kJoinMinutesMs, now_ms);
  }
  adopt(done);
  return done;
}

Status Keeper::write_blocks(std::span<const Row* const> rows) {
  Store::Change change;
  for (const PlainBlock& block : blocks_of(rows, world_.session, *index_, left_out_)) {
    auto data = compress(block.plain);
    if (!data) return std::unexpected(std::move(data.error()));
    change.blocks.push_back(new_block(BlockKind::raw, false, block, std::move(*data)));
  }
  for (const SeriesNumber number : index_->take_changed()) unsaved_.push_back(number);
  for (const SeriesNumber number : unsaved_) {
    const KnownSeries* known = index_->find(number);
    if (known == nullptr) continue;
    change.series.push_back(
        {.number = number, .key = known->key, .gone_ms = known->is_gone ? known->last_seen_ms : 0});
  }
  Status written = store_->write(change);
  if (written) unsaved_.clear();
  return written;
}

std::int64_t Keeper::join_raw_ms() const {
  return on_disk_ && world_.bytes >= kRoomyBytes ? kJoinRawMs : kJoinRawSoonerMs;
}

Status Keeper::join_all(BlockKind kind, std::int64_t window_ms, std::int64_t now_ms) {
  auto loose = store_->loose(kind, stretch_begin(now_ms, window_ms));
  if (!loose) return std::unexpected(std::move(loose.error()));
  std::ranges::stable_sort(*loose, {}, &StoredBlock::part);
  for (std::size_t begin = 0; begin < loose->size();) {
    std::size_t end = begin + 1;
    while (end < loose->size() && belong_together((*loose)[begin], (*loose)[end], window_ms)) ++end;
    if (auto done = join_group(kind, std::span(*loose).subspan(begin, end - begin)); !done) {
      return done;
    }
    begin = end;
  }
  return {};
}

// Those of one session make one block, or several when a clock was set back and they are many;
// damaged ones go.
Status Keeper::join_group(BlockKind kind, std::span<const StoredBlock> group) {
  for (std::size_t begin = 0; begin < group.size();) {
    std::vector<Plain> plains;  // readers look into them
    std::vector<BlockReader> readers;
    Store::Change change;
    std::size_t end = begin;
    std::size_t ticks = 0;
    for (; end < group.size(); ++end) {
      const auto plain = plain_of(group[end].id);
      auto reader =
          plain ? BlockReader::open(**plain) : Result<BlockReader>(std::unexpected(plain.error()));
      if (!reader && reader.error().kind != ErrorKind::invalid) {
        return std::unexpected(std::move(reader.error()));
      }
      if (reader && !readers.empty() &&
          (reader->session() != readers.front().session() ||
           ticks + reader->ticks().size() > kMaxTicks)) {
        break;
      }
      change.replaced.push_back(group[end].id);
      if (!reader) {
        say_damaged(reader.error());
        continue;
      }
      ticks += reader->ticks().size();
      plains.push_back(*plain);
      readers.push_back(std::move(*reader));
    }
    const auto joined_of = group.subspan(begin, end - begin);
    if (auto made = join_into(change, kind, joined_of, readers); !made) return made;
    if (auto written = store_->write(change); !written) return written;
    begin = end;
  }
  return {};
}

Status Keeper::join_into(Store::Change& change, BlockKind kind, std::span<const StoredBlock> of,
                         std::span<const BlockReader> readers) {
  if (readers.empty()) return {};
  const auto joined = join(readers);
  if (!joined) {
    say_damaged(joined.error());
    return {};
  }
  auto data = compress(*joined);
  if (!data) return std::unexpected(std::move(data.error()));
  change.blocks.push_back({.kind = kind,
                           .joined = true,
                           .part = of.front().part,
                           .begin_ms = of.front().begin_ms,
                           .end_ms = std::ranges::max(of, {}, &StoredBlock::end_ms).end_ms,
                           .sequence = of.front().sequence,
                           .data = std::move(*data)});
  if (kind != BlockKind::raw) return {};
  const auto reader = BlockReader::open(*joined);
  return reader ? roll_up(of.front().part, *reader, change) : Status();
}

// Of the thousands of series of a block each asks: no search through all of the catalogue.
const MetricDescriptor* Keeper::metric_of(std::string_view id) const {
  const auto found = std::ranges::lower_bound(by_id_, id, {}, &MetricDescriptor::id);
  return found != by_id_.end() && (*found)->id == id ? *found : nullptr;
}

Status Keeper::roll_up(Part part, const BlockReader& block, Store::Change& change) {
  const auto rolled = roll_ups_[part].take(block, [this](SeriesNumber number) {
    const KnownSeries* known = index_->find(number);
    return nature_of(known == nullptr ? nullptr : metric_of(known->metric()));
  });
  if (!rolled) {
    say_damaged(rolled.error());
    return {};
  }
  auto data = compress(*rolled);
  if (!data) return std::unexpected(std::move(data.error()));
  const auto minutes = BlockReader::open(*rolled);
  if (!minutes || minutes->ticks().empty()) return {};
  change.blocks.push_back({.kind = BlockKind::minutes,
                           .joined = false,
                           .part = part,
                           .begin_ms = minutes->ticks().front().wall_ms,
                           .end_ms = minutes->ticks().back().wall_ms,
                           .data = std::move(*data)});
  return {};
}

// Series whose last value is older than all that is kept, and those that are too many.
Status Keeper::forget_gone(std::int64_t now_ms) {
  index_->mark_gone(now_ms - 2 * kWriteEveryMs);
  std::int64_t oldest = std::numeric_limits<std::int64_t>::max();
  for (const BlockKind kind : {BlockKind::raw, BlockKind::minutes}) {
    const auto extent = store_->extent(kind);
    if (!extent) return std::unexpected(extent.error());
    if (extent->blocks > 0) oldest = std::min(oldest, extent->begin_ms);
  }
  if (oldest == std::numeric_limits<std::int64_t>::max()) return {};
  Store::Change change;
  change.forgotten = index_->forget(oldest, kMaxGoneSeries);
  return change.forgotten.empty() ? Status() : store_->write(change);
}

// --- reading
// -----------------------------------------------------------------------------

Result<Keeper::Plain> Keeper::plain_of(std::int64_t id) {
  auto data = store_->read(id);
  if (!data) return std::unexpected(std::move(data.error()));
  auto plain = decompress(*data);
  if (!plain) return std::unexpected(std::move(plain.error()));
  return std::make_shared<const std::string>(std::move(*plain));
}

Result<Keeper::Plain> Keeper::kept_plain_of(std::int64_t id) {
  if (const auto found = plains_.find(id); found != plains_.end()) return found->second;
  auto plain = plain_of(id);
  if (plain && plain_bytes_ + (*plain)->size() <= kMaxKeptPlain) {
    plain_bytes_ += (*plain)->size();
    plains_.emplace(id, *plain);
  }
  return plain;
}

void Keeper::begin_question(std::span<const Row* const> rows) {
  pending_ = rows;
  std::size_t left_out = 0;
  pending_blocks_ = blocks_of(rows, world_.session, *index_, left_out);
}

void Keeper::end_question() {
  pending_ = {};
  pending_blocks_.clear();
  plains_.clear();
  plain_bytes_ = 0;
}

void Keeper::say_damaged(const Error& error) {
  if (std::exchange(said_damaged_, true)) return;
  world_.log.warning("the history has damaged blocks, whose values are lost: {}", error.message);
}

Status Keeper::stored(BlockKind kind, Part part, std::int64_t begin_ms, std::int64_t end_ms,
                      const std::function<Status(const BlockReader&)>& take) {
  if (!store_) return {};
  const auto blocks = store_->find(kind, part, begin_ms, end_ms);
  if (!blocks) return std::unexpected(blocks.error());
  for (const StoredBlock& block : *blocks) {
    const auto plain = kept_plain_of(block.id);
    if (!plain && plain.error().kind != ErrorKind::invalid) {
      return std::unexpected(plain.error());
    }
    const auto reader =
        plain ? BlockReader::open(**plain) : Result<BlockReader>(std::unexpected(plain.error()));
    if (!reader) {
      say_damaged(reader.error());
      continue;
    }
    if (auto taken = take(*reader); !taken) {
      if (taken.error().kind != ErrorKind::invalid) return taken;
      say_damaged(taken.error());
    }
  }
  return {};
}

Status Keeper::raw(Part part, std::int64_t begin_ms, std::int64_t end_ms,
                   const std::function<Status(const BlockReader&)>& take) {
  if (auto done = stored(BlockKind::raw, part, begin_ms, end_ms, take); !done) return done;
  for (const PlainBlock& block : pending_blocks_) {
    if (block.part != part || block.begin_ms > end_ms || block.end_ms < begin_ms) continue;
    const auto reader = BlockReader::open(block.plain);
    if (!reader) return std::unexpected(reader.error());
    if (auto taken = take(*reader); !taken) return taken;
  }
  return {};
}

Status Keeper::minutes(Part part, std::int64_t begin_ms, std::int64_t end_ms,
                       const std::function<Status(const BlockReader&)>& take) {
  return stored(BlockKind::minutes, part, begin_ms, end_ms, take);
}

std::int64_t Keeper::raw_since_ms() {
  const auto extent = store_ ? store_->extent(BlockKind::raw) : Result<Store::Extent>();
  if (extent && extent->blocks > 0) return extent->begin_ms;
  return pending_.empty() ? 0 : pending_.front()->tick.wall_ms;
}

std::int64_t Keeper::minutes_since_ms() {
  const auto extent = store_ ? store_->extent(BlockKind::minutes) : Result<Store::Extent>();
  return extent && extent->blocks > 0 ? extent->begin_ms : 0;
}

std::int64_t Keeper::minutes_until_ms() {
  const auto extent = store_ ? store_->extent(BlockKind::minutes) : Result<Store::Extent>();
  return extent && extent->blocks > 0 ? extent->end_ms + kMinuteMs : 0;
}

}  // namespace dynolog::history
