// Kineto's polls against their budget: bursts of 64 and of 512 processes, then 5,000 registered
// ones whose polls are spread over 5 s. Each client is a process of its own, as in life. Exits with
// 1 when a budget is missed.
#include <fmt/format.h>
#include <semaphore.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/random.h"
#include "ipc/kineto_thread.h"
#include "testing/capturing_log.h"
#include "testing/kineto_client.h"

namespace dynolog {
namespace {

using std::chrono::seconds;

struct Sample {
  std::int64_t sent_ns = 0;        // before the first try to send
  std::int64_t round_trip_ns = 0;  // to when the client had it, its own scheduling included
  int retries = 0;
  bool answered = false;
  bool would_terminate = false;
};

// Shared by the processes.
struct Round {
  Round() {
    for (sem_t* each : {&ready, &gate, &done}) ::sem_init(each, 1, 0);
  }
  std::int64_t start_ns = 0;  // CLOCK_MONOTONIC; set before the gate opens
  sem_t ready{};
  sem_t gate{};
  sem_t done{};
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
  Sample sample{.sent_ns = began,
                .round_trip_ns = monotonic_ns() - began,
                .retries = client.retries() - retries};
  sample.answered = reply && *reply;
  sample.would_terminate = sample.answered && !(*reply)->would_terminate.empty();
  return sample;
}

void wait_for(sem_t& semaphore, std::size_t times) {
  for (std::size_t i = 0; i < times; ++i) {
    while (::sem_wait(&semaphore) != 0 && errno == EINTR) {
    }
  }
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
    ::sem_post(&round.ready);
    wait_for(round.gate, 1);
    const auto place =
        scene.spread * static_cast<std::int64_t>(index) / static_cast<std::int64_t>(scene.clients);
    wait_until(round.start_ns + place.count());
    sample = poll_once(*client);
    ::sem_post(&round.done);
  }
  ::pause();
  ::_exit(0);
}

struct Quantiles {
  explicit Quantiles(std::vector<double> values) : sorted(std::move(values)) {
    std::ranges::sort(sorted);
  }
  [[nodiscard]] double at(double part) const {
    if (sorted.empty()) return 0;
    return sorted[static_cast<std::size_t>(part * static_cast<double>(sorted.size() - 1))];
  }
  std::vector<double> sorted;
};

struct Outcome {
  KinetoCounters counters;
  Nanoseconds cpu;  // of the daemon's side, in the measured round
  std::unordered_map<std::int32_t, std::int64_t> answered_ns;  // by pid, the last
};

bool report(const Scene& scene, std::span<const Sample> samples, std::span<const pid_t> children,
            const Outcome& outcome) {
  std::vector<double> round_trips;
  std::vector<double> ages;
  int retries = 0;
  bool harmed = false;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const Sample& sample = samples[i];
    retries += sample.retries;
    harmed = harmed || sample.would_terminate;
    if (!sample.answered) continue;
    round_trips.push_back(static_cast<double>(sample.round_trip_ns) / 1e6);
    ages.push_back(static_cast<double>(outcome.answered_ns.at(children[i]) - sample.sent_ns) / 1e6);
  }
  const Quantiles age(std::move(ages));
  const Quantiles round_trip(std::move(round_trips));
  const double budget = static_cast<double>(scene.budget.count()) / 1e6;
  fmt::print(
      "{}: {} of {} answered; age at the answer p50 {:.2f} ms, p99 {:.2f}, max {:.2f} "
      "(budget {}); seen by the client p50 {:.2f}, p99 {:.2f}, max {:.2f}; "
      "{} late, {} doubled, {} behind; {} sends tried again; {:.1f} us of CPU a poll\n",
      scene.title, age.sorted.size(), samples.size(), age.at(0.5), age.at(0.99), age.at(1), budget,
      round_trip.at(0.5), round_trip.at(0.99), round_trip.at(1), outcome.counters.late,
      outcome.counters.doubled, outcome.counters.behind, retries,
      static_cast<double>(outcome.cpu.count()) / 1e3 / static_cast<double>(scene.clients));
  return age.sorted.size() == samples.size() && !harmed && age.at(1) < budget;
}

Nanoseconds process_cpu_time() {
  timespec used{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return seconds(used.tv_sec) + Nanoseconds(used.tv_nsec);
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
  Outcome outcome{};
  // Written by the thread, read after it has ended.
  auto thread = KinetoThread::start(options, SystemRoot{}, clock, log, [&](KinetoEvent event) {
    if (const auto* polled = std::get_if<KinetoPolled>(&event); polled && polled->answered) {
      outcome.answered_ns[polled->key.pid.value] = polled->time.time_since_epoch().count();
    }
    if (const auto* state = std::get_if<KinetoRealtimeState>(&event)) {
      fmt::print("{}\n", state->sentence);
    }
  });
  bool good = thread.has_value() && children.size() == scene.clients;
  for (Round& round : rounds) {
    if (!good) break;
    wait_for(round.ready, scene.clients);
    // A poll within 250 ms of the last counts as doubled.
    constexpr Nanoseconds kLead = seconds(1);
    round.start_ns = monotonic_ns() + kLead.count();
    for (std::size_t i = 0; i < scene.clients; ++i) ::sem_post(&round.gate);
    const Nanoseconds before = process_cpu_time();
    wait_for(round.done, scene.clients);
    outcome.cpu = process_cpu_time() - before;
  }
  if (good) outcome.counters = (*thread)->counters();
  if (good) thread->reset();
  good = good && report(scene, samples, children, outcome);
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
      {"polls of 64 known, at one instant", 64, 2, Nanoseconds(0), Milliseconds(40)},
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
