// Each is one thread whose CPU time is read from outside.
#include "poll_server.h"

#include <fmt/format.h>
#include <pthread.h>
#include <sys/socket.h>
#include <time.h>

#include <array>
#include <atomic>
#include <cstring>
#include <thread>

#include "ipc/kineto_wire.h"
#include "ipc/queue_length.h"
#include "ipc/realtime.h"
#include "ipc/unix_address.h"
#include "testing/capturing_log.h"

namespace dynolog {
namespace {

// The CPU clock of a thread that set it.
class ThreadClock {
 public:
  void set_to_this_thread() {
    clockid_t clock{};
    if (::pthread_getcpuclockid(::pthread_self(), &clock) == 0) clock_ = clock;
  }
  [[nodiscard]] Nanoseconds read() const {
    timespec used{};
    ::clock_gettime(clock_.load(), &used);
    return std::chrono::seconds(used.tv_sec) + Nanoseconds(used.tv_nsec);
  }

 private:
  std::atomic<clockid_t> clock_ = CLOCK_PROCESS_CPUTIME_ID;
};

class DynologServer final : public PollServer {
 public:
  [[nodiscard]] bool start(const std::string& name) {
    KinetoThreadOptions options;
    options.abstract_name = name;
    auto thread = KinetoThread::start(options, SystemRoot{}, clock_, log_,
                                      [this](const KinetoEvent& event) { on(event); });
    if (!thread) {
      fmt::print(stderr, "{}\n", thread.error().message);
      return false;
    }
    thread_ = std::move(*thread);
    return true;
  }
  [[nodiscard]] Nanoseconds cpu() const override { return cpu_.read(); }
  [[nodiscard]] std::size_t told() const override { return told_; }
  [[nodiscard]] PollAnswers end() override {
    answers_.counters = thread_->counters();
    thread_.reset();
    return std::move(answers_);
  }

 private:
  void on(const KinetoEvent& event) {
    if (const auto* polled = std::get_if<KinetoPolled>(&event); polled && polled->answered) {
      answers_.sent_ns[polled->key.pid.value] = polled->time.time_since_epoch().count();
      ++told_;
    } else if (const auto* state = std::get_if<KinetoRealtimeState>(&event)) {
      cpu_.set_to_this_thread();  // it is the first event
      fmt::print("{}\n", state->sentence);
    }
  }

  SystemClock clock_;
  CapturingLog log_;
  ThreadClock cpu_;
  std::atomic<std::size_t> told_ = 0;
  PollAnswers answers_;  // the thread's, until it has ended
  std::unique_ptr<KinetoThread> thread_;
};

class FloorServer final : public PollServer {
 public:
  ~FloorServer() override { stop(); }
  [[nodiscard]] bool start(const std::string& name) {
    const LongQueues longer(SystemRoot{});
    fd_.reset(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    const auto address = unix_address('\0' + name);
    if (!fd_.valid() || !address || ::bind(fd_.get(), address->get(), address->length) != 0) {
      fmt::print(stderr, "the floor's socket could not be made\n");
      return false;
    }
    // All of its answers lie unread in one socket's account.
    const int room = 64 << 20;
    ::setsockopt(fd_.get(), SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof room);
    thread_ = std::thread([this] { serve(); });
    return true;
  }
  [[nodiscard]] Nanoseconds cpu() const override { return cpu_.read(); }
  [[nodiscard]] std::size_t told() const override { return told_; }
  [[nodiscard]] PollAnswers end() override {
    stop();
    return std::move(answers_);
  }

 private:
  void stop() {
    if (!thread_.joinable()) return;
    ::shutdown(fd_.get(), SHUT_RDWR);
    thread_.join();
  }
  void serve() {
    cpu_.set_to_this_thread();
    (void)set_realtime(true);
    const std::string reply = encode_kineto_reply("");
    std::array<char, kMaxKinetoDatagram> poll{};
    while (true) {
      sockaddr_un sender{};
      socklen_t length = sizeof sender;
      const ssize_t got = ::recvfrom(fd_.get(), poll.data(), poll.size(), 0,
                                     reinterpret_cast<sockaddr*>(&sender), &length);
      if (got <= 0) return;
      constexpr std::size_t kOwnPid = 56;  // behind the header and the body's fixed part
      std::int32_t pid = 0;
      std::memcpy(&pid, poll.data() + kOwnPid, sizeof pid);
      answers_.sent_ns[pid] = clock_.monotonic().time_since_epoch().count();
      ::sendto(fd_.get(), reply.data(), reply.size(), MSG_NOSIGNAL,
               reinterpret_cast<const sockaddr*>(&sender), length);
      ++told_;
    }
  }

  SystemClock clock_;
  ThreadClock cpu_;
  std::atomic<std::size_t> told_ = 0;
  PollAnswers answers_;  // the thread's, until it has ended
  UniqueFd fd_;
  std::thread thread_;
};

template <class Server>
std::unique_ptr<PollServer> start_server(const std::string& name) {
  auto server = std::make_unique<Server>();
  if (!server->start(name)) return nullptr;
  return server;
}

}  // namespace

std::unique_ptr<PollServer> start_dynolog(const std::string& abstract_name) {
  return start_server<DynologServer>(abstract_name);
}

std::unique_ptr<PollServer> start_floor(const std::string& abstract_name) {
  return start_server<FloorServer>(abstract_name);
}

}  // namespace dynolog
