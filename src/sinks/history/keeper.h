// What the history's thread works on: blocks into the store, joined when their time is over, and
// out of it for queries.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/log.h"
#include "sinks/history/names.h"
#include "sinks/history/query.h"
#include "sinks/history/roll_up.h"
#include "sinks/history/row.h"
#include "sinks/history/series_index.h"
#include "sinks/history/store.h"

namespace dynolog::history {

inline constexpr std::int64_t kWriteEveryMs = 30'000;
// Readings are joined to long blocks, which compress better, where there is room for as many short
// ones meanwhile; else to shorter ones.
inline constexpr std::int64_t kJoinRawMs = 900'000;
inline constexpr std::int64_t kJoinRawSoonerMs = 300'000;
inline constexpr std::uint64_t kRoomyBytes = 64U << 20U;
inline constexpr std::int64_t kJoinMinutesMs = 3'600'000;
inline constexpr std::size_t kMaxKnownSeries = 200'000;
// Of series that are gone, nearly all of them of processes that ended: some 200 bytes of memory
// each, and more of them would cost more than all else that the daemon holds.
inline constexpr std::size_t kMaxGoneSeries = 6'000;

struct KeeperWorld {
  Log& log;
  Catalogue catalogue;
  std::string directory;  // "": memory
  std::string memory_reason;
  std::uint64_t bytes = 0;
  std::uint64_t memory_bytes = 0;
  std::uint64_t session = 0;
  std::function<void(const std::string& state, const std::string& reason)> report;
};

// One thread at a time.
class Keeper final : public BlockSource {
 public:
  explicit Keeper(KeeperWorld world);

  // Rows of one stretch of kWriteEveryMs. On an error they are not stored, and it is reported.
  Status write(std::span<const Row* const> rows);
  void hurry() { store_->hurry(); }

  // For one question: rows that are not written yet, which it sees too. What is read for it is
  // kept until its end, since several expressions read the same blocks.
  void begin_question(std::span<const Row* const> rows);
  void end_question();
  [[nodiscard]] const SeriesIndex& index() const { return *index_; }
  [[nodiscard]] bool on_disk() const { return on_disk_; }
  [[nodiscard]] Store& store() { return *store_; }

  Status raw(Part part, std::int64_t begin_ms, std::int64_t end_ms,
             const std::function<Status(const BlockReader&)>& take) override;
  Status minutes(Part part, std::int64_t begin_ms, std::int64_t end_ms,
                 const std::function<Status(const BlockReader&)>& take) override;
  [[nodiscard]] std::int64_t raw_since_ms() override;
  [[nodiscard]] std::int64_t minutes_since_ms() override;
  [[nodiscard]] std::int64_t minutes_until_ms() override;

 private:
  void open();
  void try_directory();
  void take_directory(std::unique_ptr<Store> store);
  [[nodiscard]] Result<std::unique_ptr<Store>> open_directory();
  void do_without(const Error& why);
  void open_memory(std::string reason);
  Status take_over();
  void adopt(const Status& status);
  void begin_anew(const Error& why);

  Status write_blocks(std::span<const Row* const> rows);
  Status join_all(BlockKind kind, std::int64_t window_ms, std::int64_t now_ms);
  Status join_group(BlockKind kind, std::span<const StoredBlock> group);
  Status join_into(Store::Change& change, BlockKind kind, std::span<const StoredBlock> of,
                   std::span<const BlockReader> readers);
  Status roll_up(Part part, const BlockReader& block, Store::Change& change);
  [[nodiscard]] std::int64_t join_raw_ms() const;
  Status forget_gone(std::int64_t now_ms);
  Status stored(BlockKind kind, Part part, std::int64_t begin_ms, std::int64_t end_ms,
                const std::function<Status(const BlockReader&)>& take);
  using Plain = std::shared_ptr<const std::string>;
  [[nodiscard]] Result<Plain> plain_of(std::int64_t id);
  [[nodiscard]] Result<Plain> kept_plain_of(std::int64_t id);
  void say_damaged(const Error& error);
  [[nodiscard]] const MetricDescriptor* metric_of(std::string_view id) const;

  KeeperWorld world_;
  std::unique_ptr<SeriesIndex> index_;
  std::unique_ptr<Store> store_;
  bool on_disk_ = false;
  bool may_come_ = false;  // the directory, which could not be used yet
  std::string memory_reason_;
  std::map<Part, RollUp> roll_ups_;
  std::vector<SeriesNumber> unsaved_;
  std::span<const Row* const> pending_;
  std::vector<PlainBlock> pending_blocks_;
  std::map<std::int64_t, Plain> plains_;  // by the block's id
  std::size_t plain_bytes_ = 0;
  std::size_t left_out_ = 0;
  bool said_damaged_ = false;
  std::vector<const MetricDescriptor*> by_id_;  // the catalogue's metrics, sorted
  std::int64_t raw_joined_ms_ = 0;              // the begin of the stretch that is not joined yet
  std::int64_t minutes_joined_ms_ = 0;
};

[[nodiscard]] std::int64_t stretch_begin(std::int64_t wall_ms, std::int64_t stretch_ms);

}  // namespace dynolog::history
