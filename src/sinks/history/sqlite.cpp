// The calls that the store makes of SQLite.
#include "sinks/history/sqlite.h"

#include <sqlite3.h>

#include <utility>

#include "base/text.h"

namespace dynolog::history {
namespace {

std::unexpected<Error> failure(sqlite3* database, int code) {
  ErrorKind kind = ErrorKind::failed;
  switch (code & 0xff) {
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_FORMAT:
    case SQLITE_SCHEMA:
      kind = ErrorKind::invalid;
      break;
    case SQLITE_FULL:
    case SQLITE_NOMEM:
      kind = ErrorKind::exhausted;
      break;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return fail(ErrorKind::unavailable,
                  "another process has the history's file open: several daemons on one machine "
                  "each need a --state_dir of their own");
    default:
      break;
  }
  // It may quote what a damaged file holds.
  std::string text =
      clean_text(database == nullptr ? sqlite3_errstr(code) : sqlite3_errmsg(database), 300);
  const int error_number =
      (code & 0xff) == SQLITE_IOERR && database != nullptr ? sqlite3_system_errno(database) : 0;
  if (error_number != 0) return fail_errno(error_number, text);
  return fail(kind, text);
}

}  // namespace

Statement::Statement(sqlite3* database, sqlite3_stmt* statement)
    : database_(database), statement_(statement) {}

void Statement::Finalize::operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }

// Binding fails only for an index that the statement has not, or for text over a gigabyte.
Statement& Statement::bind(int at, std::int64_t value) {
  sqlite3_bind_int64(statement_.get(), at, value);
  return *this;
}
Statement& Statement::bind(int at, std::string_view text) {
  sqlite3_bind_text(statement_.get(), at, text.data(), static_cast<int>(text.size()),
                    SQLITE_TRANSIENT);
  return *this;
}
Statement& Statement::bind_blob(int at, std::string_view bytes) {
  sqlite3_bind_blob(statement_.get(), at, bytes.data(), static_cast<int>(bytes.size()),
                    SQLITE_STATIC);
  return *this;
}

Result<bool> Statement::step() {
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) {
    sqlite3_reset(statement_.get());
    return false;
  }
  auto error = failure(database_, code);
  sqlite3_reset(statement_.get());
  return error;
}

Status Statement::run() {
  const auto row = step();
  if (!row) return std::unexpected(row.error());
  if (*row) reset();
  return {};
}

void Statement::reset() { sqlite3_reset(statement_.get()); }

std::int64_t Statement::integer(int column) const {
  return sqlite3_column_int64(statement_.get(), column);
}

std::string Statement::bytes(int column) const {
  const auto* data = static_cast<const char*>(sqlite3_column_blob(statement_.get(), column));
  const int size = sqlite3_column_bytes(statement_.get(), column);
  return data == nullptr ? std::string() : std::string(data, static_cast<std::size_t>(size));
}

void Database::Close::operator()(sqlite3* database) const { sqlite3_close_v2(database); }

Result<Database> Database::open(const std::string& path) {
  sqlite3* raw = nullptr;
  const int code = sqlite3_open_v2(
      path.c_str(), &raw,
      SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW,
      nullptr);
  Database database;
  database.database_.reset(raw);
  if (code != SQLITE_OK) return failure(raw, code);
  sqlite3_extended_result_codes(raw, 0);
  // Closing does not wait for the disk: the next daemon takes the log over.
  sqlite3_db_config(raw, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  // What a stranger may have put into the file cannot make SQL run.
  sqlite3_db_config(raw, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(raw, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(raw, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  return database;
}

Result<Statement> Database::prepare(const char* sql) {
  sqlite3_stmt* statement = nullptr;
  const int code =
      sqlite3_prepare_v3(database_.get(), sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
  if (code == SQLITE_ERROR) {  // a table or column is missing: no store of ours
    return fail(ErrorKind::invalid, clean_text(sqlite3_errmsg(database_.get()), 300));
  }
  if (code != SQLITE_OK) return failure(database_.get(), code);
  return Statement(database_.get(), statement);
}

Status Database::execute(const char* sql) {
  const int code = sqlite3_exec(database_.get(), sql, nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) return failure(database_.get(), code);
  return {};
}

Result<std::string> Database::text_of(const char* sql) {
  auto statement = prepare(sql);
  if (!statement) return std::unexpected(std::move(statement.error()));
  const auto row = statement->step();
  if (!row) return std::unexpected(row.error());
  return *row ? statement->bytes(0) : std::string();
}

Result<std::int64_t> Database::integer_of(const char* sql) {
  auto statement = prepare(sql);
  if (!statement) return std::unexpected(std::move(statement.error()));
  const auto row = statement->step();
  if (!row) return std::unexpected(row.error());
  return *row ? statement->integer(0) : 0;
}

std::int64_t Database::last_id() const { return sqlite3_last_insert_rowid(database_.get()); }

}  // namespace dynolog::history
