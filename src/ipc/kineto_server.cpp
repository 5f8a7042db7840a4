// Level-triggered, in batches: no endpoint can keep the others waiting.
#include "ipc/kineto_server.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "ipc/queue_length.h"

namespace dynolog {
namespace {

constexpr std::uint64_t kWakeTag = ~std::uint64_t{0} & ~KinetoClients::kTagBit;
constexpr int kBatch = 64;
constexpr std::size_t kMaxEndpoints = 4096;

// A user who sends more than this to a directory of his own waits for the next window, so that the
// others are served and the reader stays modest: 512 honest processes that all poll twice fit in.
constexpr Nanoseconds kWindow = Milliseconds(250);
constexpr int kMaxInWindow = 1024;

// What a user can bring about by asking for his directory: with the polls of everybody else
// waiting.
constexpr Nanoseconds kBetweenLooks = Milliseconds(50);
constexpr Nanoseconds kBetweenTries = std::chrono::seconds(1);
// After so many turns with polls newcomers have a share all the same.
constexpr int kTurnsOfPolls = 8;
// Endpoints looked at in one turn.
constexpr std::size_t kRetriedAtOnce = 64;

bool watch(int epoll, int fd, std::uint64_t tag) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = tag;
  return ::epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) == 0;
}

void listen_or_pause(int epoll, int fd, std::uint64_t tag, bool listen) {
  epoll_event event{};
  event.events = listen ? static_cast<std::uint32_t>(EPOLLIN) : 0;
  event.data.u64 = tag;
  ::epoll_ctl(epoll, EPOLL_CTL_MOD, fd, &event);
}

}  // namespace

Result<std::unique_ptr<KinetoServer>> KinetoServer::make(const KinetoThreadOptions& options,
                                                         const SystemRoot& root, const Clock& clock,
                                                         Log& log,
                                                         std::function<void(KinetoEvent)> on_event,
                                                         KinetoTally& tally, int wake) {
  UniqueFd epoll(::epoll_create1(EPOLL_CLOEXEC));
  if (!epoll.valid()) return fail_errno(errno, "epoll_create1");
  if (!watch(epoll.get(), wake, kWakeTag)) return fail_errno(errno, "epoll_ctl");
  std::unique_ptr<KinetoServer> server(
      new KinetoServer(options, root, clock, log, std::move(on_event), tally, std::move(epoll)));
  server->begin();
  return server;
}

KinetoServer::KinetoServer(const KinetoThreadOptions& options, const SystemRoot& root,
                           const Clock& clock, Log& log, std::function<void(KinetoEvent)> on_event,
                           KinetoTally& tally, UniqueFd epoll)
    : options_(options),
      handed_(options.handed),
      root_(root),
      clock_(clock),
      log_(log),
      emit_(std::move(on_event)),
      tally_(tally),
      epoll_(std::move(epoll)),
      priority_(options.realtime, set_realtime),
      answers_(options.max_clients, root, clock, tally, emit_),
      clients_(options.max_clients, root, clock, tally, epoll_.get(),
               {.on_known = [this](KinetoClient& client) { answers_.on_known(client); },
                .on_end = [this](KinetoClient& client) { answers_.on_end(client); },
                .on_move = [this](KinetoClient& client) { answers_.on_move(client); }}) {}

KinetoServer::~KinetoServer() {
  if (!options_.keep_sockets) return;
  for (const Listener& listener : listeners_) {
    if (!listener.removed) listener.endpoint->leave();
  }
}

void KinetoServer::begin() {
  own_the_thread();
  report(priority_.begin(clock_.monotonic(), thread_cpu_time()));
  if (options_.abstract_endpoint) add(make_abstract_endpoint(options_.abstract_name, clock_));
  for (const std::string& directory : options_.directories) add_directory(directory);
  retry_at_ = clock_.monotonic() + options_.retry;
}

void KinetoServer::own_the_thread() {
  // A umask is of the file system context, which threads share unless told otherwise.
  if (::unshare(CLONE_FS) == 0) {
    ::umask(0);
  } else {
    log_.warning(
        "Kineto: sockets in directories get the daemon's umask (unshare is not permitted), so "
        "other "
        "users' processes may not reach them");
  }
}

std::vector<KinetoServer::Listener>::iterator KinetoServer::find(const std::string& directory) {
  return std::ranges::find(listeners_, directory,
                           [](const Listener& listener) { return listener.endpoint->label(); });
}

void KinetoServer::add_directory(const std::string& directory) {
  const auto same = find(directory);
  if (same == listeners_.end()) {
    add(make_directory_endpoint(directory, clock_));
    return;
  }
  same->removed = false;
  look_again(static_cast<std::size_t>(same - listeners_.begin()));
}

void KinetoServer::remove_directory(const std::string& directory) {
  const auto same = find(directory);
  if (same == listeners_.end() || same->removed) return;
  same->endpoint->close();
  (void)record(*same, fail(ErrorKind::unavailable, "it is no longer served"));
  same->removed = true;
  same->untold = false;
  same->paused_until.reset();
  same->tried.reset();
  tell(*same);
}

// Asked again: the directory may have been made anew, or the socket in it be another's.
void KinetoServer::look_again(std::size_t index) {
  Listener& listener = listeners_[index];
  const MonotonicTime now = clock_.monotonic();
  if (!listener.looked || now - *listener.looked >= kBetweenLooks) {
    listener.looked = now;
    const bool there = listener.endpoint->fd() >= 0 && listener.endpoint->intact();
    if (there || !listener.tried || now - *listener.tried >= kBetweenTries) {
      (void)refresh(index);
    } else if (listener.up) {
      const std::string sentence = fmt::format(
          "the socket in {} was removed or replaced; it is made anew in a few seconds, if its "
          "name is free",
          listener.endpoint->label());
      (void)record(listener, fail(ErrorKind::unavailable, sentence));
    }
  }
  tell(listener);
}

void KinetoServer::add(std::unique_ptr<KinetoEndpoint> endpoint) {
  if (listeners_.size() >= kMaxEndpoints) {
    emit_(KinetoEndpointState{
        .endpoint = endpoint->label(),
        .up = false,
        .problem =
            fmt::format("there are {} endpoints already, and no more are made", kMaxEndpoints)});
    return;
  }
  listeners_.emplace_back().endpoint = std::move(endpoint);
  (void)refresh(listeners_.size() - 1);
  tell(listeners_.back());
}

void KinetoServer::try_open(std::size_t index) {
  if (listeners_[index].removed) return;
  if (refresh(index) || listeners_[index].untold) tell(listeners_[index]);
}

bool KinetoServer::refresh(std::size_t index) {
  Listener& listener = listeners_[index];
  if (listener.endpoint->fd() >= 0 && listener.endpoint->intact()) return record(listener, {});
  listener.tried = clock_.monotonic();
  listener.endpoint->close();
  return record(listener, open(index));
}

Status KinetoServer::open(std::size_t index) {
  Listener& listener = listeners_[index];
  if (auto opened = bind_or_adopt(listener); !opened) return opened;
  const int fd = listener.endpoint->fd();
  const auto features = prepare_to_receive(fd, options_.refuse_descriptors);
  if (!features || !watch(epoll_.get(), fd, index)) {
    auto error = features ? fail_errno(errno, "epoll_ctl") : std::unexpected(features.error());
    listener.endpoint->close();
    return error;
  }
  listener.rights_refused = features->rights_refused;
  if (!listener.rights_refused && !watchdog_) {
    auto watchdog = ReceiveWatchdog::start();
    if (watchdog) watchdog_ = std::move(*watchdog);
  }
  return {};
}

std::shared_ptr<UniqueFd> KinetoServer::take_handed(const std::string& endpoint) {
  const auto found = std::ranges::find(handed_, endpoint, &HandedSocket::endpoint);
  if (found == handed_.end()) return nullptr;
  auto socket = std::move(found->socket);
  handed_.erase(found);
  return socket;
}

Status KinetoServer::bind_or_adopt(Listener& listener) {
  if (const auto handed = take_handed(listener.endpoint->label())) {
    const auto adopted = listener.endpoint->adopt(std::move(*handed), root_);
    if (adopted) return {};
    listener.not_taken = adopted.error().message;
  }
  const LongQueues longer(root_);
  auto opened = listener.endpoint->open(root_);
  listener.untold = opened.has_value() && options_.keep_sockets;
  return opened;
}

bool KinetoServer::record(Listener& listener, const Status& status) {
  const bool up = status.has_value();
  std::string problem = up ? "" : status.error().message;
  if (listener.up == up && listener.problem == problem) return false;
  listener.up = up;
  listener.problem = std::move(problem);
  return true;
}

void KinetoServer::tell(Listener& listener) {
  KinetoEndpointState state{.endpoint = listener.endpoint->label(),
                            .up = listener.up,
                            .problem = listener.problem,
                            .not_taken = std::exchange(listener.not_taken, {}),
                            .removed = listener.removed};
  if (std::exchange(listener.untold, false) && listener.up) {
    UniqueFd copy(::fcntl(listener.endpoint->fd(), F_DUPFD_CLOEXEC, 0));
    if (copy.valid()) state.socket = std::make_shared<const UniqueFd>(std::move(copy));
  }
  emit_(std::move(state));
}

void KinetoServer::retry(MonotonicTime now) {
  if (!retry_at_ || now < *retry_at_) return;
  const std::size_t end = std::min(retry_next_ + kRetriedAtOnce, listeners_.size());
  for (; retry_next_ < end; ++retry_next_) try_open(retry_next_);
  // The rest in the next turns: polls come in between.
  if (retry_next_ < listeners_.size()) return;
  retry_next_ = 0;
  retry_at_ = now + options_.retry;
}

void KinetoServer::report(RealtimePriority::Change change) {
  switch (change) {
    case RealtimePriority::Change::none:
      return;
    case RealtimePriority::Change::taken:
      emit_(KinetoRealtimeState{.realtime = true,
                                .sentence = "Kineto's polls are answered at "
                                            "real-time priority"});
      return;
    case RealtimePriority::Change::refused:
      emit_(KinetoRealtimeState{
          .realtime = false,
          .sentence =
              "real-time priority is not permitted (CAP_SYS_NICE, or a limit of RTPRIO): on "
              "a busy host some polls of processes may go unanswered"});
      return;
    case RealtimePriority::Change::left:
      emit_(KinetoRealtimeState{
          .realtime = false,
          .sentence = "Kineto's endpoints are flooded: answering took over 5 % of a core, so "
                      "real-time priority is given up until it has been quiet for a minute"});
  }
}

int KinetoServer::timeout(MonotonicTime now) const {
  std::optional<MonotonicTime> next;
  const auto consider = [&next](std::optional<MonotonicTime> due) {
    if (due && (!next || *due < *next)) next = due;
  };
  consider(answers_.next_due());
  consider(priority_.next_due());
  const bool anything_to_try = std::ranges::any_of(listeners_, [](const Listener& listener) {
    return !listener.removed && (!listener.up || listener.endpoint->label().starts_with('/'));
  });
  if (anything_to_try) consider(retry_at_);
  for (const Listener& listener : listeners_) consider(listener.paused_until);
  if (!next) return -1;
  if (*next <= now) return 0;
  // Rounded up, or the loop would turn until the time has come.
  return static_cast<int>(std::chrono::ceil<Milliseconds>(*next - now).count());
}

bool KinetoServer::turn() {
  std::array<epoll_event, kBatch> events{};
  const int patience = clients_.newcomers_wait() ? 0 : timeout(clock_.monotonic());
  const int count = ::epoll_wait(epoll_.get(), events.data(), kBatch, patience);
  bool commands = false;
  bool polls = false;
  for (int i = 0; i < count; ++i) {
    const std::uint64_t tag = events[static_cast<std::size_t>(i)].data.u64;
    if (tag == kWakeTag) {
      commands = true;
    } else if ((tag & KinetoClients::kTagBit) != 0) {
      clients_.on_pidfd(tag);
    } else if (tag < listeners_.size()) {
      drain(tag);
      polls = true;
    }
  }
  if (!polls || ++turns_of_polls_ >= kTurnsOfPolls) {
    clients_.get_to_know_some();
    turns_of_polls_ = 0;
  }
  const MonotonicTime now = clock_.monotonic();
  answers_.on_time(clients_);
  resume(now);
  retry(now);
  report(priority_.on_turn(now, thread_cpu_time()));
  return commands;
}

void KinetoServer::drain(std::size_t index) {
  Listener& listener = listeners_[index];
  if (listener.endpoint->fd() < 0) return;
  const bool watched = !listener.rights_refused && watchdog_ != nullptr;
  if (watched) watchdog_->arm();
  receive_batch(listener, watched);
  if (watched) watchdog_->disarm();
  if (listener.endpoint->of_one_user()) pause_if_flooded(index, clock_.monotonic());
}

void KinetoServer::pause_if_flooded(std::size_t index, MonotonicTime now) {
  Listener& listener = listeners_[index];
  if (now - listener.window_start >= kWindow) {
    listener.window_start = now;
    listener.in_window = 0;
    return;
  }
  if (listener.in_window < kMaxInWindow) return;
  ++tally_.paused;
  listener.paused_until = now + kWindow;
  listen_or_pause(epoll_.get(), listener.endpoint->fd(), index, false);
}

void KinetoServer::resume(MonotonicTime now) {
  for (std::size_t i = 0; i < listeners_.size(); ++i) {
    Listener& listener = listeners_[i];
    if (!listener.paused_until || *listener.paused_until > now) continue;
    listener.paused_until.reset();
    listener.window_start = now;
    listener.in_window = 0;
    if (listener.endpoint->fd() >= 0) {
      listen_or_pause(epoll_.get(), listener.endpoint->fd(), i, true);
    }
  }
}

void KinetoServer::receive_batch(Listener& listener, bool watched) {
  Datagram datagram;
  for (int i = 0; i < kBatch; ++i) {
    const MonotonicTime before = watched ? clock_.monotonic() : MonotonicTime{};
    const auto outcome = receiver_.receive(listener.endpoint->fd(), datagram);
    if (watched && clock_.monotonic() - before >= ReceiveWatchdog::kPatience / 2) {
      ++tally_.receive_interrupted;
    }
    if (outcome == DatagramReceiver::Outcome::received) {
      ++listener.in_window;
      handle(datagram, *listener.endpoint);
    } else if (outcome == DatagramReceiver::Outcome::nothing) {
      return;
    }
  }
}

void KinetoServer::handle(Datagram& datagram, KinetoEndpoint& endpoint) {
  if (datagram.with_descriptors) {
    ++tally_.with_descriptors;
    return;
  }
  if (datagram.pid <= 0) {
    ++tally_.no_credentials;
    return;
  }
  const auto message =
      datagram.oversize ? fail(ErrorKind::invalid, "too long") : decode_kineto(datagram.bytes);
  if (!message) {
    ++tally_.malformed;
    return;
  }
  KinetoClient* client = clients_.of_sender(datagram, endpoint);
  if (client == nullptr) {
    if (clients_.full() && !std::exchange(told_table_full_, true)) {
      log_.warning("Kineto: {} processes are registered; no more are answered", clients_.size());
    }
    return;
  }
  if (answers_.has_for(client->key.pid) && !clients_.get_to_know(*client)) return;
  if (const auto* poll = std::get_if<KinetoPoll>(&*message)) {
    answers_.on_poll(*client, *poll, datagram.queued);
  } else {
    answers_.on_context(*client, clients_.size(), datagram.queued);
  }
}

}  // namespace dynolog
