// One thread for the pieces of a run, and another one from where it got stuck.
#include "workers/bounded_work.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

namespace dynolog {

struct BoundedWork::Lane {
  explicit Lane(std::vector<std::function<void()>> given) : work(std::move(given)) {}

  std::mutex mutex;
  std::condition_variable progress;
  std::vector<std::function<void()>> work;
  std::size_t done = 0;
  bool abandoned = false;  // after the piece that is under way the thread ends

  void go() {
    for (std::size_t i = 0; i < work.size(); ++i) {
      work[i]();
      const std::scoped_lock lock(mutex);
      ++done;
      progress.notify_all();
      if (abandoned) return;
    }
  }
};

std::size_t BoundedWork::stuck() {
  forget_returned();
  return stuck_.size();
}

void BoundedWork::forget_returned() {
  std::erase_if(stuck_, [](const auto& entry) {
    const std::scoped_lock lock(entry.second->mutex);
    return entry.second->done > 0;
  });
}

std::vector<BoundedWork::Outcome> BoundedWork::run(std::vector<Piece> pieces) {
  forget_returned();
  std::vector<Outcome> outcomes(pieces.size(), Outcome::not_begun);
  std::vector<std::size_t> open;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    if (stuck_.contains(pieces[i].name)) {
      outcomes[i] = Outcome::hangs;
    } else {
      open.push_back(i);
    }
  }
  const MonotonicTime until = clock_.monotonic() + limits_.longest;
  while (!open.empty() && stuck_.size() < limits_.most_stuck && clock_.monotonic() < until) {
    run_on_lane(open, pieces, outcomes, until);
    std::erase_if(open, [&](std::size_t i) { return outcomes[i] != Outcome::not_begun; });
  }
  return outcomes;
}

// Ends when all of it is done, when a piece is stuck, or when there is no time left.
void BoundedWork::run_on_lane(const std::vector<std::size_t>& which, std::vector<Piece>& pieces,
                              std::vector<Outcome>& outcomes, MonotonicTime until) {
  std::vector<std::function<void()>> work;
  for (const std::size_t i : which) work.push_back(pieces[i].work);
  const auto lane = std::make_shared<Lane>(std::move(work));
  std::thread thread([lane] { lane->go(); });
  std::size_t done = 0;
  bool in_time = true;
  {
    std::unique_lock lock(lane->mutex);
    while (in_time && done < which.size()) {
      const Nanoseconds left = until - clock_.monotonic();
      in_time = lane->progress.wait_for(lock, std::min(limits_.patience, left),
                                        [&] { return lane->done > done; });
      done = lane->done;
    }
    lane->abandoned = !in_time;
  }
  for (std::size_t i = 0; i < done; ++i) outcomes[which[i]] = Outcome::done;
  if (in_time) {
    thread.join();
    return;
  }
  thread.detach();
  outcomes[which[done]] = Outcome::hangs;
  // Of this lane only the piece that is stuck is of interest any more.
  const std::scoped_lock lock(lane->mutex);
  if (lane->done == done) {
    lane->done = 0;
    stuck_[pieces[which[done]].name] = lane;
  }
}

}  // namespace dynolog
