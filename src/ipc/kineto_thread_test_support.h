// What the tests of the Kineto thread share: the real thread on a name of its own, its events, and
// other processes that poll.
#pragma once

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/random.h"
#include "ipc/client_identity.h"
#include "ipc/kineto_thread.h"
#include "testing/capturing_log.h"
#include "testing/kineto_client.h"
#include "testing/patience.h"
#include "testing/user_namespace.h"

namespace dynolog {

// The real clock, with a wall clock that can be put ahead: then every message looks late. Monotonic
// time can be made to pass, so that limits per second do not hold a test up.
class ShiftedClock final : public Clock {
 public:
  [[nodiscard]] MonotonicTime monotonic() const override {
    return clock_.monotonic() + passed_.load();
  }
  [[nodiscard]] WallTime wall() const override { return clock_.wall() + shift_.load(); }
  void shift(Nanoseconds by) { shift_ = by; }
  void pass(Nanoseconds by) { passed_ = passed_.load() + by; }

 private:
  SystemClock clock_;
  std::atomic<Nanoseconds> shift_{Nanoseconds(0)};
  std::atomic<Nanoseconds> passed_{Nanoseconds(0)};
};

// Events in their order, from the thread's side to the test's.
class EventQueue {
 public:
  void push(KinetoEvent event) {
    {
      const std::scoped_lock lock(mutex_);
      events_.push_back(std::move(event));
    }
    arrived_.notify_all();
  }

  // The next event of type T that fits; those before it stay for other calls. nullopt after
  // kPatience.
  template <class T>
  std::optional<T> next(std::function<bool(const T&)> fits = nullptr) {
    std::unique_lock lock(mutex_);
    std::optional<T> found;
    arrived_.wait_for(lock, kPatience, [&] {
      for (auto at = events_.begin(); at != events_.end(); ++at) {
        const T* event = std::get_if<T>(&*at);
        if (event == nullptr || (fits && !fits(*event))) continue;
        found = *event;
        events_.erase(at);
        return true;
      }
      return false;
    });
    return found;
  }
  // What is there now.
  template <class T>
  [[nodiscard]] std::size_t count() {
    const std::scoped_lock lock(mutex_);
    std::size_t count = 0;
    for (const KinetoEvent& event : events_) count += std::holds_alternative<T>(event) ? 1 : 0;
    return count;
  }
  [[nodiscard]] std::vector<std::size_t> kinds() {
    const std::scoped_lock lock(mutex_);
    std::vector<std::size_t> kinds;
    for (const KinetoEvent& event : events_) kinds.push_back(event.index());
    return kinds;
  }

 private:
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::vector<KinetoEvent> events_;
};

inline KinetoClientOptions client_options(const KinetoThreadOptions& daemon,
                                          std::string_view version = "2.13") {
  return {.profile = *kineto_client_profile(version),
          .abstract_name = daemon.abstract_name,
          .directory = daemon.directories.empty() ? "" : daemon.directories.front(),
          .pids = {},
          .job = 42};
}

// Another process that polls when told to. Made before the thread is: a fork of a process with
// threads is not safe to go on in.
class Puppet {
 public:
  explicit Puppet(KinetoClientOptions options) {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) std::abort();
    pid_ = ::fork();
    if (pid_ == 0) {
      ::close(ends[0]);
      obey(UniqueFd(ends[1]), std::move(options));
      ::_exit(0);
    }
    ::close(ends[1]);
    channel_.reset(ends[0]);
  }
  ~Puppet() { end(); }
  Puppet(const Puppet&) = delete;
  Puppet& operator=(const Puppet&) = delete;

  // "poll", "ask", "send", "busy", "idle", "receive", "reopen", "uid N", "subordinate N" (uid
  // 4321's)
  std::string tell(const std::string& command) {
    ::send(channel_.get(), command.data(), command.size(), MSG_NOSIGNAL);
    char answer[4096];
    const ssize_t got = ::recv(channel_.get(), answer, sizeof answer, 0);
    return got < 0 ? "gone" : std::string(answer, static_cast<std::size_t>(got));
  }
  void end() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(std::exchange(pid_, -1), nullptr, 0);
  }
  [[nodiscard]] Pid pid() const { return Pid{pid_}; }

 private:
  static std::string describe(const std::optional<KinetoClientReply>& reply) {
    if (!reply) return "unanswered";
    if (!reply->would_terminate.empty()) return "terminate: " + reply->would_terminate;
    return "answered:" + reply->config;
  }
  static std::string act(std::string_view command, std::optional<KinetoTestClient>& client) {
    if (command.starts_with("uid ")) {
      const auto uid = static_cast<uid_t>(std::atoi(command.data() + 4));
      return ::setresuid(uid, uid, uid) == 0 ? "ok" : "refused";
    }
    if (command.starts_with("subordinate ")) {
      const auto uid = static_cast<uid_t>(std::atoi(command.data() + 12));
      return enter_user_namespace(4321, uid, 1) ? "ok" : "refused";
    }
    if (command == "receive") return describe(client->wait(kPatience));
    if (command == "busy" || command == "idle") {
      client->set_busy(command == "busy");
      return "ok";
    }
    if (command == "send") return client->send_poll() ? "ok" : "failed";
    if (command == "reopen") return client->reopen() ? "ok" : "failed";
    // "poll" once; "ask" until answered, as the real one does over its periods.
    for (int i = 0; true; ++i) {
      const auto reply = client->poll();
      if (!reply) return reply.error().message;
      if (*reply || command == "poll" || i == 300) return describe(*reply);
    }
  }
  static bool becomes(std::string_view command) {
    return command.starts_with("uid ") || command.starts_with("subordinate ");
  }
  static void obey(UniqueFd channel, KinetoClientOptions options) {
    std::optional<KinetoTestClient> client;
    char buffer[4096];
    while (true) {
      const ssize_t got = ::recv(channel.get(), buffer, sizeof buffer - 1, 0);
      if (got <= 0) return;
      buffer[got] = '\0';
      if (!client && !becomes(buffer)) {
        auto opened = KinetoTestClient::open(options);
        if (!opened) return;
        client = std::move(*opened);
      }
      const std::string answer = act({buffer, static_cast<std::size_t>(got)}, client);
      ::send(channel.get(), answer.data(), answer.size(), MSG_NOSIGNAL);
    }
  }

  pid_t pid_ = -1;
  UniqueFd channel_;
};

// As long as it lives, the Kineto thread hangs in telling of the next event, which is seen all the
// same.
class Hold {
 public:
  explicit Hold(std::atomic<bool>& holds) : holds_(holds) { holds_ = true; }
  ~Hold() {
    holds_ = false;
    holds_.notify_all();
  }
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;

 private:
  std::atomic<bool>& holds_;
};

class KinetoThreadTest : public testing::Test {
 protected:
  KinetoThreadTest() {
    options_.abstract_name = "dynolog-test-" + random_hex64() + '\0';
    options_.realtime = false;
    options_.retry = Milliseconds(20);
  }

  void start() {
    auto thread =
        KinetoThread::start(options_, SystemRoot{}, clock_, log_, [this](KinetoEvent event) {
          // Looked at before: what is seen of an event can be followed by a hold at once.
          const bool hangs = hold_;
          if (look_) look_(event);
          events_.push(std::move(event));
          if (hangs) hold_.wait(true);
        });
    ASSERT_TRUE(thread) << thread.error().message;
    thread_ = std::move(*thread);
  }
  // A client of this process. It comes from another socket than the last one.
  [[nodiscard]] KinetoTestClient open_client(std::string_view version = "2.13") {
    clock_.pass(std::chrono::seconds(1));
    auto client = KinetoTestClient::open(client_options(options_, version));
    EXPECT_TRUE(client);
    return std::move(*client);
  }
  // A poll of which the thread will tell, be it answered or not.
  [[nodiscard]] std::optional<KinetoPolled> poll(KinetoTestClient& client) {
    clock_.pass(std::chrono::seconds(1));
    if (!client.send_poll()) return std::nullopt;
    return events_.next<KinetoPolled>();
  }
  // A poll that must be answered, by a client whose patience does not count here.
  [[nodiscard]] KinetoClientReply ask(KinetoTestClient& client) {
    for (int i = 0; i < 50; ++i) {
      const auto polled = poll(client);
      EXPECT_TRUE(polled);
      // Late or doubled on a loaded machine: the client would ask again.
      if (!polled || !polled->answered) {
        EXPECT_FALSE(client.wait(client.patience()));
        continue;
      }
      const auto reply = client.wait(kPatience);
      EXPECT_TRUE(reply);
      return reply.value_or(KinetoClientReply{});
    }
    ADD_FAILURE() << "never answered";
    return {};
  }
  // This process, as the thread knows it.
  [[nodiscard]] static ProcessKey key_of(Pid pid) {
    const UniqueFd pidfd(open_pidfd(pid));
    const auto identity = read_identity(SystemRoot{}, pid, pidfd.get());
    return {.pid = pid, .start_ticks = identity ? identity->start_ticks : 0};
  }
  [[nodiscard]] static ProcessKey own_key() { return key_of(Pid{::getpid()}); }
  [[nodiscard]] static Uid own_uid() { return Uid{::geteuid()}; }
  [[nodiscard]] static TraceRequest request(std::string trace_id) {
    TraceRequest request;
    request.config = "ACTIVITIES_DURATION_MSECS=500\n";
    request.trace_id = std::move(trace_id);
    request.start_lead = kStartMargin;
    return request;
  }
  // Puts, and waits until the thread has it: it obeys in order, and answers a withdrawal.
  void put(ProcessKey key, Uid uid, TraceRequest request) {
    thread_->put(key, uid, std::move(request));
    thread_->withdraw(key, "no such trace");
    ASSERT_TRUE(events_.next<KinetoWithdrawn>());
  }

  // What a test wants to see or do when the thread tells of an event, on that thread.
  std::function<void(const KinetoEvent&)> look_;
  // Held by a test, it stops the thread at its next event.
  std::atomic<bool> hold_ = false;
  KinetoThreadOptions options_;
  ShiftedClock clock_;
  CapturingLog log_;
  EventQueue events_;
  std::unique_ptr<KinetoThread> thread_;
};

}  // namespace dynolog
