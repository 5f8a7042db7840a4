// The processes that poll: each pinned by a pidfd, each with a reply socket of its own.
//
// Hundreds may ask for the first time at one instant. So only what an answer needs is done before
// it: who sent (the kernel's pidfd), as which user, whether there is room, and the socket that
// leads to the sender alone. When a newcomer started, whose quota it takes from and the watch for
// its end come afterwards, a few at a time when no poll waits; nobody is told of it before.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/clock.h"
#include "base/system_root.h"
#include "base/unique_fd.h"
#include "ipc/client_identity.h"
#include "ipc/datagram.h"
#include "ipc/kineto_endpoint.h"
#include "ipc/kineto_tally.h"
#include "processes/identity.h"

namespace dynolog {

struct KinetoClient {
  // A configuration that was sent and, as far as is known, not read.
  struct Unread {
    std::string trace_id;
    std::size_t checks = 0;     // since it was sent, or since a poll found it unread
    bool check_due = false;     // one is scheduled
    bool polled_since = false;  // and was still unread
    bool reported = false;      // that it was not read in time
  };

  ProcessKey key;  // a newcomer's lacks the start, as a rule
  bool newcomer = true;
  std::unique_ptr<KinetoPolled> untold;  // a newcomer's first poll
  Uid uid;
  bool counted = false;            // for its user
  std::optional<Uid> admitted_as;  // whose quota it counts for, whoever it becomes
  UniqueFd pidfd;
  std::uint32_t generation = 0;
  ReplySocket reply;
  KinetoEndpoint* endpoint = nullptr;     // lives as long as the thread
  std::optional<WallTime> last_answered;  // the kernel's stamp of the poll, at this address
  std::optional<Unread> unread;
  bool polled = false;
  int until_looked = 0;  // answers that are left until its user is looked at again
  // Since this client's sockets are counted, and how many more it came with.
  MonotonicTime moves_since;
  int moves = 0;
  std::optional<MonotonicTime> told_unanswered;  // when a poll was last reported that was not
};

// Bytes of replies that the client has not taken out of its queue.
[[nodiscard]] bool has_unread_reply(const KinetoClient& client);

class KinetoClients {
 public:
  struct Callbacks {
    std::function<void(KinetoClient&)> on_known;  // it is no newcomer any more
    std::function<void(KinetoClient&)> on_end;    // before it goes; not of newcomers
    std::function<void(KinetoClient&)> on_move;   // before its socket is replaced by another
  };
  KinetoClients(std::size_t limit, const SystemRoot& root, const Clock& clock, KinetoTally& tally,
                int epoll, Callbacks callbacks);

  // The sender, with its reply socket connected to where it sent from; nullptr when it is refused,
  // which is then counted. Keyed by pid: a forked child sends from its parent's socket.
  [[nodiscard]] KinetoClient* of_sender(Datagram& datagram, KinetoEndpoint& endpoint);
  [[nodiscard]] KinetoClient* find(Pid pid);

  // The rest of a newcomer's admission. False when it failed: then there is no such client.
  [[nodiscard]] bool get_to_know(KinetoClient& client);
  // The same for those who came first, a few of them.
  void get_to_know_some();
  [[nodiscard]] bool newcomers_wait() const { return !newcomers_.empty(); }

  // A tag of this table came out of epoll: the process may have ended.
  void on_pidfd(std::uint64_t tag);

  [[nodiscard]] std::size_t size() const { return clients_.size(); }
  // For all but root, who has the last places to itself.
  [[nodiscard]] bool full() const { return clients_.size() >= limit_ - limit_ / kRootsShare; }

  // Marks this table's epoll tags; others must leave the bit clear.
  static constexpr std::uint64_t kTagBit = std::uint64_t{1} << 63U;

 private:
  static constexpr std::size_t kRootsShare = 16;  // one place in so many

  // A client that comes from another socket each time costs as much as a new one.
  [[nodiscard]] bool may_move(KinetoClient& client) const;
  [[nodiscard]] bool move(KinetoClient& client, const Datagram& datagram, KinetoEndpoint& endpoint);
  [[nodiscard]] KinetoClient* admit(Datagram& datagram, KinetoEndpoint& endpoint);
  [[nodiscard]] bool has_room(std::optional<Uid> user) const;
  [[nodiscard]] bool is_the_sender(KinetoClient& client, std::optional<WallTime> queued);
  [[nodiscard]] bool find_start(KinetoClient& client);
  void find_user(KinetoClient& client) const;
  void count(KinetoClient& client);
  [[nodiscard]] UniqueFd pin(Datagram& datagram);
  [[nodiscard]] bool connect(KinetoClient& client, const Datagram& datagram,
                             KinetoEndpoint& endpoint);
  [[nodiscard]] bool watch(KinetoClient& client);
  void count_refusal(ErrorKind kind);
  void end(Pid pid);

  std::size_t limit_;
  const SystemRoot& root_;
  const Clock& clock_;
  KinetoTally& tally_;
  int epoll_;
  Callbacks callbacks_;
  std::uint32_t next_generation_ = 0;
  std::unordered_map<Pid, KinetoClient> clients_;
  // With their generations: a later process of the same pid is another.
  std::deque<std::pair<Pid, std::uint32_t>> newcomers_;
  // By whom a limit counts at the admission; those that nobody answers for are one user.
  std::unordered_map<std::optional<Uid>, std::size_t> of_user_;
  std::size_t uncounted_ = 0;  // newcomers, each perhaps of any user
  // Held open, as the kernel would make the namespace's file anew for each process looked at.
  UniqueFd own_user_namespace_;
};

}  // namespace dynolog
