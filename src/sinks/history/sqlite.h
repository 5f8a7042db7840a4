// SQLite behind a few calls: statements that are finalized, errors as values.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/error.h"

struct sqlite3;
struct sqlite3_stmt;

namespace dynolog::history {

class Database;

// Prepared once, run often. Values are bound from 1 on, columns read from 0 on.
class Statement {
 public:
  Statement() = default;

  Statement& bind(int at, std::int64_t value);
  Statement& bind(int at, std::string_view text);
  Statement& bind_blob(int at, std::string_view bytes);  // has to stay until run() or reset()
  // True: a row is there. At the end, or after an error, it is ready for its next run.
  [[nodiscard]] Result<bool> step();
  [[nodiscard]] Status run();  // for what gives no rows
  void reset();
  [[nodiscard]] std::int64_t integer(int column) const;
  [[nodiscard]] std::string bytes(int column) const;

 private:
  friend class Database;
  Statement(sqlite3* database, sqlite3_stmt* statement);
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  sqlite3* database_ = nullptr;
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

class Database {
 public:
  // `path` of a file that exists and is no link, or ":memory:".
  [[nodiscard]] static Result<Database> open(const std::string& path);

  [[nodiscard]] Result<Statement> prepare(const char* sql);
  [[nodiscard]] Status execute(const char* sql);
  [[nodiscard]] Result<std::string> text_of(const char* sql);  // the first row's first column
  [[nodiscard]] Result<std::int64_t> integer_of(const char* sql);
  [[nodiscard]] std::int64_t last_id() const;

 private:
  struct Close {
    void operator()(sqlite3* database) const;
  };
  std::unique_ptr<sqlite3, Close> database_;
};

}  // namespace dynolog::history
