// Kineto's polls against their budget: bursts of 64 and of 512 processes, then 5,000 registered
// ones whose polls are spread over 5 s. Each client is a process of its own, as in life. The burst
// of first polls is played beside its floor. Exits with 1 when a budget is missed.
//
// polls_bench first N: the burst of first polls and its floor only, N times in turns.
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
#include <vector>

#include "base/descriptor_room.h"
#include "base/number.h"
#include "base/random.h"
#include "poll_server.h"
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
  Nanoseconds budget;  // for the slowest answer; none: the floor, which has nothing to keep to
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
  PollAnswers answers;
  Nanoseconds cpu;  // of the server's thread, in the measured round
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
    const auto sent = outcome.answers.sent_ns.find(children[i]);
    if (!sample.answered || sent == outcome.answers.sent_ns.end()) continue;
    round_trips.push_back(static_cast<double>(sample.round_trip_ns) / 1e6);
    ages.push_back(static_cast<double>(sent->second - sample.sent_ns) / 1e6);
  }
  const Quantiles age(std::move(ages));
  const Quantiles round_trip(std::move(round_trips));
  const KinetoCounters& counters = outcome.answers.counters;
  const bool floor = scene.budget == Nanoseconds(0);
  const double budget = static_cast<double>(scene.budget.count()) / 1e6;
  fmt::print(
      "{}: {} of {} answered; age at the answer p50 {:.2f} ms, p99 {:.2f}, max {:.2f} ({}); seen "
      "by the client p50 {:.2f}, p99 {:.2f}, max {:.2f}; {} late, {} doubled, {} behind; {} sends "
      "tried again; {:.1f} us of CPU a poll\n",
      scene.title, age.sorted.size(), samples.size(), age.at(0.5), age.at(0.99), age.at(1),
      floor ? "no budget" : fmt::format("budget {}", budget), round_trip.at(0.5),
      round_trip.at(0.99), round_trip.at(1), counters.late, counters.doubled, counters.behind,
      retries, static_cast<double>(outcome.cpu.count()) / 1e3 / static_cast<double>(scene.clients));
  return floor || (age.sorted.size() == samples.size() && !harmed && age.at(1) < budget);
}

std::vector<pid_t> fork_clients(const Scene& scene, const std::string& name,
                                std::span<Round> rounds, std::span<Sample> samples) {
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
  return children;
}

// Until the server is done with all that were answered: some of it comes after the answers.
void wait_until_told(const PollServer& server, std::size_t answered) {
  while (server.told() < answered) wait_until(monotonic_ns() + Milliseconds(1) / Nanoseconds(1));
}

// What the server used in the last round.
Nanoseconds play_rounds(const Scene& scene, const PollServer& server, std::span<Round> rounds,
                        std::span<const Sample> samples) {
  std::size_t answered = 0;
  Nanoseconds used{};
  for (Round& round : rounds) {
    wait_for(round.ready, scene.clients);
    // A poll within 250 ms of the last counts as doubled.
    constexpr Nanoseconds kLead = seconds(1);
    round.start_ns = monotonic_ns() + kLead.count();
    for (std::size_t i = 0; i < scene.clients; ++i) ::sem_post(&round.gate);
    const Nanoseconds before = server.cpu();
    wait_for(round.done, scene.clients);
    answered += static_cast<std::size_t>(std::ranges::count_if(samples, &Sample::answered));
    wait_until_told(server, answered);
    used = server.cpu() - before;
  }
  return used;
}

bool play(const Scene& scene) {
  const std::string name = "dynolog-bench-" + random_hex64() + '\0';
  const auto rounds = shared_array<Round>(static_cast<std::size_t>(scene.rounds));
  const auto samples = shared_array<Sample>(scene.clients);
  const std::vector<pid_t> children = fork_clients(scene, name, rounds, samples);
  const auto server = scene.budget == Nanoseconds(0) ? start_floor(name) : start_dynolog(name);
  bool good = server != nullptr && children.size() == scene.clients;
  if (good) {
    Outcome outcome{};
    outcome.cpu = play_rounds(scene, *server, rounds, samples);
    outcome.answers = server->end();
    good = report(scene, samples, children, outcome);
  }
  for (const pid_t child : children) ::kill(child, SIGKILL);
  for (const pid_t child : children) ::waitpid(child, nullptr, 0);
  return good;
}

constexpr Scene kFirst = {"first polls of 512, at one instant", 512, 1, Nanoseconds(0),
                          Milliseconds(40)};
constexpr Scene kFloor = {"the same beside a program that only receives and sends", 512, 1,
                          Nanoseconds(0), Nanoseconds(0)};

int run(std::span<char*> arguments) {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
  make_room_for_descriptors(kExpectedDescriptors);  // as the daemon does
  bool good = true;
  if (arguments.size() == 3 && arguments[1] == std::string_view("first")) {
    const int turns = parse_number<int>(arguments[2]).value_or(0);
    for (int i = 0; i < turns; ++i) {
      good = play(kFirst) && good;
      (void)play(kFloor);
    }
    return good ? 0 : 1;
  }
  constexpr Scene kScenes[] = {
      {"polls of 64 known, at one instant", 64, 2, Nanoseconds(0), Milliseconds(40)},
      kFirst,
      kFloor,
      {"polls of 512 known, at one instant", 512, 2, Nanoseconds(0), Milliseconds(40)},
      {"polls of 5,000 known, over 5 s", 5000, 2, seconds(5), Milliseconds(10)},
  };
  for (const Scene& scene : kScenes) good = play(scene) && good;
  return good ? 0 : 1;
}

}  // namespace
}  // namespace dynolog

int main(int argc, char** argv) {
  return dynolog::run(std::span(argv, static_cast<std::size_t>(argc)));
}
