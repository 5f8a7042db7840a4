// Counters that one thread writes and any thread reads.
#pragma once

#include <atomic>
#include <cstdint>

#include "ipc/kineto_thread.h"

namespace dynolog {

class Counter {
 public:
  // Only the one writer calls these.
  void operator++() { set(value() + 1); }
  void set(std::uint64_t value) { value_.store(value, std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> value_ = 0;
};

struct KinetoTally {
  Counter polls, answered, contexts, malformed, no_credentials, vanished, with_descriptors, late,
      doubled, bad_sender, behind, reply_failed, no_descriptors, clients, table_full,
      receive_interrupted, paused, moved_too_often;

  [[nodiscard]] KinetoCounters read() const {
    return {.polls = polls.value(),
            .answered = answered.value(),
            .contexts = contexts.value(),
            .malformed = malformed.value(),
            .no_credentials = no_credentials.value(),
            .vanished = vanished.value(),
            .with_descriptors = with_descriptors.value(),
            .late = late.value(),
            .doubled = doubled.value(),
            .bad_sender = bad_sender.value(),
            .behind = behind.value(),
            .reply_failed = reply_failed.value(),
            .no_descriptors = no_descriptors.value(),
            .clients = clients.value(),
            .table_full = table_full.value(),
            .receive_interrupted = receive_interrupted.value(),
            .paused = paused.value(),
            .moved_too_often = moved_too_often.value()};
  }
};

}  // namespace dynolog
