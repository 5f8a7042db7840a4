// Admission: pid from the credential, user and start time from the process, under its pidfd.
#include "ipc/kineto_clients.h"

#include <fcntl.h>
#include <linux/sockios.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "net/peer_identity.h"

namespace dynolog {
namespace {

// PyTorch 2.7-2.9 may have two sockets, and a program that is replaced by exec comes with another.
constexpr Nanoseconds kMoveWindow = std::chrono::seconds(1);
constexpr int kMovesInWindow = 4;
// At a turn of the loop, so that polls never wait for more than these.
constexpr int kKnownAtOnce = 4;
// With more, or a quarter of the table, each new one waits for that: whoever floods a socket must
// not fill the table with processes of which nobody knows whose they are, or that they are dead.
constexpr std::size_t kMostNewcomers = 1024;

}  // namespace

bool has_unread_reply(const KinetoClient& client) {
  int bytes = 0;
  return ::ioctl(client.reply.fd.get(), SIOCOUTQ, &bytes) == 0 && bytes > 0;
}

KinetoClients::KinetoClients(std::size_t limit, const SystemRoot& root, const Clock& clock,
                             KinetoTally& tally, int epoll, Callbacks callbacks)
    : limit_(limit),
      root_(root),
      clock_(clock),
      tally_(tally),
      epoll_(epoll),
      callbacks_(std::move(callbacks)),
      own_user_namespace_(::open("/proc/self/ns/user", O_RDONLY | O_CLOEXEC)) {}

KinetoClient* KinetoClients::find(Pid pid) {
  const auto at = clients_.find(pid);
  return at == clients_.end() ? nullptr : &at->second;
}

KinetoClient* KinetoClients::of_sender(Datagram& datagram, KinetoEndpoint& endpoint) {
  const Pid pid{datagram.pid};
  KinetoClient* client = find(pid);
  if (client != nullptr && !holds_pid(client->pidfd.get())) {
    end(pid);
    client = nullptr;
  }
  if (client == nullptr) return admit(datagram, endpoint);
  if (!get_to_know(*client)) return nullptr;
  if (client->endpoint == &endpoint && client->reply.sender == datagram.sender) return client;
  return may_move(*client) && move(*client, datagram, endpoint) ? client : nullptr;
}

bool KinetoClients::may_move(KinetoClient& client) const {
  const MonotonicTime now = clock_.monotonic();
  if (now - client.moves_since >= kMoveWindow) {
    client.moves_since = now;
    client.moves = 0;
  }
  if (client.moves >= kMovesInWindow) {
    ++tally_.moved_too_often;
    return false;
  }
  ++client.moves;
  return true;
}

// An exec, or a client that opens a second socket: answers go where it asks from.
bool KinetoClients::move(KinetoClient& client, const Datagram& datagram, KinetoEndpoint& endpoint) {
  KinetoClient moved;
  const auto identity = read_identity(root_, client.key.pid, client.pidfd.get());
  if (!identity) {
    count_refusal(identity.error().kind);
    return false;
  }
  moved.uid = identity->uid;
  if (!connect(moved, datagram, endpoint)) return false;
  callbacks_.on_move(client);
  client.uid = moved.uid;
  client.reply = std::move(moved.reply);
  client.endpoint = &endpoint;
  client.last_answered.reset();
  return true;
}

// Half of the table at most for one user: the others' processes must find room as well. However
// many users there are, the last places are root's.
bool KinetoClients::has_room(std::optional<Uid> user) const {
  if (user == kRootUid) return true;
  if (full()) return false;
  const auto held = of_user_.find(user);
  const std::size_t most = uncounted_ + (held == of_user_.end() ? 0 : held->second);
  return most < std::max<std::size_t>(1, limit_ / 2);
}

UniqueFd KinetoClients::pin(Datagram& datagram) {
  if (datagram.pidfd.valid()) return std::move(datagram.pidfd);
  int error = datagram.pidfd_error;
  if (error == 0) {
    UniqueFd opened(open_pidfd(Pid{datagram.pid}));
    if (opened.valid()) return opened;
    error = errno;
  }
  const bool full = error == EMFILE || error == ENFILE || error == ENOMEM;
  ++(full ? tally_.no_descriptors : tally_.vanished);
  return {};
}

KinetoClient* KinetoClients::admit(Datagram& datagram, KinetoEndpoint& endpoint) {
  if (newcomers_.size() >= std::clamp<std::size_t>(limit_ / 4, 1, kMostNewcomers)) {
    get_to_know_some();
  }
  if (clients_.size() >= limit_) {
    ++tally_.table_full;
    return nullptr;
  }
  const bool pinned_by_kernel = datagram.pidfd.valid();
  KinetoClient client;
  client.pidfd = pin(datagram);
  if (!client.pidfd.valid()) return nullptr;
  client.key.pid = Pid{datagram.pid};
  const auto uid = read_user(root_, client.key.pid, client.pidfd.get());
  if (!uid) {
    count_refusal(uid.error().kind);
    return nullptr;
  }
  client.uid = *uid;
  if (!pinned_by_kernel && !is_the_sender(client, datagram.queued)) return nullptr;
  // In a table that is half empty there is room whoever it is.
  const bool surely_room = clients_.size() < limit_ / 2;
  if (!surely_room) find_user(client);
  if (!surely_room && !has_room(client.admitted_as)) {
    ++tally_.table_full;
    return nullptr;
  }
  client.generation = ++next_generation_ & 0x7fffffffU;
  if (!connect(client, datagram, endpoint)) return nullptr;
  ++uncounted_;
  if (!surely_room) count(client);
  newcomers_.emplace_back(client.key.pid, client.generation);
  KinetoClient& admitted = clients_.try_emplace(client.key.pid, std::move(client)).first->second;
  tally_.clients.set(clients_.size());
  return &admitted;
}

// A pidfd that we opened by number may be of a process that took the sender's number over.
bool KinetoClients::is_the_sender(KinetoClient& client, std::optional<WallTime> queued) {
  if (!find_start(client)) return false;
  if (!queued || started_before(client.key.start_ticks, *queued)) return true;
  ++tally_.vanished;
  return false;
}

bool KinetoClients::find_start(KinetoClient& client) {
  const auto start = read_start(root_, client.key.pid, client.pidfd.get());
  if (!start) {
    count_refusal(start.error().kind);
    return false;
  }
  client.key.start_ticks = *start;
  return true;
}

void KinetoClients::find_user(KinetoClient& client) const {
  client.admitted_as = accountable_uid(client.key.pid, client.uid, client.pidfd.get());
}

void KinetoClients::count(KinetoClient& client) {
  --uncounted_;
  ++of_user_[client.admitted_as];
  client.counted = true;
}

bool KinetoClients::get_to_know(KinetoClient& client) {
  if (!client.newcomer) return true;
  const bool started = client.key.start_ticks != 0 || find_start(client);
  if (!started || !watch(client)) {
    end(client.key.pid);
    return false;
  }
  if (!client.counted) {
    find_user(client);
    count(client);
  }
  client.newcomer = false;
  callbacks_.on_known(client);
  return true;
}

void KinetoClients::get_to_know_some() {
  for (int known = 0; known < kKnownAtOnce && !newcomers_.empty();) {
    const auto [pid, generation] = newcomers_.front();
    newcomers_.pop_front();
    KinetoClient* client = find(pid);
    // It may have gone, or become known by a second poll.
    if (client == nullptr || client->generation != generation || !client->newcomer) continue;
    (void)get_to_know(*client);
    ++known;
  }
}

bool KinetoClients::connect(KinetoClient& client, const Datagram& datagram,
                            KinetoEndpoint& endpoint) {
  auto reply = endpoint.connect_reply(datagram.sender, client.uid, root_);
  if (!reply) {
    switch (reply.error().kind) {
      case ErrorKind::denied:
        ++tally_.bad_sender;
        break;
      case ErrorKind::exhausted:
        ++tally_.no_descriptors;
        break;
      default:
        ++tally_.reply_failed;
    }
    return false;
  }
  client.reply = std::move(*reply);
  client.endpoint = &endpoint;
  return true;
}

bool KinetoClients::watch(KinetoClient& client) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = kTagBit | std::uint64_t{client.generation} << 32U |
                   static_cast<std::uint32_t>(client.key.pid.value);
  if (::epoll_ctl(epoll_, EPOLL_CTL_ADD, client.pidfd.get(), &event) == 0) return true;
  ++tally_.no_descriptors;
  return false;
}

void KinetoClients::count_refusal(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::denied:
      ++tally_.no_credentials;
      break;
    case ErrorKind::exhausted:
      ++tally_.no_descriptors;
      break;
    default:
      ++tally_.vanished;
  }
}

void KinetoClients::on_pidfd(std::uint64_t tag) {
  const Pid pid{static_cast<std::int32_t>(tag & 0xffffffffU)};
  const KinetoClient* client = find(pid);
  // A later process of the same pid may have taken the place within one batch.
  if (client == nullptr || client->generation != (tag & ~kTagBit) >> 32U) return;
  end(pid);
}

void KinetoClients::end(Pid pid) {
  const auto at = clients_.find(pid);
  if (at == clients_.end()) return;
  KinetoClient client = std::move(at->second);
  clients_.erase(at);
  if (!client.counted) {
    --uncounted_;
  } else if (const auto held = of_user_.find(client.admitted_as); --held->second == 0) {
    of_user_.erase(held);
  }
  tally_.clients.set(clients_.size());
  if (!client.newcomer) callbacks_.on_end(client);
  // A pidfd that some other descriptor still refers to would stay in the set.
  ::epoll_ctl(epoll_, EPOLL_CTL_DEL, client.pidfd.get(), nullptr);
  client.reply.fd.reset();
  client.endpoint->collect(client.reply, root_);
}

}  // namespace dynolog
