// Kineto's polls against their budget: a burst of 512 processes, then 5,000 registered ones whose
// polls are spread over 5 s. Each client is a process of its own, as in life. Exits with 1 when a
// budget is missed.
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "ipc/kineto_thread.h"
#include "testing/capturing_log.h"
#include "testing/kineto_client.h"

namespace dynolog {
namespace {

using std::chrono::seconds;

struct Sample {
  std::int64_t nanoseconds = 0;  // from the first try to send to the reply
  int retries = 0;
  bool answered = false;
  bool would_terminate = false;
};

// Shared by the processes.
struct Round {
  std::atomic<std::int64_t> start_ns = 0;  // CLOCK_MONOTONIC; 0: not yet
  std::atomic<int> ready = 0;
  std::atomic<int> done = 0;
};

struct Scene {
  std::string_view title;
  std::size_t clients;
  int rounds;          // the last is measured
  Nanoseconds spread;  // of the polls of one round
  Nanoseconds budget;  // for the slowest answer
};

std::int64_t monotonic_ns() {
  return std::chrono::steady_clock::now().time_since_epoch() / Nanoseconds(1);
}

void wait_until(std::int64_t when_ns) {
  const timespec when{.tv_sec = when_ns / 1'000'000'000, .tv_nsec = when_ns % 1'000'000'000};
  while (::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &when, nullptr) == EINTR) {
  }
}

template <class T>
std::span<T> shared_array(std::size_t count) {
  void* memory =
      ::mmap(nullptr, count * sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) std::abort();
  auto* first = static_cast<T*>(memory);
  std::uninitialized_value_construct_n(first, count);
  return {first, count};
}

Sample poll_once(KinetoTestClient& client) {
  const int retries = client.retries();
  const std::int64_t began = monotonic_ns();
  const auto reply = client.poll();
  Sample sample{.nanoseconds = monotonic_ns() - began, .retries = client.retries() - retries};
  sample.answered = reply && *reply;
  sample.would_terminate = sample.answered && !(*reply)->would_terminate.empty();
  return sample;
}

// One client process: polls in each round at its own place in the spread.
[[noreturn]] void live(const Scene& scene, std::size_t index, const std::string& name,
                       std::span<Round> rounds, Sample& sample) {
  auto client = KinetoTestClient::open({.profile = *kineto_client_profile("2.13"),
                                        .abstract_name = name,
                                        .directory = "",
                                        .pids = {},
                                        .job = 0});
  if (!client) ::_exit(1);
  for (Round& round : rounds) {
    ++round.ready;
    round.ready.notify_all();
    round.start_ns.wait(0);
    const auto place =
        scene.spread * static_cast<std::int64_t>(index) / static_cast<std::int64_t>(scene.clients);
    wait_until(round.start_ns + place.count());
    sample = poll_once(*client);
    ++round.done;
    round.done.notify_all();
  }
  ::pause();
  ::_exit(0);
}

void wait_for(const std::atomic<int>& counter, std::size_t wanted) {
  for (int now = counter; static_cast<std::size_t>(now) < wanted; now = counter) counter.wait(now);
}

bool report(const Scene& scene, std::span<const Sample> samples, const KinetoCounters& counters) {
  std::vector<double> milliseconds;
  int retries = 0;
  bool harmed = false;
  for (const Sample& sample : samples) {
    retries += sample.retries;
    harmed = harmed || sample.would_terminate;
    if (sample.answered) milliseconds.push_back(static_cast<double>(sample.nanoseconds) / 1e6);
  }
  std::ranges::sort(milliseconds);
  const auto at = [&milliseconds](double part) {
    if (milliseconds.empty()) return 0.0;
    return milliseconds[static_cast<std::size_t>(part *
                                                 static_cast<double>(milliseconds.size() - 1))];
  };
  const double budget = static_cast<double>(scene.budget.count()) / 1e6;
  fmt::print(
      "{}: {} of {} answered, {} late, p50 {:.2f} ms, p99 {:.2f}, max {:.2f} (budget {}), "
      "{} sends tried again\n",
      scene.title, milliseconds.size(), samples.size(), counters.late, at(0.5), at(0.99), at(1),
      budget, retries);
  return milliseconds.size() == samples.size() && !harmed && at(1) < budget;
}

bool play(const Scene& scene) {
  const std::string name = "dynolog-bench-" + random_hex64() + '\0';
  const auto rounds = shared_array<Round>(static_cast<std::size_t>(scene.rounds));
  const auto samples = shared_array<Sample>(scene.clients);
  std::vector<pid_t> children;
  for (std::size_t i = 0; i < scene.clients; ++i) {
    const pid_t child = ::fork();
    if (child == 0) live(scene, i, name, rounds, samples[i]);
    if (child < 0) {
      fmt::print(stderr, "fork: only {} clients\n", i);
      break;
    }
    children.push_back(child);
  }
  const SystemClock clock;
  CapturingLog log;
  KinetoThreadOptions options;
  options.abstract_name = name;
  auto thread = KinetoThread::start(options, SystemRoot{}, clock, log, [](KinetoEvent event) {
    if (const auto* state = std::get_if<KinetoRealtimeState>(&event)) {
      fmt::print("{}\n", state->sentence);
    }
  });
  bool good = thread.has_value() && children.size() == scene.clients;
  for (Round& round : rounds) {
    if (!good) break;
    wait_for(round.ready, scene.clients);
    constexpr Nanoseconds kLead = Milliseconds(200);
    round.start_ns = monotonic_ns() + kLead.count();
    round.start_ns.notify_all();
    wait_for(round.done, scene.clients);
  }
  good = good && report(scene, samples, (*thread)->counters());
  for (const pid_t child : children) ::kill(child, SIGKILL);
  for (const pid_t child : children) ::waitpid(child, nullptr, 0);
  return good;
}

int run() {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
  constexpr Scene kScenes[] = {
      {"first polls of 512, at one instant", 512, 1, Nanoseconds(0), Milliseconds(40)},
      {"polls of 512 known, at one instant", 512, 2, Nanoseconds(0), Milliseconds(40)},
      {"polls of 5,000 known, over 5 s", 5000, 2, seconds(5), Milliseconds(10)},
  };
  bool good = true;
  for (const Scene& scene : kScenes) good = play(scene) && good;
  return good ? 0 : 1;
}

}  // namespace
}  // namespace dynolog

int main() { return dynolog::run(); }
