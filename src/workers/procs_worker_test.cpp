// The procs worker end to end, with real child processes, good and bad ones.
#include "workers/procs_worker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <optional>

#include "base/unique_fd.h"
#include "testing/capturing_log.h"
#include "testing/fake_clock.h"
#include "testing/patience.h"
#include "workers/proc_entry.h"

namespace dynolog {
namespace {

using ::testing::HasSubstr;

class ProcsWorkerTest : public ::testing::Test {
 protected:
  ~ProcsWorkerTest() override { ::unsetenv("DYNOLOG_TEST_WORKER"); }

  void start(const char* misbehaviour = nullptr) {
    if (misbehaviour != nullptr) ::setenv("DYNOLOG_TEST_WORKER", misbehaviour, 1);
    worker_ = ProcsWorker::make(loop_, clock_, *log_, DYNOLOG_WORKER_CHILD);
  }
  static ProcessKey own_key() {
    const Pid self{::getpid()};
    return {self, ProcEntry::open(SystemRoot{}, self)->stat()->start_ticks};
  }
  Result<ProcessFacts> facts(ProcessKey key) {
    std::optional<Result<ProcessFacts>> answer;
    worker_->facts(key, [&](Result<ProcessFacts> given) {
      answer = std::move(given);
      loop_.stop();
    });
    EXPECT_FALSE(answer.has_value());  // never inside the call
    loop_.run();
    return answer.value_or(fail(ErrorKind::failed, "no answer"));
  }
  Result<SocketHolder> holder(Pid pid) {
    std::optional<Result<SocketHolder>> answer;
    worker_->holder_facts(pid, [&](Result<SocketHolder> given) {
      answer = std::move(given);
      loop_.stop();
    });
    loop_.run();
    return answer.value_or(fail(ErrorKind::failed, "no answer"));
  }

  EventLoop loop_;
  FakeClock clock_;
  std::unique_ptr<Log> log_ = make_silent_log();
  std::unique_ptr<ProcsWorker> worker_;
  LoopGuard guard_{loop_};
};

TEST_F(ProcsWorkerTest, FactsOfThisProcess) {
  start();
  const auto read = facts(own_key());
  ASSERT_TRUE(read.has_value()) << read.error().message;
  EXPECT_EQ(read->key, own_key());
  EXPECT_EQ(read->uid, Uid{::geteuid()});
  EXPECT_THAT(read->command, HasSubstr("workers_test"));
  EXPECT_EQ(worker_->restarts(), 0U);
}

TEST_F(ProcsWorkerTest, ReusedPidIsNotFound) {
  start();
  ProcessKey key = own_key();
  ++key.start_ticks;
  EXPECT_EQ(facts(key).error().kind, ErrorKind::not_found);
}

TEST_F(ProcsWorkerTest, HoldersOfASocket) {
  start();
  const UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  struct stat status{};
  ASSERT_EQ(::fstat(socket.get(), &status), 0);
  std::optional<Result<std::vector<SocketHolder>>> answer;
  worker_->socket_holders(static_cast<std::uint32_t>(status.st_ino), Uid{::geteuid()},
                          [&](auto given) {
                            answer = std::move(given);
                            loop_.stop();
                          });
  loop_.run();
  ASSERT_TRUE(answer && answer->has_value());
  ASSERT_EQ((*answer)->size(), 1U);  // the worker's own ends are other sockets
  EXPECT_EQ((*answer)->at(0).key, own_key());

  const auto own = holder(own_key().pid);
  ASSERT_TRUE(own.has_value());
  EXPECT_EQ(own->key, own_key());
}

TEST_F(ProcsWorkerTest, CallersGoFirstAndSearchesByTurnsOfTheUsers) {
  start();
  std::string order;
  const auto search = [&](std::uint32_t uid, char name) {
    worker_->socket_holders(1, Uid{uid}, [&order, name](const auto&) { order += name; });
  };
  search(2001, 'a');
  search(2001, 'a');
  search(2001, 'a');
  search(2002, 'b');
  search(2003, 'c');
  worker_->holder_facts(own_key().pid, [&](const Result<SocketHolder>&) { order += 'u'; });
  worker_->facts(own_key(), [&](const Result<ProcessFacts>&) { loop_.stop(); });
  loop_.run();
  EXPECT_EQ(order, "uabaca");
}

TEST_F(ProcsWorkerTest, SearchesOfOneUserAreBounded) {
  start();
  std::vector<ErrorKind> refused;
  const auto search = [&](Uid uid) {
    worker_->socket_holders(1, uid, [&](const Result<std::vector<SocketHolder>>& given) {
      if (!given) refused.push_back(given.error().kind);
    });
  };
  for (std::size_t i = 0; i <= kMaxSearchesOfUser; ++i) search(Uid{2001});
  search(Uid{2002});
  // After the refusals, which are posted, and before the first answer.
  loop_.post([this] { loop_.stop(); });
  loop_.run();
  EXPECT_EQ(refused, std::vector{ErrorKind::exhausted});
}

TEST_F(ProcsWorkerTest, EqualRequestsAreOneAndAllAreAnswered) {
  start();
  int answers = 0;
  for (int i = 0; i < 10; ++i) {
    worker_->facts(own_key(), [&](const Result<ProcessFacts>& given) {
      EXPECT_TRUE(given.has_value());
      if (++answers == 10) loop_.stop();
    });
  }
  loop_.run();
  EXPECT_EQ(answers, 10);
}

TEST_F(ProcsWorkerTest, TheQueueIsBounded) {
  start();
  std::optional<Error> refusal;
  for (std::size_t i = 0; i <= kMaxWaitingProcsRequests; ++i) {
    worker_->facts({Pid{1'000'000}, i + 1}, [&](const Result<ProcessFacts>& given) {
      if (given || given.error().kind != ErrorKind::exhausted) return;
      refusal = given.error();
      loop_.stop();
    });
  }
  loop_.run();
  EXPECT_TRUE(refusal.has_value());
}

TEST_F(ProcsWorkerTest, LateWorkerFailsTheRequestAndIsReplaced) {
  start("silent");
  EXPECT_EQ(facts(own_key()).error().kind, ErrorKind::timed_out);
  ::unsetenv("DYNOLOG_TEST_WORKER");
  EXPECT_TRUE(facts(own_key()).has_value());
  EXPECT_EQ(worker_->restarts(), 1U);
}

TEST_F(ProcsWorkerTest, WhatCannotBlockIsKnownWhenTheRestHangs) {
  start("early");
  const auto read = facts(own_key());
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->uid, Uid{77});
  EXPECT_FALSE(read->descriptors_read || read->environment_read || read->complete);
  ASSERT_EQ(read->missing.size(), 1U);
  EXPECT_THAT(read->missing[0], HasSubstr("in time"));
}

TEST_F(ProcsWorkerTest, WhatOthersMayHaveSlowedIsNotTheWorkersFault) {
  CapturingLog log;
  ::setenv("DYNOLOG_TEST_WORKER", "early", 1);
  worker_ = ProcsWorker::make(loop_, clock_, log, DYNOLOG_WORKER_CHILD);
  ASSERT_TRUE(facts(own_key()).has_value());
  ErrorKind search = ErrorKind::failed;
  worker_->socket_holders(1, Uid{2001}, [&](const Result<std::vector<SocketHolder>>& given) {
    search = given.error().kind;
    loop_.stop();
  });
  loop_.run();
  EXPECT_EQ(search, ErrorKind::timed_out);
  EXPECT_FALSE(log.contains(" ms"));
  // The first end of its own is still the first one.
  ::setenv("DYNOLOG_TEST_WORKER", "exit", 1);
  EXPECT_FALSE(holder(own_key().pid).has_value());
  EXPECT_FALSE(holder(own_key().pid).has_value());
  EXPECT_TRUE(log.contains("starting another in 0 ms"));
  EXPECT_EQ(worker_->restarts(), 4U);
}

TEST_F(ProcsWorkerTest, DyingWorkerFailsRequestsAndIsStartedAgain) {
  start("exit");
  for (int i = 0; i < 3; ++i) {
    const auto read = facts(own_key());
    ASSERT_FALSE(read.has_value());
    EXPECT_THAT(read.error().message, HasSubstr("ended"));
  }
  EXPECT_EQ(worker_->restarts(), 3U);
  ::unsetenv("DYNOLOG_TEST_WORKER");
  EXPECT_TRUE(facts(own_key()).has_value());
}

TEST_F(ProcsWorkerTest, WorkerOutOfTurnIsEnded) {
  for (const char* how : {"garbage", "wrong-number"}) {
    start(how);
    EXPECT_FALSE(facts(own_key()).has_value()) << how;
    EXPECT_EQ(worker_->restarts(), 1U) << how;
  }
}

TEST_F(ProcsWorkerTest, CallersAreNotKeptWaitingForAWorkerThatKeepsDying) {
  start("exit");
  // Each end doubles the wait until it is too long for a caller.
  bool refused = false;
  for (int i = 0; i < 10 && !refused; ++i) {
    refused = holder(own_key().pid).error().kind == ErrorKind::unavailable;
  }
  EXPECT_TRUE(refused);
}

TEST_F(ProcsWorkerTest, MissingExecutableIsAFailureOfCallers) {
  worker_ = ProcsWorker::make(loop_, clock_, *log_, "/nonexistent/dynolog");
  EXPECT_FALSE(holder(own_key().pid).has_value());
}

TEST_F(ProcsWorkerTest, NothingIsCalledAfterTheEnd) {
  start();
  worker_->facts(own_key(), [](const Result<ProcessFacts>&) { FAIL(); });
  worker_->holder_facts(own_key().pid, [](const Result<SocketHolder>&) { FAIL(); });
  worker_.reset();
  loop_.post([this] { loop_.stop(); });
  loop_.run();
}

TEST_F(ProcsWorkerTest, MayEndInItsOwnCallback) {
  start();
  bool called = false;
  worker_->facts(own_key(), [&](const Result<ProcessFacts>&) {
    called = true;
    worker_.reset();
    loop_.stop();
  });
  loop_.run();
  EXPECT_TRUE(called);
}

}  // namespace
}  // namespace dynolog
