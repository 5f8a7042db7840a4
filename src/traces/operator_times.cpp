// A sweep over each thread's operators in the order of their starts, with a stack of the open ones.
#include "traces/operator_times.h"

#include <algorithm>

namespace dynolog {

OperatorTimes::OperatorTimes() { pending_.reserve(1024); }

void OperatorTimes::add(std::uint64_t thread, std::int64_t start, std::int64_t end,
                        std::string_view name) {
  const NameTimes::Index index = names_.index_of(name);
  names_.add_count(index);
  if (end <= start) return;
  if (threads_.empty() || thread != last_thread_) {
    auto found = thread_index_.find(thread);
    if (found == thread_index_.end()) {
      if (threads_.size() >= kMaxThreads) {
        ++left_out_;
        return;
      }
      found = thread_index_.emplace(thread, static_cast<std::uint16_t>(threads_.size())).first;
      threads_.emplace_back();
    }
    last_thread_ = thread;
    last_index_ = found->second;
  }
  pending_.push_back({start, end, next_place_++, static_cast<std::uint16_t>(index), last_index_});
  // Half of them stay, so that what comes late still finds its place.
  if (pending_.size() >= kMaxPending) give_away(kMaxPending / 2);
}

void OperatorTimes::finish() {
  give_away(pending_.size());
  for (Thread& thread : threads_) advance(thread, INT64_MAX);
}

// The first `count` in the order of time.
void OperatorTimes::give_away(std::size_t count) {
  // Of two that start at once the longer is the outer one; of two alike the first in the file.
  const auto outer_first = [](const Operator& a, const Operator& b) {
    if (a.start != b.start) return a.start < b.start;
    return a.end != b.end ? a.end > b.end : a.place < b.place;
  };
  if (!std::is_sorted(pending_.begin(), pending_.end(), outer_first)) {
    std::sort(pending_.begin(), pending_.end(), outer_first);
  }
  const auto stop = pending_.begin() + static_cast<std::ptrdiff_t>(count);
  for (auto op = pending_.begin(); op != stop; ++op) begin(*op);
  pending_.erase(pending_.begin(), stop);
}

void OperatorTimes::begin(const Operator& op) {
  Thread& thread = threads_[op.thread];
  if (!thread.begun) {
    thread.begun = true;
    thread.reached = op.start;
  }
  const bool late = op.start < thread.reached;
  if (late) {
    ++late_;  // the time before `reached` is given away already
  } else {
    advance(thread, op.start);
  }
  if (op.end <= thread.reached) return;
  if (open_ >= kMaxOpen) {
    ++left_out_;
    return;
  }
  auto place = thread.open.end();
  while (late && place != thread.open.begin() && std::prev(place)->start > op.start) --place;
  thread.open.insert(place, {op.start, op.end, op.name});
  ++open_;
}

// Gives the time up to `to` to the innermost open operator at each instant.
void OperatorTimes::advance(Thread& thread, std::int64_t to) {
  while (!thread.open.empty()) {
    const Open& innermost = thread.open.back();
    const std::int64_t until = std::min(innermost.end, to);
    if (until > thread.reached) {
      names_.add_time(innermost.name, until - thread.reached);
      thread.reached = until;
    }
    if (innermost.end > to) break;
    thread.open.pop_back();
    --open_;
  }
  thread.reached = std::max(thread.reached, to);
}

}  // namespace dynolog
