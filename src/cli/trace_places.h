// Where traces are to lie: what the command line says about it, what that asks of the daemon, and
// where on dyno's side a file goes that is brought.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "cli/trace_directory.h"
#include "cli/trace_options.h"
#include "cli/world.h"
#include "rpc/protocol/messages.h"

namespace dynolog {

// Whether --output is meant as a directory: who writes `--output x.json` has a file in mind. One
// that is there, or ends in '/', is one. `log_file`: as it was given; nullopt where the command has
// no such option. The error says what to write instead.
[[nodiscard]] Status check_output(const std::string& output, const std::string& working_directory,
                                  const std::optional<std::string>& log_file);

class TracePlaces {
 public:
  // `local`: the daemon is on this host, as far as one can tell. Makes --output's directory, or the
  // one of its own when neither --output nor --log-file is given and somebody waits. Errors
  // (invalid, denied, ...) are for the person who typed the command.
  [[nodiscard]] static Result<TracePlaces> choose(const GputraceOptions& options,
                                                  const World& world, bool local);

  // log_file, bring, caller_directory, gzip.
  void ask_for(rpc::TraceSpec& trace) const;
  // Why there is no directory of its own, although there should be one; "" otherwise.
  [[nodiscard]] const std::string& problem() const { return problem_; }

  // Names the files of these processes. Errors (invalid) are about the pattern.
  [[nodiscard]] Status name(const std::string& host, const std::vector<rpc::PlannedTrace>& planned);
  // The same for a session that somebody else planned.
  [[nodiscard]] Status name_updates(const std::string& host,
                                    const std::vector<rpc::TraceUpdate>& updates);
  // Where the file of a named process is brought to; "" when that is not known yet.
  [[nodiscard]] std::string path_of(std::int64_t pid) const;

  struct Place {
    std::string directory;
    std::string name;
    bool gzip = false;
  };
  // The same for writing: makes a directory of its own when there is none.
  [[nodiscard]] Result<Place> place_of(std::int64_t pid);

  // A process may yet write its trace: a directory that was given to it stays, though empty.
  void keep_directory() {
    if (bring_ == "needed") directory_.keep();
  }

 private:
  TracePlaces(const GputraceOptions& options, const World& world);
  [[nodiscard]] Status choose_log_file(const std::string& log_file, bool local);
  void make_own_directory();

  std::string working_directory_;
  WallTime now_;
  bool gzip_ = false;
  bool snapshot_ = false;
  std::string log_file_;  // for the daemon
  std::string bring_ = "never";
  std::string caller_directory_;
  TraceDirectory directory_;  // made here, or --output's
  std::string beside_;        // of --log-file, on this side; "" when it is not to be used
  std::string problem_;
  std::string name_pattern_;
  std::map<std::int64_t, std::string> names_;
};

}  // namespace dynolog
