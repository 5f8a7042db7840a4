// The daemon's run directory: sockets, journal, and the users' socket directories.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/ids.h"
#include "base/system_root.h"
#include "base/unique_fd.h"

namespace dynolog {

// The Kineto thread takes 4,096 endpoints, of which some are for other directories.
inline constexpr std::size_t kMaxUserDirectories = 4000;
// A job's prolog asks for the directory, and its processes come a moment later.
inline constexpr auto kUnusedFor = std::chrono::hours(1);

class RunDirectory {
 public:
  // Makes the directory where it is missing (0755 for a system daemon, 0700 for a user's), refuses
  // one that another user owns or may write to, and locks it: two daemons never share one.
  [[nodiscard]] static Result<RunDirectory> open(
      const std::string& path, bool system_mode,
      std::size_t max_user_directories = kMaxUserDirectories);

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string rpc_socket() const { return path_ + "/dynolog.sock"; }
  [[nodiscard]] std::string journal() const { return path_ + "/sessions"; }

  // Makes (or finds) <path>/u/<uid>, 0700 and owned by that user; gives its path. An error of kind
  // exhausted when there are max_user_directories.
  [[nodiscard]] Result<std::string> make_user_directory(Uid uid) const;
  // Those that an earlier daemon made: jobs may still speak to their sockets.
  [[nodiscard]] std::vector<std::string> user_directories() const;

  // Removes those that nobody uses: of users without a process here, empty but for the daemon's
  // own socket, and untouched for kUnusedFor. Before the daemon listens there.
  std::size_t collect_user_directories(const SystemRoot& root, WallTime now) const;

 private:
  RunDirectory(std::string path, UniqueFd directory, UniqueFd lock, std::size_t max_users)
      : path_(std::move(path)),
        directory_(std::move(directory)),
        lock_(std::move(lock)),
        max_user_directories_(max_users) {}

  std::string path_;
  UniqueFd directory_;
  UniqueFd lock_;
  std::size_t max_user_directories_;
};

// "/run/dynolog" for root; else $XDG_RUNTIME_DIR/dynolog, or /tmp/dynolog-UID where that is unset
// or dangling (as in Slurm jobs).
[[nodiscard]] std::string default_run_directory(bool system_mode, Uid uid,
                                                const std::string& xdg_runtime_dir);

}  // namespace dynolog
