// For the history's tests: a disk that is full, as SQLite's own access to files tells of it.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <map>
#include <memory>

namespace dynolog::history {

// While one exists, files that are opened by SQLite are on a disk that can be filled. One at a
// time.
class DiskOfSqlite {
 public:
  enum class Room : std::uint8_t {
    plenty,
    no_more,  // nothing grows, and what is there can be overwritten
    none,     // nor that, as where each write takes new blocks
  };

  DiskOfSqlite() : mine_(*real()) {
    mine_.zName = "a-disk-that-fills";
    mine_.xOpen = open;
    ::sqlite3_vfs_register(&mine_, 1);
    room() = Room::plenty;
  }
  DiskOfSqlite(const DiskOfSqlite&) = delete;
  DiskOfSqlite& operator=(const DiskOfSqlite&) = delete;
  ~DiskOfSqlite() {
    room() = Room::plenty;
    ::sqlite3_vfs_unregister(&mine_);
  }

  void set(Room now) { room() = now; }

 private:
  // SQLite calls plain functions: what they need is theirs.
  static sqlite3_vfs* real() {
    static sqlite3_vfs* const kReal = ::sqlite3_vfs_find(nullptr);
    return kReal;
  }
  static Room& room() {
    static Room now = Room::plenty;
    return now;
  }
  // The system's calls by those that stand in for them, which outlive each file.
  struct Calls {
    sqlite3_io_methods ours{};
    const sqlite3_io_methods* systems = nullptr;
  };
  static std::map<const sqlite3_io_methods*, std::unique_ptr<Calls>>& calls() {
    static std::map<const sqlite3_io_methods*, std::unique_ptr<Calls>> all;
    return all;
  }

  static int open(sqlite3_vfs*, const char* name, sqlite3_file* file, int flags, int* given) {
    const int code = real()->xOpen(real(), name, file, flags, given);
    if (code != SQLITE_OK || file->pMethods == nullptr) return code;
    auto& made = calls()[file->pMethods];
    if (!made) {
      made = std::make_unique<Calls>(Calls{*file->pMethods, file->pMethods});
      made->ours.xWrite = write;
    }
    file->pMethods = &made->ours;
    return code;
  }

  static int write(sqlite3_file* file, const void* bytes, int amount, sqlite3_int64 at) {
    sqlite3_int64 size = 0;
    if (room() == Room::no_more && file->pMethods->xFileSize(file, &size) != SQLITE_OK) {
      return SQLITE_IOERR;
    }
    if (room() == Room::none || (room() == Room::no_more && at + amount > size)) return SQLITE_FULL;
    for (const auto& [systems, made] : calls()) {
      if (file->pMethods == &made->ours) return systems->xWrite(file, bytes, amount, at);
    }
    return SQLITE_IOERR;
  }

  sqlite3_vfs mine_;
};

}  // namespace dynolog::history
