// The traces that nobody came to fetch, in the daemon's own keeping: on disk, over restarts and
// reboots, with a quota for each tenant and an age limit. On the loop's thread only; it reads and
// writes a piece at a time.
//
// <directory>/<session>/<pid>.*       kept_file.h
// <directory>/<session>/session.json  what the daemon knows of the session: the text of others
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/ids.h"
#include "base/log.h"
#include "base/unique_fd.h"
#include "daemon/kept_file.h"

namespace dynolog {

class TraceStore {
 public:
  struct Limits {
    std::uint64_t bytes = 0;         // of all tenants
    std::uint64_t tenant_bytes = 0;  // of each
    std::size_t tenant_traces = 1024;
    Nanoseconds age{};
  };

  // `directory` is made where it is missing; errors: it cannot be, is another's, or another daemon
  // uses it. What is not whole is named in the log and removed.
  [[nodiscard]] static Result<std::unique_ptr<TraceStore>> open(const std::string& directory,
                                                                Limits limits, Log& log);

  // A trace on its way in. Destroyed before keep(), it leaves nothing. Not to outlive the store.
  class Intake {
   public:
    Intake(TraceStore& store, SessionId session, Tenant owner, UniqueFd directory,
           KeptFileWriter writer);
    ~Intake();
    Intake(const Intake&) = delete;
    Intake& operator=(const Intake&) = delete;
    // Errors (exhausted) are sentences on the quota or the disk. The same tenant's oldest traces of
    // other sessions give way, another's never.
    [[nodiscard]] Status append(const FileChunk& chunk);
    // After the last piece.
    [[nodiscard]] Status keep(std::string side_car, WallTime now);

   private:
    [[nodiscard]] Status check_room(const FileChunk& chunk);

    TraceStore& store_;
    SessionId session_;
    Tenant owner_;
    UniqueFd directory_;
    std::optional<KeptFileWriter> writer_;
  };
  [[nodiscard]] Result<std::unique_ptr<Intake>> take_in(const SessionId& session, Pid pid,
                                                        const Tenant& owner, bool snapshot);

  [[nodiscard]] bool holds(const SessionId& session, Pid pid) const;
  // As FilesWorker::read_chunk does.
  [[nodiscard]] Result<FileChunk> read(const SessionId& session, Pid pid,
                                       std::uint64_t offset) const;
  // "" when it has none, or is not held.
  [[nodiscard]] std::string side_car(const SessionId& session, Pid pid) const;

  // Give the freed bytes; 0 when not held.
  std::uint64_t remove(const SessionId& session, Pid pid);
  std::uint64_t remove(const SessionId& session);
  void remove_older(WallTime now);
  [[nodiscard]] std::optional<WallTime> next_removal() const;

  [[nodiscard]] std::uint64_t bytes_of(const SessionId& session) const;
  [[nodiscard]] std::uint64_t bytes_of(const Tenant& tenant) const;
  // Of what it holds of the session; nullopt when that is nothing.
  [[nodiscard]] std::optional<WallTime> kept_until(const SessionId& session) const;
  [[nodiscard]] const Limits& limits() const { return limits_; }
  void set_age(Nanoseconds age) { limits_.age = age; }  // remove_older() comes after it

  // Beside the session's traces; nothing where there are none.
  void write_session(const SessionId& session, std::string_view text);
  // What was written so; "" where there is nothing that can be read, which is in the log.
  [[nodiscard]] std::string session_text(const SessionId& session) const;
  // Those that have traces here.
  [[nodiscard]] std::vector<SessionId> sessions() const;

 private:
  struct Kept {
    std::map<Pid, KeptFacts> traces;  // without the side-cars: those stay on disk
    std::size_t intakes = 0;          // under way
  };
  struct Usage {
    std::uint64_t bytes = 0;
    std::size_t traces = 0;  // those on their way in count too
  };
  using Sessions = std::map<SessionId, Kept>;

  TraceStore(UniqueFd directory, UniqueFd lock, Limits limits, Log& log)
      : directory_(std::move(directory)), lock_(std::move(lock)), limits_(limits), log_(log) {}
  void read_back();
  void read_back_session(const SessionId& session);
  [[nodiscard]] Result<UniqueFd> open_session(const SessionId& session) const;
  [[nodiscard]] const KeptFacts* find(const SessionId& session, Pid pid) const;
  // The same tenant's oldest traces of other sessions give way.
  [[nodiscard]] Status make_room(const SessionId& session, const Tenant& owner, std::uint64_t bytes,
                                 std::size_t traces);
  [[nodiscard]] bool remove_oldest(const SessionId& but, const Tenant& owner);
  void drop_if_empty(const SessionId& session);
  void give_back(const Tenant& owner, std::uint64_t bytes);
  [[nodiscard]] Usage usage_of(const Tenant& tenant) const;
  [[nodiscard]] Usage usage() const;

  UniqueFd directory_;
  UniqueFd lock_;
  Limits limits_;
  Log& log_;
  Sessions sessions_;
  std::map<Tenant, Usage> usage_;
};

}  // namespace dynolog
