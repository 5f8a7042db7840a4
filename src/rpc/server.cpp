// Listening, accepting, and the limits on connections.
#include "rpc/server.h"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <compare>
#include <map>
#include <optional>
#include <utility>

#include "net/receive_watchdog.h"
#include "rpc/connection.h"
#include "rpc/listener.h"

namespace dynolog::rpc {
namespace {

constexpr int kAcceptsPerWakeUp = 32;
constexpr std::chrono::milliseconds kPauseWithoutDescriptors{200};
// Nothing that the loop calls takes this long unless a client makes it.
constexpr Milliseconds kBlockedPatience{5};
constexpr std::size_t kScratch = 64U << 10U;

struct Acceptor {
  Listener listener;
  Watch watch;
  Timer pause;
};

enum class Shed : std::uint8_t { one, nobody_waits, impossible };

// Whom a connection counts for. Over TCP that is what the socket says, which root of a container
// and somebody with subordinate uids choose: it must cost nobody a place on the unix socket.
struct Owner {
  bool tcp = false;
  std::optional<Uid> uid;  // nullopt: nobody can say
  auto operator<=>(const Owner&) const = default;
};

struct Entry {
  std::shared_ptr<Connection> connection;
  Owner owner;
};

// A socket file as it was bound, so that only our own is removed at the end.
struct SocketFile {
  std::string path;
  dev_t device = 0;
  ino_t inode = 0;
};

std::optional<SocketFile> socket_file(const std::string& path) {
  struct stat status{};
  if (::lstat(path.c_str(), &status) != 0) return std::nullopt;
  return SocketFile{path, status.st_dev, status.st_ino};
}

class ListeningServer final : public Server {
 public:
  ListeningServer(EventLoop& loop, Log& log, ServerOptions options, Services services,
                  MetricsService& metrics, CallerResolver& resolver)
      : loop_(loop),
        log_(log),
        options_(std::move(options)),
        services_(services),
        context_{.loop = loop_,
                 .options = options_,
                 .services = services_,
                 .metrics = metrics,
                 .resolver = resolver,
                 .counters = counters_,
                 .scratch = scratch_,
                 .ended_followings =
                     std::make_shared<std::vector<std::unique_ptr<TraceService::Following>>>(),
                 .watchdog = watchdog_,
                 .closed = [this](std::uint64_t id) { forget(id); }} {
    reserve_descriptor();
    if (!options_.unix_path.empty()) {
      add(listen_unix(options_.unix_path, options_.refuse_descriptors));
    }
    if (!options_.unix_path.empty() && acceptors_.back()->listener.socket.valid()) {
      file_ = socket_file(options_.unix_path);
    }
    if (options_.tcp_port < 0) return;
    for (Listener& listener : listen_tcp(options_)) add(std::move(listener));
  }

  ~ListeningServer() override {
    {
      const WatchedScope watched(watchdog_.get());  // what waits there unaccepted is closed, too
      acceptors_.clear();
    }
    for (auto& [id, entry] : connections_) entry.connection->abandon();
    if (!file_) return;
    const auto now = socket_file(file_->path);
    if (now && now->device == file_->device && now->inode == file_->inode) {
      ::unlink(file_->path.c_str());
    }
  }

  std::vector<Listening> listening() const override {
    std::vector<Listening> result;
    for (const auto& acceptor : acceptors_) {
      const Listener& listener = acceptor->listener;
      result.push_back({listener.name, listener.socket.valid(), listener.problem});
    }
    return result;
  }

  int tcp_port() const override {
    for (const auto& acceptor : acceptors_) {
      if (acceptor->listener.port > 0) return acceptor->listener.port;
    }
    return 0;
  }

  ServerCounters counters() const override {
    ServerCounters counters = counters_;
    counters.connections = connections_.size();
    return counters;
  }

  void set_limits(const ServerLimits& limits) override {
    static_cast<ServerLimits&>(options_) = limits;
    for (const auto& [id, entry] : connections_) entry.connection->idle_time_changed();
  }

 private:
  void add(Listener listener);
  void watch(Acceptor& acceptor);
  void start_watchdog(Acceptor& acceptor);
  void accept_some(Acceptor& acceptor);
  [[nodiscard]] Shed turn_one_away(Acceptor& acceptor);
  void pause(Acceptor& acceptor);
  void reserve_descriptor();
  void admit(UniqueFd socket, Transport transport);
  // Root, and the user whose daemon this is.
  [[nodiscard]] bool exempt(const Owner& owner) const {
    return owner.uid && (*owner.uid == kRootUid || *owner.uid == own_uid_);
  }
  void count_owners();
  void enforce_limits(std::uint64_t newest);
  [[nodiscard]] std::uint64_t who_gives_way(std::uint64_t newest) const;
  [[nodiscard]] std::optional<std::uint64_t> newest_of_heaviest(bool tcp) const;
  void close_over_limit(std::uint64_t id, const std::string& sentence);
  void say_limit(std::string_view sentence);
  void forget(std::uint64_t id);

  EventLoop& loop_;
  Log& log_;
  ServerOptions options_;
  Services services_;
  ServerCounters counters_;
  std::unique_ptr<ReceiveWatchdog> watchdog_;
  std::vector<char> scratch_ = std::vector<char>(kScratch);
  ConnectionContext context_;
  std::vector<std::unique_ptr<Acceptor>> acceptors_;
  std::optional<SocketFile> file_;
  UniqueFd spare_;  // given up for a moment to accept, and turn away, when there are no others left
  Uid own_uid_{::geteuid()};
  std::uint64_t last_id_ = 0;
  std::map<std::uint64_t, Entry> connections_;
  // Whose connections they are is only looked up once there are enough for a limit to matter.
  std::uint64_t counted_up_to_ = 0;
  std::map<Owner, std::size_t> owners_;
  std::size_t over_tcp_ = 0;    // of connections_
  bool limit_reached_ = false;  // said in the log
};

void ListeningServer::add(Listener listener) {
  acceptors_.push_back(std::make_unique<Acceptor>());
  Acceptor& acceptor = *acceptors_.back();
  acceptor.listener = std::move(listener);
  if (!acceptor.listener.socket.valid()) {
    log_.warning("rpc: not listening on {}: {}", acceptor.listener.name, acceptor.listener.problem);
    return;
  }
  log_.info("rpc: listening on {}", acceptor.listener.name);
  watch(acceptor);
}

// --- accepting
// ------------------------------------------------------------------------------------

void ListeningServer::watch(Acceptor& acceptor) {
  acceptor.watch = loop_.watch_readable(acceptor.listener.socket.get(),
                                        [this, &acceptor] { accept_some(acceptor); });
}

// Where the kernel lets clients send descriptors along; on the loop's thread, which it is for.
void ListeningServer::start_watchdog(Acceptor& acceptor) {
  if (acceptor.listener.tcp || std::exchange(acceptor.listener.descriptors_refused, true)) return;
  auto watchdog = ReceiveWatchdog::start(kBlockedPatience);
  if (watchdog) {
    watchdog_ = std::move(*watchdog);
  } else {
    log_.warning("rpc: {} may be held up by sockets that clients send along: {}",
                 acceptor.listener.name, watchdog.error().message);
  }
}

void ListeningServer::accept_some(Acceptor& acceptor) {
  start_watchdog(acceptor);
  for (int i = 0; i < kAcceptsPerWakeUp; ++i) {
    sockaddr_storage peer{};
    socklen_t size = sizeof peer;
    UniqueFd socket(::accept4(acceptor.listener.socket.get(), reinterpret_cast<sockaddr*>(&peer),
                              &size, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (socket.valid()) {
      const Transport transport =
          acceptor.listener.tcp ? transport_of(peer) : Transport::unix_socket;
      admit(std::move(socket), transport);
      continue;
    }
    switch (errno) {
      case EAGAIN:
        return;
      case EMFILE:
      case ENFILE:
      case ENOBUFS:
      case ENOMEM:
        switch (turn_one_away(acceptor)) {
          case Shed::one:
            break;
          case Shed::nobody_waits:
            return;
          case Shed::impossible:
            return pause(acceptor);
        }
        break;
      default:  // the connection died before it was accepted
        break;
    }
  }
}

// Without descriptors: the waiting one would keep the listener readable for ever. (The kernel looks
// for a descriptor first, so accept fails that way also when nobody waits.)
Shed ListeningServer::turn_one_away(Acceptor& acceptor) {
  if (!spare_.valid()) return Shed::impossible;
  spare_.reset();
  UniqueFd socket(
      ::accept4(acceptor.listener.socket.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  const int error = socket.valid() ? 0 : errno;
  if (error == 0) {
    ++counters_.over_limit;
    say_limit("the daemon has no descriptors left");
    const WatchedScope watched(acceptor.listener.tcp ? nullptr : watchdog_.get());
    turn_away(std::move(socket), {"exhausted", "the daemon has no descriptors left"});
  }
  reserve_descriptor();
  if (error == 0) return Shed::one;
  return error == EAGAIN ? Shed::nobody_waits : Shed::impossible;
}

void ListeningServer::pause(Acceptor& acceptor) {
  say_limit("the daemon has no descriptors left");
  acceptor.watch = Watch();
  acceptor.pause = loop_.after(kPauseWithoutDescriptors, [this, &acceptor] {
    reserve_descriptor();
    watch(acceptor);
  });
}

void ListeningServer::reserve_descriptor() {
  if (!spare_.valid()) spare_.reset(::open("/dev/null", O_RDONLY | O_CLOEXEC));
}

// --- limits
// ---------------------------------------------------------------------------------------

void ListeningServer::admit(UniqueFd socket, Transport transport) {
  ++counters_.accepted;
  const std::uint64_t id = ++last_id_;
  auto connection = Connection::open(context_, id, std::move(socket), transport);
  const bool tcp = transport != Transport::unix_socket;
  connections_.emplace(id, Entry{.connection = connection, .owner = {.tcp = tcp, .uid = {}}});
  over_tcp_ += tcp ? 1 : 0;
  enforce_limits(id);
  if (connections_.contains(id)) connection->start();
}

void ListeningServer::count_owners() {
  for (auto entry = connections_.upper_bound(counted_up_to_); entry != connections_.end();
       ++entry) {
    entry->second.owner.uid = entry->second.connection->uid_for_limits();
    ++owners_[entry->second.owner];
    counted_up_to_ = entry->first;
  }
}

void ListeningServer::enforce_limits(std::uint64_t newest) {
  const std::size_t least = std::min(options_.max_connections, options_.max_connections_per_uid);
  if (connections_.size() <= least) return;
  count_owners();
  const Owner owner = connections_.at(newest).owner;
  if (owner.uid && !exempt(owner) && owners_[owner] > options_.max_connections_per_uid) {
    return close_over_limit(
        newest,
        fmt::format("uid {} holds {} connections over {}, which is the limit", owner.uid->value,
                    options_.max_connections_per_uid, owner.tcp ? "TCP" : "the unix socket"));
  }
  if (connections_.size() > options_.max_connections) {
    close_over_limit(who_gives_way(newest),
                     fmt::format("the daemon holds {} connections, which is the limit, and most "
                                 "of them are of this user",
                                 options_.max_connections));
  }
}

// TCP leaves half of the places to the unix socket, and takes none there by coming last: how many
// users it seems to have is not to be believed.
std::uint64_t ListeningServer::who_gives_way(std::uint64_t newest) const {
  const bool tcp_first =
      connections_.at(newest).owner.tcp || over_tcp_ > options_.max_connections / 2;
  std::optional<std::uint64_t> gives_way = newest_of_heaviest(tcp_first);
  if (!gives_way) gives_way = newest_of_heaviest(!tcp_first);
  return gives_way.value_or(newest);
}

// Of all that hold the most where several do. Who is exempt has to reach the daemon most of all
// then, and does not count.
std::optional<std::uint64_t> ListeningServer::newest_of_heaviest(bool tcp) const {
  std::size_t most = 0;
  for (const auto& [owner, count] : owners_) {
    if (owner.tcp == tcp && !exempt(owner)) most = std::max(most, count);
  }
  for (auto entry = connections_.rbegin(); most > 0 && entry != connections_.rend(); ++entry) {
    const Owner& owner = entry->second.owner;
    if (owner.tcp == tcp && !exempt(owner) && owners_.at(owner) == most) return entry->first;
  }
  return std::nullopt;
}

void ListeningServer::close_over_limit(std::uint64_t id, const std::string& sentence) {
  ++counters_.over_limit;
  say_limit(sentence);
  const auto connection = connections_.at(id).connection;
  connection->close_with({"exhausted", sentence});
}

void ListeningServer::say_limit(std::string_view sentence) {
  if (!std::exchange(limit_reached_, true)) {
    log_.warning("rpc: turning connections away: {}", sentence);
  }
}

void ListeningServer::forget(std::uint64_t id) {
  const auto entry = connections_.find(id);
  if (entry == connections_.end()) return;
  if (id <= counted_up_to_) {
    const auto owner = owners_.find(entry->second.owner);
    if (owner != owners_.end() && --owner->second == 0) owners_.erase(owner);
  }
  over_tcp_ -= entry->second.owner.tcp ? 1 : 0;
  connections_.erase(entry);
  if (connections_.size() < options_.max_connections / 2) limit_reached_ = false;
}

}  // namespace

std::unique_ptr<Server> Server::start(EventLoop& loop, Log& log, ServerOptions options,
                                      Services services, MetricsService& metrics,
                                      CallerResolver& resolver) {
  return std::make_unique<ListeningServer>(loop, log, std::move(options), services, metrics,
                                           resolver);
}

}  // namespace dynolog::rpc
