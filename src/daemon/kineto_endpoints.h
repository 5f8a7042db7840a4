// Where the Kineto thread listens, as it says itself: shown in the status, and told to whoever had
// a directory added.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/log.h"
#include "daemon/status_board.h"
#include "ipc/kineto_thread.h"
#include "net/event_loop.h"

namespace dynolog {

// On the loop's thread only.
class KinetoEndpoints {
 public:
  struct World {
    EventLoop& loop;
    Log& log;
    StatusBoard& status;
    std::string user_directories;                    // the path that they all begin with
    std::function<void(std::string directory)> add;  // to the Kineto thread
  };
  explicit KinetoEndpoints(World world) : world_(std::move(world)) {}

  // `done` once its socket is up, with why it is not, or when that took too long.
  void add(std::string directory, std::function<void(Status)> done);
  void on_state(const KinetoEndpointState& event);
  // By endpoint, a directory or "abstract"; "" where it is up.
  [[nodiscard]] const std::map<std::string, std::string>& problems() const { return problems_; }

 private:
  using Waiters = std::vector<std::function<void(Status)>>;

  void show(const KinetoEndpointState& event);
  void answer(const std::string& problem, const Waiters& waiters);

  World world_;
  std::map<std::string, std::string> problems_;
  std::map<std::string, Waiters> waiters_;
  std::map<std::string, Timer> patience_;
};

}  // namespace dynolog
