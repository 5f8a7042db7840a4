// Brings a session's files to dyno's side: one after the other, piece by piece, on a connection of
// its own. It never waits: who owns it waits for its descriptor and its time, among other things.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/client.h"
#include "cli/fetched.h"
#include "cli/piece_reader.h"
#include "cli/received_file.h"

namespace dynolog {

class TraceFetcher {
 public:
  struct Place {
    std::int64_t pid = 0;
    std::string directory;
    std::string name;
    bool gzip = false;
  };

  // `interrupt_fd` ends the making of a connection; the owner sees to the rest.
  TraceFetcher(const World& world, const GlobalOptions& options, std::string session,
               int interrupt_fd);

  // At most one file for each pid, whatever becomes of it: see knows().
  [[nodiscard]] bool knows(std::int64_t pid) const;
  void want(Place place);
  // Whether the daemon has the file at hand just now; after its restart it looks anew first. Of a
  // file that nobody wants this says nothing.
  void set_ready(std::int64_t pid, bool ready);
  // One that cannot even be begun.
  void refuse(std::int64_t pid, const std::string& problem);

  // Does what can be done now. True when something became of a file, or much of it came.
  bool step();
  [[nodiscard]] bool busy() const { return current_ < files_.size(); }
  [[nodiscard]] int fd() const { return busy() ? client_.fd() : -1; }
  // When step() is to be called although nothing is readable.
  [[nodiscard]] std::optional<MonotonicTime> wakes_at() const;
  // What is not saved is given up.
  void stop(const std::string& why);

  [[nodiscard]] std::vector<Fetched> results() const;

 private:
  struct File {
    Place place;
    Fetched result;
    std::unique_ptr<ReceivedFile> received;
    PieceReader reader;
    int restarts = 0;
    bool ready = true;
    MonotonicTime begun{};
  };
  [[nodiscard]] File& file() { return files_[current_]; }
  [[nodiscard]] bool waits() const;  // for the daemon to have the file at hand

  bool ask();
  bool take(const std::string& text);
  [[nodiscard]] Status take_piece(const rpc::FetchReply& piece);
  [[nodiscard]] Status save(File& each, const rpc::FetchReply& last);
  bool trouble(const CallFailure& failure);
  void give_up(File& each, const std::string& problem);
  void next();
  void skip_ended();

  const World& world_;
  Client client_;
  std::string session_;
  std::vector<File> files_;
  std::size_t current_ = 0;  // those before it are at their end
  bool asked_ = false;
  MonotonicTime answer_by_{};
  MonotonicTime try_at_{};                   // not before
  Nanoseconds pause_{};                      // before the next try, when one failed
  std::optional<MonotonicTime> give_up_at_;  // when nothing comes until then
};

}  // namespace dynolog
