// Who waits for whose facts, and how long.
#include "daemon/process_registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <vector>

#include "testing/fake_clock.h"

namespace dynolog {
namespace {

// Answers only when it is told to: as a worker behind a process that hangs.
class SlowProcs final : public ProcsWorker {
 public:
  void facts(ProcessKey, std::function<void(Result<ProcessFacts>)> done) override {
    asked.push_back(std::move(done));
  }
  void socket_holders(std::uint32_t, Uid,
                      std::function<void(Result<std::vector<SocketHolder>>)>) override {}
  void holder_facts(Pid, std::function<void(Result<SocketHolder>)>) override {}
  std::uint64_t restarts() const override { return 0; }

  std::vector<std::function<void(Result<ProcessFacts>)>> asked;
};

// Nobody waits for it but where it is told what to say.
class SomeTorch final : public TorchFactsReader {
 public:
  void read(const ProcessFacts&, std::function<void(Result<TorchFacts>)> done) override {
    if (version.empty()) return;
    TorchFacts torch;
    torch.version = version;
    done(torch);
  }
  std::string version;
};

class ProcessRegistryTest : public testing::Test {
 protected:
  ProcessRegistry::World world(Nanoseconds patience, const Clock& clock) {
    return {.loop = loop_,
            .clock = clock,
            .log = *log_,
            .root = {},
            .procs = procs_,
            .torch = torch_,
            .users = users_,
            .run_directory = *run_directory_,
            .publish = [](Event) {},
            .user_directories = [this] { return user_directories_; },
            .add_socket_directory = {},
            .trace_state = [](Pid) { return std::nullopt; },
            .patience = patience};
  }
  ProcessRegistry registry(Nanoseconds patience) {
    return ProcessRegistry(world(patience, clock_));
  }
  KinetoPolled poll(std::int32_t pid) {
    KinetoPolled polled;
    polled.key = {Pid{pid}, 1};
    polled.uid = Uid{1000};
    polled.endpoint = "abstract";
    polled.time = clock_.monotonic();
    polled.wall = clock_.wall();
    return polled;
  }

  EventLoop loop_;
  SystemClock clock_;
  std::unique_ptr<Log> log_ = make_silent_log();
  bool user_directories_ = true;
  SlowProcs procs_;
  SomeTorch torch_;
  Users users_{"/dev/null"};
  Result<RunDirectory> run_directory_ =
      RunDirectory::open(testing::TempDir() + "process_registry_test", false);
};

TEST_F(ProcessRegistryTest, AProcessThatHangsIsNotWaitedForLongerThanPatienceLasts) {
  ASSERT_TRUE(run_directory_);
  auto registered = registry(Nanoseconds(0));
  registered.on_polled(poll(5));
  bool known = false;
  registered.when_known({{Pid{5}, 1}}, [&] {
    known = true;
    loop_.stop();
  });
  EXPECT_FALSE(known);
  loop_.run();
  EXPECT_TRUE(known);
  // The facts that come after all find nobody waiting.
  procs_.asked.at(0)(fail(ErrorKind::timed_out, "hung"));
}

TEST_F(ProcessRegistryTest, FactsEndTheWaitAndThePatience) {
  ASSERT_TRUE(run_directory_);
  auto registered = registry(std::chrono::hours(1));
  registered.on_polled(poll(5));
  int calls = 0;
  registered.when_known({{Pid{5}, 1}, {Pid{6}, 1}}, [&] { ++calls; });
  EXPECT_EQ(calls, 0);
  procs_.asked.at(0)(fail(ErrorKind::failed, "gone"));
  EXPECT_EQ(calls, 1);
  registered.when_known({{Pid{5}, 1}}, [&] { ++calls; });
  EXPECT_EQ(calls, 2) << "nothing is open any more";
}

TEST_F(ProcessRegistryTest, WhatIsOldIsReadAgainAndWhatWasKnownStays) {
  ASSERT_TRUE(run_directory_);
  auto registered = registry(std::chrono::hours(1));
  registered.on_polled(poll(5));
  ProcessFacts facts;
  facts.key = {Pid{5}, 1};
  facts.command = "python";
  procs_.asked.at(0)(facts);
  int calls = 0;
  registered.when_fresh({{Pid{5}, 1}}, std::chrono::hours(1), [&] { ++calls; });
  EXPECT_EQ(calls, 1) << "young enough";
  registered.when_fresh({{Pid{5}, 1}}, Nanoseconds(-1), [&] { ++calls; });
  ASSERT_EQ(procs_.asked.size(), 2U);
  EXPECT_EQ(calls, 1);
  facts.holds_gpu = true;
  procs_.asked.at(1)(facts);
  EXPECT_EQ(calls, 2);
  EXPECT_TRUE(registered.table().find(Pid{5})->facts->holds_gpu);
  registered.when_fresh({{Pid{5}, 1}}, Nanoseconds(-1), [&] { ++calls; });
  procs_.asked.at(2)(fail(ErrorKind::timed_out, "hung"));
  EXPECT_EQ(calls, 3);
  EXPECT_TRUE(registered.table().find(Pid{5})->facts->holds_gpu);
}

// As when the process hangs the second time: what always can be read is all there is.
TEST_F(ProcessRegistryTest, WhatWasReadLessFarTheSecondTimeTakesNothingAway) {
  ASSERT_TRUE(run_directory_);
  torch_.version = "2.13.0";
  auto registered = registry(std::chrono::hours(1));
  registered.on_polled(poll(5));
  ProcessFacts early;
  early.key = {Pid{5}, 1};
  early.uid = Uid{1000};
  ProcessFacts facts = early;
  facts.job.rank = 3;
  facts.torch_library = "/v/torch/lib/libtorch_cpu.so";
  facts.descriptors_read = facts.environment_read = facts.mapped_files_read = true;
  facts.complete = true;
  procs_.asked.at(0)(facts);
  bool known = false;
  registered.when_fresh({{Pid{5}, 1}}, Nanoseconds(-1), [&] { known = true; });
  early.missing = {"command line, environment and mapped files: not in time"};
  procs_.asked.at(1)(early);
  EXPECT_TRUE(known);
  const ProcessEntry& entry = *registered.table().find(Pid{5});
  EXPECT_EQ(entry.facts->job.rank, 3);
  EXPECT_TRUE(entry.facts->descriptors_read && entry.facts->complete);
  EXPECT_TRUE(entry.facts->missing.empty());
  ASSERT_TRUE(entry.torch);
  EXPECT_EQ(entry.torch->version, "2.13.0");
}

// A process registers before it opens its GPU.
TEST_F(ProcessRegistryTest, FactsAreReadAgainMoreAndMoreSeldom) {
  ASSERT_TRUE(run_directory_);
  FakeClock clock;
  auto registered = ProcessRegistry(world(std::chrono::hours(1), clock));
  std::vector<int> seconds;
  KinetoPolled polled = poll(5);
  for (int second = 0; second < 200; ++second) {
    polled.time = clock.monotonic();
    registered.on_polled(polled);
    if (!procs_.asked.empty()) {
      seconds.push_back(second);
      ProcessFacts facts;
      facts.key = polled.key;
      procs_.asked.at(0)(facts);
      procs_.asked.clear();
    }
    clock.advance(std::chrono::seconds(1));
  }
  EXPECT_THAT(seconds, testing::ElementsAre(0, 10, 20, 40, 80, 160));
}

TEST_F(ProcessRegistryTest, SocketDirectoriesAreForCallersThatAreSurelyThemselves) {
  ASSERT_TRUE(run_directory_);
  auto registered = registry(Nanoseconds(0));
  const auto refused = [&](const Caller& caller) {
    std::string sentence;
    registered.socket_directory(caller, [&](const Result<rpc::SocketDirectoryReply>& reply) {
      if (!reply && reply.error().kind == ErrorKind::denied) sentence = reply.error().message;
    });
    return sentence;
  };
  Caller caller;
  caller.tenant.uid = Uid{::geteuid()};
  caller.via = "tcp";
  EXPECT_THAT(refused(caller), testing::HasSubstr("unix socket"));
  caller.via = "unix";
  caller.tenant.container = "abc";
  EXPECT_THAT(refused(caller), testing::HasSubstr("container"));
  caller.tenant.container.clear();
  user_directories_ = false;
  registered.socket_directory(caller, [](const Result<rpc::SocketDirectoryReply>& reply) {
    ASSERT_FALSE(reply);
    EXPECT_EQ(reply.error().kind, ErrorKind::unavailable);  // `dyno env` goes on without one
    EXPECT_THAT(reply.error().message, testing::HasSubstr("--nokineto_user_directories"));
  });
  user_directories_ = true;
  caller.in_foreign_user_namespace = true;
  EXPECT_THAT(refused(caller), testing::HasSubstr("user namespace"));
  EXPECT_TRUE(run_directory_->user_directories().empty());
}

}  // namespace
}  // namespace dynolog
