// Worker channels against a real child: what it says, how it ends, and what it may not do.
#include "net/child_process.h"

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>

#include <functional>
#include <optional>

#include "base/unique_fd.h"
#include "testing/patience.h"

namespace dynolog {
namespace {

using testing::HasSubstr;

class ChildProcessTest : public testing::Test {
 protected:
  std::unique_ptr<ChildProcess> start(const std::string& behaviour, int nice = 0) {
    auto child = ChildProcess::start(
        loop_, *log_, {.executable = DYNOLOG_TEST_CHILD, .arguments = {behaviour}, .nice = nice},
        [this](std::string_view frame) {
          frames_.emplace_back(frame);
          if (frames_.size() >= frames_wanted_) loop_.stop();
        },
        [this](ChildProcess::Exit exit) {
          exit_ = exit;
          loop_.stop();
        });
    EXPECT_TRUE(child) << child.error().message;
    return std::move(*child);
  }

  void run_until_exit() {
    frames_wanted_ = SIZE_MAX;
    while (!exit_ && !HasFailure()) loop_.run();
  }

  EventLoop loop_;
  std::unique_ptr<Log> log_ = make_silent_log();
  std::vector<std::string> frames_;
  std::size_t frames_wanted_ = SIZE_MAX;
  std::optional<ChildProcess::Exit> exit_;
  LoopGuard guard_{loop_};
};

TEST_F(ChildProcessTest, CarriesFramesOfEverySizeBothWays) {
  const auto child = start("echo");
  for (const std::size_t size : {std::size_t{1}, std::size_t{5000}, kMaxWorkerFrame}) {
    frames_.clear();
    frames_wanted_ = 1;
    const std::string sent(size, 'a');
    ASSERT_TRUE(child->send(sent));
    loop_.run();
    ASSERT_EQ(frames_.size(), 1U);
    EXPECT_EQ(frames_[0], sent);
  }
  EXPECT_FALSE(child->send(std::string(kMaxWorkerFrame + 1, 'a')));
  EXPECT_FALSE(child->send(""));
}

TEST_F(ChildProcessTest, GivesNothingButTheChannelAndSaysTheNiceValue) {
  const UniqueFd inheritable(::dup(1));  // not close-on-exec
  ::signal(SIGPIPE, SIG_IGN);
  const auto child = start("report", 5);
  ::signal(SIGPIPE, SIG_DFL);
  ASSERT_TRUE(child->send("report"));
  run_until_exit();
  EXPECT_EQ(frames_, std::vector<std::string>{"0 1 2 3 nice 5 default"});
  EXPECT_EQ(exit_->code, 0);
}

TEST_F(ChildProcessTest, DeliversTheLastFrameBeforeTheEnd) {
  const auto child = start("last-words");
  run_until_exit();
  EXPECT_EQ(frames_, std::vector<std::string>{"bye"});
  EXPECT_FALSE(exit_->signalled);
  EXPECT_EQ(exit_->code, 3);
  const auto sent = child->send("anybody?");
  ASSERT_FALSE(sent);
  EXPECT_EQ(sent.error().kind, ErrorKind::not_found);
}

TEST_F(ChildProcessTest, ReportsACrashAndReapsIt) {
  const auto child = start("crash");
  run_until_exit();
  // A sanitizer may turn the signal into an exit status of its own.
  EXPECT_TRUE(exit_->signalled || exit_->code != 0);
  EXPECT_EQ(::waitpid(child->pid(), nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
}

TEST_F(ChildProcessTest, AFloodDoesNotStarveTheLoop) {
  auto child = start("flood");
  int ticks = 0;
  std::function<void()> tick = [&] {
    if (++ticks == 100) return loop_.stop();
    loop_.post(tick);
  };
  frames_wanted_ = 1;
  loop_.run();  // it floods now
  frames_wanted_ = SIZE_MAX;
  loop_.post(tick);
  loop_.run();
  EXPECT_EQ(ticks, 100);
  EXPECT_FALSE(exit_);
}

TEST_F(ChildProcessTest, KillsAChildThatSendsAFrameAboveTheLimit) {
  const auto child = start("oversize");
  run_until_exit();
  EXPECT_TRUE(exit_->signalled);
  EXPECT_EQ(exit_->code, SIGKILL);
  EXPECT_TRUE(frames_.empty());
}

TEST_F(ChildProcessTest, KillsAChildThatClosesItsChannel) {
  const auto child = start("close-channel");
  run_until_exit();
  EXPECT_TRUE(exit_->signalled);
  EXPECT_EQ(exit_->code, SIGKILL);
}

TEST_F(ChildProcessTest, SendingToAChildThatDoesNotReadFailsInsteadOfBlocking) {
  const auto child = start("deaf");
  Status sent;
  for (int i = 0; i < 1000 && sent; ++i) sent = child->send(std::string(10000, 'x'));
  ASSERT_FALSE(sent);
  EXPECT_EQ(sent.error().kind, ErrorKind::exhausted);
}

TEST_F(ChildProcessTest, DestroyingKillsAndTheLoopReaps) {
  auto child = start("deaf");
  frames_wanted_ = 1;
  loop_.run();
  const pid_t pid = child->pid();
  child.reset();
  std::function<void()> look = [&] {
    if (::kill(pid, 0) != 0 && errno == ESRCH) return loop_.stop();
    loop_.post(look);
  };
  loop_.post(look);
  loop_.run();
  EXPECT_FALSE(HasFailure());
  EXPECT_FALSE(exit_) << "no callback after the object's end";
}

TEST_F(ChildProcessTest, MayBeDestroyedInItsOwnCallbacks) {
  std::unique_ptr<ChildProcess> child;
  for (const std::string behaviour : {"flood", "crash"}) {
    auto started = ChildProcess::start(
        loop_, *log_, {.executable = DYNOLOG_TEST_CHILD, .arguments = {behaviour}},
        [&](std::string_view) {
          child.reset();
          loop_.stop();
        },
        [&](ChildProcess::Exit) {
          child.reset();
          loop_.stop();
        });
    ASSERT_TRUE(started);
    child = std::move(*started);
    loop_.run();
    EXPECT_EQ(child, nullptr);
  }
}

// One account's children that are stuck in the kernel keep nobody else's from being started.
TEST_F(ChildProcessTest, StartsNoMoreForAnAccountWithManyStuckChildren) {
  const auto start_for = [this](const std::string& account) {
    return ChildProcess::start(
        loop_, *log_, {.executable = DYNOLOG_TEST_CHILD, .arguments = {"deaf"}, .account = account},
        [](std::string_view) {}, [](ChildProcess::Exit) {});
  };
  auto& stuck = loop_.children()->unreaped;
  stuck["1000"] = kMaxUnreapedOfAccount;
  const auto refused = start_for("1000");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::exhausted);
  EXPECT_TRUE(start_for("1001"));
  for (int i = 0; i < 15; ++i) stuck[std::to_string(2000 + i)] = kMaxUnreapedOfAccount;
  EXPECT_FALSE(start_for("1001")) << "all accounts together";
  EXPECT_TRUE(start_for("")) << "the daemon's own workers";
  stuck[""] = kMaxUnreapedChildren;
  EXPECT_FALSE(start_for(""));
  stuck.clear();
  EXPECT_TRUE(start_for("1000"));
}

TEST_F(ChildProcessTest, AStuckChildCountsForItsAccountUntilItIsReaped) {
  auto child = ChildProcess::start(
      loop_, *log_, {.executable = DYNOLOG_TEST_CHILD, .arguments = {"deaf"}, .account = "1000"},
      [](std::string_view) {}, [](ChildProcess::Exit) {});
  ASSERT_TRUE(child);
  const auto children = loop_.children();
  EXPECT_EQ(children->owned, 1U);
  const pid_t pid = (*child)->pid();
  child->reset();
  EXPECT_EQ(children->owned, 0U);
  siginfo_t info{};
  const bool reaped = ::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT) != 0;
  EXPECT_EQ(children->unreaped.size(), reaped ? 0U : 1U);
  EXPECT_EQ(children->running(), reaped ? 0U : 1U);
  std::function<void()> look = [&] {
    if (children->running() == 0) return loop_.stop();
    loop_.post(look);
  };
  loop_.post(look);
  loop_.run();
  EXPECT_FALSE(HasFailure());
}

TEST_F(ChildProcessTest, NamesAProgramThatIsNotThere) {
  const auto child = ChildProcess::start(
      loop_, *log_, {.executable = "/nonexistent/program", .arguments = {}},
      [](std::string_view) {}, [](ChildProcess::Exit) {});
  ASSERT_FALSE(child);
  EXPECT_EQ(child.error().kind, ErrorKind::not_found);
  EXPECT_THAT(child.error().message, HasSubstr("/nonexistent/program"));
}

}  // namespace
}  // namespace dynolog
