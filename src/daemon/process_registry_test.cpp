// Who waits for whose facts, and how long.
#include "daemon/process_registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <vector>

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

class NoTorch final : public TorchFactsReader {
 public:
  void read(const ProcessFacts&, std::function<void(Result<TorchFacts>)>) override {}
};

class ProcessRegistryTest : public testing::Test {
 protected:
  ProcessRegistry registry(Nanoseconds patience) {
    return ProcessRegistry({.loop = loop_,
                            .clock = clock_,
                            .log = *log_,
                            .root = {},
                            .procs = procs_,
                            .torch = torch_,
                            .users = users_,
                            .run_directory = *run_directory_,
                            .publish = [](Event) {},
                            .add_socket_directory = {},
                            .trace_state = [](Pid) { return std::nullopt; },
                            .patience = patience});
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
  SlowProcs procs_;
  NoTorch torch_;
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
  caller.in_foreign_user_namespace = true;
  EXPECT_THAT(refused(caller), testing::HasSubstr("user namespace"));
  EXPECT_TRUE(run_directory_->user_directories().empty());
}

}  // namespace
}  // namespace dynolog
