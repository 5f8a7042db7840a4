// What a poll is answered, and what became of the answer.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/system_root.h"
#include "ipc/datagram.h"
#include "ipc/kineto_clients.h"
#include "ipc/kineto_tally.h"
#include "ipc/kineto_thread.h"
#include "ipc/kineto_wire.h"
#include "ipc/mailbox.h"

namespace dynolog {

// The rules that keep a trainer from harm: an answer that comes late, twice or on top of an unread
// one would leave that client one answer behind for ever.
class KinetoAnswers {
 public:
  using Emit = std::function<void(KinetoEvent)>;

  KinetoAnswers(std::size_t limit, const SystemRoot& root, const Clock& clock, KinetoTally& tally,
                Emit emit);

  void put(Mailbox::Item item);
  void withdraw(const ProcessKey& key, const std::string& trace_id);

  void on_poll(KinetoClient& client, const KinetoPoll& poll, std::optional<WallTime> queued);
  void on_context(KinetoClient& client, std::size_t clients, std::optional<WallTime> queued);
  void on_move(KinetoClient& client);
  void on_known(KinetoClient& client);  // no newcomer any more: what was kept of it is told
  void on_end(KinetoClient& client);
  // Whether something waits for the process: before a hand-over it has to be known whole.
  [[nodiscard]] bool has_for(Pid pid) const { return mailbox_.find(pid) != nullptr; }

  // Looks whether configurations were read, for those that are due.
  void on_time(KinetoClients& clients);
  [[nodiscard]] std::optional<MonotonicTime> next_due() const;

  static constexpr Nanoseconds kLate = Milliseconds(40);
  static constexpr Nanoseconds kDoubled = Milliseconds(250);

 private:
  // What the mailbox gives to this poll: a text to hand over, a refusal, or nothing.
  struct Offer {
    std::optional<std::string> text;
    std::optional<KinetoNotHandedOver> refusal;
  };
  [[nodiscard]] bool is_late(std::optional<WallTime> queued, WallTime now);
  [[nodiscard]] bool may_answer(KinetoClient& client, std::optional<WallTime> queued, WallTime now,
                                MonotonicTime monotonic);
  [[nodiscard]] Offer offer(KinetoClient& client, const KinetoPoll& poll, WallTime wall,
                            MonotonicTime now);
  [[nodiscard]] static int send(const KinetoClient& client, std::string_view datagram);
  // A launcher may have become its user since: then the process is that user's.
  void look_at_user(KinetoClient& client);
  void tell(KinetoClient& client, KinetoPolled polled);
  void tell_unanswered(KinetoClient& client, KinetoPolled polled);
  void handed_over(KinetoClient& client, WallTime wall, MonotonicTime now);
  void settle(KinetoClient& client, bool read, MonotonicTime now);
  void schedule(KinetoClient& client, MonotonicTime now);
  void refuse(const Mailbox::Item& item, KinetoNotHandedOver::Why why, Offer& offer,
              MonotonicTime now);

  const SystemRoot& root_;
  const Clock& clock_;
  KinetoTally& tally_;
  Emit emit_;
  Mailbox mailbox_;
  std::multimap<MonotonicTime, ProcessKey> checks_;
};

}  // namespace dynolog
