// The tables, their statements, and the budget.
#include "sinks/history/store.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <optional>

#include "base/unique_fd.h"
#include "sinks/history/sqlite.h"

namespace dynolog::history {
namespace {

constexpr std::int64_t kApplication = 0x64796e68;  // "dynh"
constexpr std::int64_t kVersion = 2;
constexpr std::uint64_t kPage = 4096;
constexpr std::int64_t kMaxSequence = std::int64_t{1} << 40U;  // thousands of years of blocks
// A page of the table's tree for each block, besides its own.
constexpr std::uint64_t kPerBlock = 256;
// Of the log: it is written back when it has so many pages, and a write can add as many again.
constexpr std::uint64_t kMaxLog = 3U << 20U;

constexpr std::array kLogs{"-wal", "-shm", "-journal"};

constexpr const char* kTables = R"(
  CREATE TABLE IF NOT EXISTS series(
    number INTEGER PRIMARY KEY, key TEXT NOT NULL, gone_ms INTEGER NOT NULL DEFAULT 0);
  CREATE TABLE IF NOT EXISTS block(
    id INTEGER PRIMARY KEY, kind INTEGER NOT NULL, joined INTEGER NOT NULL, part INTEGER NOT NULL,
    begin_ms INTEGER NOT NULL, end_ms INTEGER NOT NULL, sequence INTEGER NOT NULL,
    bytes INTEGER NOT NULL, data BLOB NOT NULL);
  CREATE INDEX IF NOT EXISTS block_by_time ON block(kind, part, begin_ms, end_ms);
  CREATE INDEX IF NOT EXISTS block_by_sequence ON block(kind, sequence, bytes);
  CREATE INDEX IF NOT EXISTS block_loose ON block(kind, end_ms) WHERE joined = 0;
)";

struct Statements {
  Statement begin, commit, roll_back;
  Statement put_series, drop_series, put_block, drop_block, all_series;
  Statement find, loose, read, oldest, extent, full;
};

StoredBlock stored_block(const Statement& row) {
  return {.id = row.integer(0),
          .sequence = row.integer(1),
          .part = static_cast<Part>(row.integer(2)),
          .begin_ms = row.integer(3),
          .end_ms = row.integer(4)};
}

Result<std::vector<StoredBlock>> rows_of(Statement& statement) {
  std::vector<StoredBlock> blocks;
  for (;;) {
    const auto row = statement.step();
    if (!row) return std::unexpected(row.error());
    if (!*row) return blocks;
    blocks.push_back(stored_block(statement));
  }
}

std::uint64_t on_disk(std::uint64_t bytes) {
  return (bytes + kPage - 1) / kPage * kPage + kPerBlock;
}

class SqliteStore final : public Store {
 public:
  SqliteStore(Database database, const Place& place)
      : database_(std::move(database)), in_memory_(place.directory.empty()) {
    const std::uint64_t log = in_memory_ ? 0 : std::min(kMaxLog, place.bytes / 4);
    log_pages_ = std::clamp<std::uint64_t>(log / kPage / 2, 8, 256);
    const std::uint64_t usable = (place.bytes - log) / 20 * 19;
    budget_ = {usable / 5 * 3, usable / 5 * 2};
    pages_ = (place.bytes - log) / kPage;
  }

  Status begin() {
    if (auto ready = configure(); !ready) return ready;
    if (auto ready = check_version(); !ready) return ready;
    if (auto made = database_.execute(kTables); !made) return made;
    if (auto prepared = prepare(); !prepared) return prepared;
    auto last = database_.integer_of("SELECT max(sequence) FROM block");
    if (!last) return std::unexpected(std::move(last.error()));
    if (*last < 0 || *last > kMaxSequence) {
      return fail(ErrorKind::invalid, "its blocks have numbers that no history gives them");
    }
    next_sequence_ = *last + 1;
    for (const BlockKind kind : {BlockKind::raw, BlockKind::minutes}) {
      if (auto counted = count(kind); !counted) return counted;
    }
    // A budget that has become smaller.
    if (auto made = make_room(); !made) return made;
    if (auto freed = database_.execute("PRAGMA incremental_vacuum"); !freed) return freed;
    return database_.execute(fmt::format("PRAGMA max_page_count={}", pages_).c_str());
  }

  [[nodiscard]] Result<std::vector<StoredSeries>> series() override {
    std::vector<StoredSeries> all;
    for (;;) {
      const auto row = sql_.all_series.step();
      if (!row) return std::unexpected(row.error());
      if (!*row) return all;
      const std::int64_t number = sql_.all_series.integer(0);
      if (number < 0 || number >= std::int64_t{kNoNumber} - 1) {
        sql_.all_series.reset();
        return fail(ErrorKind::invalid, "its series have numbers that no history gives them");
      }
      all.push_back({.number = static_cast<SeriesNumber>(number),
                     .key = sql_.all_series.bytes(1),
                     .gone_ms = sql_.all_series.integer(2)});
    }
  }

  [[nodiscard]] Status write(const Change& change) override {
    auto written = in_transaction([&] { return put(change); });
    if (!written && written.error().kind == ErrorKind::exhausted) {
      const std::uint64_t needed = pages_of(change);
      if (free_pages() >= needed) return written;  // it is the disk: what is kept stays
      // The file's own limit, not the disk's: less has to be kept than was thought.
      if (auto made = keep_less(needed); !made) return made;
      written = in_transaction([&] { return put(change); });
    }
    if (!written) return written;
    return make_room();
  }

  void hurry() override {
    // What then is not on the disk yet is lost by a power cut only.
    static_cast<void>(database_.execute("PRAGMA synchronous=OFF; PRAGMA wal_autocheckpoint=0"));
  }

  [[nodiscard]] Result<std::vector<StoredBlock>> find(BlockKind kind, Part part,
                                                      std::int64_t begin_ms,
                                                      std::int64_t end_ms) override {
    sql_.find.bind(1, static_cast<std::int64_t>(kind))
        .bind(2, std::int64_t{part})
        .bind(3, end_ms)
        .bind(4, begin_ms);
    return rows_of(sql_.find);
  }

  [[nodiscard]] Result<std::vector<StoredBlock>> loose(BlockKind kind,
                                                       std::int64_t before_ms) override {
    sql_.loose.bind(1, static_cast<std::int64_t>(kind)).bind(2, before_ms);
    return rows_of(sql_.loose);
  }

  [[nodiscard]] Result<std::string> read(std::int64_t id) override {
    const auto row = sql_.read.bind(1, id).step();
    if (!row) return std::unexpected(row.error());
    if (!*row) return fail(ErrorKind::not_found, "the block has gone");
    std::string data = sql_.read.bytes(0);
    sql_.read.reset();
    return data;
  }

  [[nodiscard]] Result<Extent> extent(BlockKind kind) override {
    const auto row = sql_.extent.bind(1, static_cast<std::int64_t>(kind)).step();
    if (!row) return std::unexpected(row.error());
    Extent extent;
    if (*row) {
      extent = {.begin_ms = sql_.extent.integer(0),
                .end_ms = sql_.extent.integer(1),
                .blocks = static_cast<std::uint64_t>(sql_.extent.integer(2)),
                .bytes = static_cast<std::uint64_t>(sql_.extent.integer(3))};
      sql_.extent.reset();
    }
    return extent;
  }

 private:
  // Small caches, no mapping of the file: a daemon's memory is dear, and queries are few.
  Status configure() {
    if (auto done = database_.execute("PRAGMA locking_mode=EXCLUSIVE; PRAGMA mmap_size=0;"
                                      "PRAGMA cache_size=-128; PRAGMA temp_store=MEMORY;"
                                      "PRAGMA cell_size_check=ON; PRAGMA auto_vacuum=INCREMENTAL");
        !done) {
      return done;
    }
    if (in_memory_) return {};
    const auto mode = database_.text_of("PRAGMA journal_mode=WAL");
    if (!mode) return std::unexpected(mode.error());
    if (*mode != "wal") {
      return fail(ErrorKind::failed, "its file system does not let SQLite keep a write-ahead log");
    }
    return database_.execute(fmt::format("PRAGMA synchronous=FULL; PRAGMA wal_autocheckpoint={};"
                                         "PRAGMA journal_size_limit={}",
                                         log_pages_, log_pages_ * kPage)
                                 .c_str());
  }

  Status check_version() {
    const auto application = database_.integer_of("PRAGMA application_id");
    if (!application) return std::unexpected(application.error());
    const auto version = database_.integer_of("PRAGMA user_version");
    if (!version) return std::unexpected(version.error());
    const auto tables = database_.integer_of("SELECT count(*) FROM sqlite_schema");
    if (!tables) return std::unexpected(tables.error());
    if (*tables == 0) {
      return database_.execute(
          fmt::format("PRAGMA application_id={}; PRAGMA user_version={}", kApplication, kVersion)
              .c_str());
    }
    if (*application != kApplication) {
      return fail(ErrorKind::invalid, "it is no history of dynolog's");
    }
    if (*version == 1) return from_version_1();
    if (*version != kVersion) {
      return fail(ErrorKind::invalid, fmt::format("it is of version {}, and this daemon writes {}",
                                                  *version, kVersion));
    }
    return {};
  }

  // Which did not know since when a series is gone.
  Status from_version_1() {
    if (auto begun = database_.execute("BEGIN IMMEDIATE"); !begun) return begun;
    auto grow =
        database_.prepare("ALTER TABLE series ADD COLUMN gone_ms INTEGER NOT NULL DEFAULT 0");
    if (!grow) return std::unexpected(std::move(grow.error()));
    if (auto grown = grow->run(); !grown) return grown;
    return database_.execute(fmt::format("PRAGMA user_version={}; COMMIT", kVersion).c_str());
  }

  Status prepare() {
    struct Row {
      Statement Statements::* statement;
      const char* sql;
    };
    constexpr std::array kRows{
        Row{&Statements::begin, "BEGIN IMMEDIATE"},
        Row{&Statements::commit, "COMMIT"},
        Row{&Statements::roll_back, "ROLLBACK"},
        Row{&Statements::put_series, "INSERT OR REPLACE INTO series VALUES(?,?,?)"},
        Row{&Statements::drop_series, "DELETE FROM series WHERE number=?"},
        Row{&Statements::put_block,
            "INSERT INTO block(kind,joined,part,begin_ms,end_ms,sequence,bytes,data) "
            "VALUES(?,?,?,?,?,?,?,?)"},
        Row{&Statements::drop_block, "DELETE FROM block WHERE id=? RETURNING kind, bytes"},
        Row{&Statements::all_series, "SELECT number, key, gone_ms FROM series"},
        Row{&Statements::find,
            "SELECT id,sequence,part,begin_ms,end_ms FROM block "
            "WHERE kind=? AND part=? AND begin_ms<=? AND end_ms>=? ORDER BY sequence"},
        Row{&Statements::loose,
            "SELECT id,sequence,part,begin_ms,end_ms FROM block "
            "WHERE kind=? AND joined=0 AND end_ms<? ORDER BY sequence, part"},
        Row{&Statements::read, "SELECT data FROM block WHERE id=?"},
        Row{&Statements::oldest, "SELECT id FROM block WHERE kind=? ORDER BY sequence LIMIT 1"},
        Row{&Statements::extent,
            "SELECT min(begin_ms), max(end_ms), count(*), total(bytes) FROM block WHERE kind=?"},
        Row{&Statements::full, "SELECT bytes FROM block WHERE kind=?"},
    };
    for (const Row& row : kRows) {
      auto statement = database_.prepare(row.sql);
      if (!statement) return std::unexpected(std::move(statement.error()));
      sql_.*row.statement = std::move(*statement);
    }
    return {};
  }

  Status count(BlockKind kind) {
    std::uint64_t& used = used_[static_cast<std::size_t>(kind)];
    used = 0;
    sql_.full.bind(1, static_cast<std::int64_t>(kind));
    for (;;) {
      const auto row = sql_.full.step();
      if (!row) return std::unexpected(row.error());
      if (!*row) return {};
      used += on_disk(static_cast<std::uint64_t>(sql_.full.integer(0)));
    }
  }

  template <class Work>
  Status in_transaction(Work work) {
    const auto used = used_;
    if (auto begun = sql_.begin.run(); !begun) return begun;
    Status done = work();
    if (done) done = sql_.commit.run();
    if (!done) {
      used_ = used;
      static_cast<void>(sql_.roll_back.run());  // SQLite may have done so itself
    }
    return done;
  }

  Status put(const Change& change) {
    for (const StoredSeries& series : change.series) {
      auto put = sql_.put_series.bind(1, std::int64_t{series.number})
                     .bind(2, series.key)
                     .bind(3, series.gone_ms)
                     .run();
      if (!put) return put;
    }
    for (const SeriesNumber number : change.forgotten) {
      if (auto gone = sql_.drop_series.bind(1, std::int64_t{number}).run(); !gone) return gone;
    }
    for (const std::int64_t id : change.replaced) {
      if (auto gone = drop(id); !gone) return gone;
    }
    for (const NewBlock& block : change.blocks) {
      if (auto put = put_block(block); !put) return put;
    }
    return {};
  }

  Status put_block(const NewBlock& block) {
    const std::int64_t sequence = block.sequence > 0 ? block.sequence : next_sequence_++;
    auto put = sql_.put_block.bind(1, static_cast<std::int64_t>(block.kind))
                   .bind(2, std::int64_t{block.joined ? 1 : 0})
                   .bind(3, std::int64_t{block.part})
                   .bind(4, block.begin_ms)
                   .bind(5, block.end_ms)
                   .bind(6, sequence)
                   .bind(7, static_cast<std::int64_t>(block.data.size()))
                   .bind_blob(8, block.data)
                   .run();
    if (put) used_[static_cast<std::size_t>(block.kind)] += on_disk(block.data.size());
    return put;
  }

  Status drop(std::int64_t id) {
    const auto row = sql_.drop_block.bind(1, id).step();
    if (!row) return std::unexpected(row.error());
    if (!*row) return {};
    const auto kind = static_cast<std::size_t>(sql_.drop_block.integer(0));
    const std::uint64_t bytes = on_disk(static_cast<std::uint64_t>(sql_.drop_block.integer(1)));
    if (kind < used_.size()) used_[kind] -= std::min(used_[kind], bytes);
    return sql_.drop_block.run();
  }

  Status make_room() {
    if (used_[0] <= budget_[0] && used_[1] <= budget_[1]) return {};
    return in_transaction([this] {
      for (std::size_t kind = 0; kind < used_.size(); ++kind) {
        while (used_[kind] > budget_[kind]) {
          const auto row = sql_.oldest.bind(1, static_cast<std::int64_t>(kind)).step();
          if (!row) return Status(std::unexpected(row.error()));
          if (!*row) break;
          const std::int64_t id = sql_.oldest.integer(0);
          sql_.oldest.reset();
          if (auto gone = drop(id); !gone) return gone;
        }
      }
      return Status();
    });
  }

  // Gives up the oldest until the file has so many pages free. Where even that needs room that the
  // disk has not, all stays.
  Status keep_less(std::uint64_t needed) {
    const auto before = budget_;
    while (free_pages() < needed && used_[0] + used_[1] > 0) {
      for (std::uint64_t& bytes : budget_) bytes -= std::min(bytes, bytes / 16 + 1);
      if (auto made = make_room(); !made) {
        budget_ = before;
        return made;
      }
    }
    return {};
  }

  // Of the file, which the change takes: rather too many, so that a file that is full is not taken
  // for a disk that is.
  static std::uint64_t pages_of(const Change& change) {
    constexpr std::uint64_t kTrees = 16;
    std::uint64_t keys = 0;
    for (const StoredSeries& series : change.series) keys += series.key.size() + 16;
    std::uint64_t pages = kTrees + keys / (kPage / 2);
    for (const NewBlock& block : change.blocks) pages += block.data.size() / kPage + 2;
    return pages;
  }

  // That the file has or may still get.
  std::uint64_t free_pages() {
    const auto all = database_.integer_of("PRAGMA page_count");
    const auto free = database_.integer_of("PRAGMA freelist_count");
    if (!all || !free) return pages_;
    const auto used = static_cast<std::uint64_t>(*all - *free);
    return pages_ - std::min(used, pages_);
  }

  Database database_;
  bool in_memory_;
  std::uint64_t pages_ = 0;
  std::uint64_t log_pages_ = 0;            // after which the log is written back
  std::array<std::uint64_t, 2> budget_{};  // by kind
  std::array<std::uint64_t, 2> used_{};
  std::int64_t next_sequence_ = 1;
  Statements sql_;
};

bool is_own(const struct stat& info) {
  return S_ISREG(info.st_mode) && info.st_uid == ::geteuid() && info.st_nlink == 1;
}

std::unexpected<Error> not_own(const std::string& path) {
  return fail(ErrorKind::denied, path + " is not a file of the daemon's own: remove it");
}

// What SQLite opens beside the file, by its names and without looking: a FIFO would be waited for.
Status check_logs(const std::string& path) {
  for (const char* log : kLogs) {
    struct stat info{};
    if (::lstat((path + log).c_str(), &info) != 0) {
      if (errno == ENOENT) continue;
      return fail_errno(errno, path + log);
    }
    if (!is_own(info)) return not_own(path + log);
  }
  return {};
}

// SQLite opens the file by its name: it must be ours, and no link, before.
Result<std::string> own_file(const std::string& directory) {
  const std::string path = directory + "/" + kStoreFile;
  if (auto own = check_logs(path); !own) return std::unexpected(std::move(own.error()));
  const UniqueFd file(::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0640));
  if (!file.valid() && (errno == EISDIR || errno == ELOOP)) return not_own(path);
  if (!file.valid()) return fail_errno(errno, path);
  struct stat info{};
  if (::fstat(file.get(), &info) != 0) return fail_errno(errno, path);
  if (!is_own(info)) return not_own(path);
  if (::fchmod(file.get(), 0640) != 0) return fail_errno(errno, path);
  // SQLite follows no link anywhere in a path, and /var/lib may be one.
  const std::unique_ptr<char, decltype(&std::free)> real(::realpath(path.c_str(), nullptr),
                                                         std::free);
  if (!real) return fail_errno(errno, path);
  return std::string(real.get());
}

}  // namespace

Result<std::unique_ptr<Store>> Store::open(const Place& place) {
  auto path = place.directory.empty() ? Result<std::string>(":memory:") : own_file(place.directory);
  if (!path) return std::unexpected(std::move(path.error()));
  auto database = Database::open(*path);
  if (!database) return std::unexpected(std::move(database.error()));
  auto store = std::make_unique<SqliteStore>(std::move(*database), place);
  if (auto begun = store->begin(); !begun) return with_context(std::move(begun.error()), *path);
  return store;
}

Result<std::string> set_aside(const std::string& directory) {
  const std::string path = directory + "/" + kStoreFile;
  const std::string aside = path + ".unreadable";
  for (const char* log : kLogs) ::unlink((path + log).c_str());
  if (::rename(path.c_str(), aside.c_str()) != 0) return fail_errno(errno, path);
  return aside;
}

}  // namespace dynolog::history
