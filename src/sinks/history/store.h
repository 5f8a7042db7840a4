// Where blocks are kept: an SQLite file in a directory of the daemon's own, or memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "sinks/history/row.h"

namespace dynolog::history {

enum class BlockKind : std::uint8_t { raw, minutes };

struct NewBlock {
  BlockKind kind = BlockKind::raw;
  bool joined = false;  // of several blocks as they were written
  Part part = 0;
  std::int64_t begin_ms = 0;
  std::int64_t end_ms = 0;
  std::int64_t sequence = 0;  // orders blocks as they were recorded; 0: after all others
  std::string data;           // compressed
};

struct StoredBlock {
  std::int64_t id = 0;
  std::int64_t sequence = 0;
  Part part = 0;
  std::int64_t begin_ms = 0;
  std::int64_t end_ms = 0;
};

struct StoredSeries {
  SeriesNumber number = 0;
  std::string key;
  std::int64_t gone_ms = 0;  // when it was last seen; 0: it was not gone yet
};

// One thread at a time. Errors are of kind invalid when the file is corrupt (then it can only be
// set aside), exhausted when there is no room on the disk, failed otherwise.
class Store {
 public:
  struct Place {
    std::string directory;    // "": memory. Belongs to the daemon alone
    std::uint64_t bytes = 0;  // on disk, all files together; in memory, of the blocks
  };
  // What is there is taken over; one that is corrupt, or of a newer version, is an error of kind
  // invalid. unavailable: the directory's file system cannot do what is needed.
  [[nodiscard]] static Result<std::unique_ptr<Store>> open(const Place& place);
  virtual ~Store() = default;

  [[nodiscard]] virtual Result<std::vector<StoredSeries>> series() = 0;

  struct Change {
    std::vector<StoredSeries> series;  // new, or changed
    std::vector<SeriesNumber> forgotten;
    std::vector<NewBlock> blocks;
    std::vector<std::int64_t> replaced;  // blocks, by id
  };
  // All of it or nothing. Then the oldest blocks are removed until the rest is within the budget:
  // three fifths of it are for values as read, two fifths for minutes.
  [[nodiscard]] virtual Status write(const Change& change) = 0;
  // From now on nothing waits for the disk: for the end.
  virtual void hurry() = 0;

  // Blocks of a kind that overlap [begin_ms, end_ms], as they were recorded. `part`: of this one.
  [[nodiscard]] virtual Result<std::vector<StoredBlock>> find(BlockKind kind, Part part,
                                                              std::int64_t begin_ms,
                                                              std::int64_t end_ms) = 0;
  // Those that were not joined yet and end before, of every part.
  [[nodiscard]] virtual Result<std::vector<StoredBlock>> loose(BlockKind kind,
                                                               std::int64_t before_ms) = 0;
  [[nodiscard]] virtual Result<std::string> read(std::int64_t id) = 0;  // compressed

  struct Extent {
    std::int64_t begin_ms = 0;
    std::int64_t end_ms = 0;
    std::uint64_t blocks = 0;
    std::uint64_t bytes = 0;  // compressed
  };
  [[nodiscard]] virtual Result<Extent> extent(BlockKind kind) = 0;
};

inline constexpr const char* kStoreFile = "history.db";

// Renames what is there, so that a new store can be begun. One such is kept; an older one goes.
// Gives its name.
[[nodiscard]] Result<std::string> set_aside(const std::string& directory);

}  // namespace dynolog::history
