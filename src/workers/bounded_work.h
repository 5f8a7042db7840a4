// Work that may hang for ever, done on threads that are left behind when it does. Only for worker
// processes: a thread that is stuck in the kernel cannot be joined, and ends with its process.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"

namespace dynolog {

class BoundedWork {
 public:
  // Waits `patience` for each piece of work, and `longest` for all that one run() is given. So many
  // pieces may be stuck at a time; with more nothing is begun any more.
  struct Limits {
    Nanoseconds patience = std::chrono::seconds(2);
    Nanoseconds longest = std::chrono::seconds(10);
    std::size_t most_stuck = 32;
  };
  explicit BoundedWork(Limits limits) : limits_(limits) {}

  enum class Outcome : unsigned char {
    done,
    hangs,      // it has not come back, of this run() or of one before
    not_begun,  // there was no time left, or too much is stuck
  };
  struct Piece {
    std::string name;  // a piece with the name of one that still hangs is not begun
    // Keeps what it uses alive by itself: it may run for longer than anything else here.
    std::function<void()> work;
  };
  // One after the other, in this order. What a piece wrote may be looked at when it is done.
  [[nodiscard]] std::vector<Outcome> run(std::vector<Piece> pieces);

  [[nodiscard]] std::size_t stuck();

 private:
  struct Lane;
  void forget_returned();
  void run_on_lane(const std::vector<std::size_t>& which, std::vector<Piece>& pieces,
                   std::vector<Outcome>& outcomes, MonotonicTime until);

  Limits limits_;
  std::map<std::string, std::shared_ptr<Lane>> stuck_;  // by the name of the piece
  SystemClock clock_;
};

}  // namespace dynolog
