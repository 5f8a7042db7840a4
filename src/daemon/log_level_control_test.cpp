// Who may change the log's level, what is said of it, and that a reload wins.
#include "daemon/log_level_control.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <vector>

#include "base/file.h"
#include "daemon/daemon_log.h"
#include "testing/fake_clock.h"

namespace dynolog {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Caller caller(std::uint32_t uid, const std::string& container = "") {
  Caller made;
  made.tenant = {Uid{uid}, container};
  made.via = "unix";
  return made;
}

Caller host_root() {
  Caller made = caller(0);
  made.host_root = true;
  return made;
}

class LogLevelTest : public ::testing::Test {
 protected:
  LogLevelControl control(Tenant own) {
    return LogLevelControl({.clock = clock_,
                            .log = log_,
                            .own = std::move(own),
                            .configured = [this] { return configured_; },
                            .show =
                                [this](const std::string& sentence) {
                                  shown_ = sentence;
                                  level_when_shown_ = log_.least();
                                },
                            .publish = [this](Event event) { events_.push_back(event); }});
  }

  FakeClock clock_;
  DaemonLog log_{LogLevel::info, false};
  LogLevel configured_ = LogLevel::info;
  std::string shown_;
  LogLevel level_when_shown_ = LogLevel::error;
  std::vector<Event> events_;
};

TEST_F(LogLevelTest, RootSetsItAtOnceAndItIsSaid) {
  LogLevelControl level = control({Uid{0}, ""});
  EXPECT_EQ(level.log_level().level, "info");
  const auto set = level.set_log_level(host_root(), {"debug"});
  ASSERT_TRUE(set);
  EXPECT_EQ(set->level, "debug");
  EXPECT_EQ(set->configured, "info");
  EXPECT_EQ(log_.least(), LogLevel::debug);
  EXPECT_THAT(shown_, AllOf(HasSubstr("debug"), HasSubstr("uid 0"), HasSubstr("reload")));
  ASSERT_EQ(events_.size(), 1U);
  EXPECT_EQ(events_[0].kind, "audit.log_level");
  EXPECT_THAT(events_[0].text, HasSubstr("debug instead of info, by uid 0 over unix"));
}

TEST_F(LogLevelTest, ThatLessIsLoggedIsStillInTheLog) {
  LogLevelControl level = control({Uid{0}, ""});
  ASSERT_TRUE(level.set_log_level(host_root(), {"error"}));
  EXPECT_EQ(level_when_shown_, LogLevel::info);
  EXPECT_EQ(log_.least(), LogLevel::error);
}

TEST_F(LogLevelTest, AReloadSetsWhatIsConfigured) {
  LogLevelControl level = control({Uid{0}, ""});
  ASSERT_TRUE(level.set_log_level(host_root(), {"debug"}));
  level.take_up(LogLevel::warning);
  EXPECT_EQ(log_.least(), LogLevel::warning);
  EXPECT_EQ(shown_, "");
}

TEST_F(LogLevelTest, TheConfiguredOneIsNothingToShow) {
  LogLevelControl level = control({Uid{0}, ""});
  ASSERT_TRUE(level.set_log_level(host_root(), {"debug"}));
  ASSERT_TRUE(level.set_log_level(host_root(), {"info"}));
  EXPECT_EQ(shown_, "");
}

TEST_F(LogLevelTest, OthersMayNot) {
  LogLevelControl of_root = control({Uid{0}, ""});
  LogLevelControl of_user = control({Uid{1000}, ""});
  LogLevelControl in_container = control({Uid{1000}, "abc"});
  Caller in_namespace = caller(1000);
  in_namespace.in_foreign_user_namespace = true;
  struct Case {
    LogLevelControl& daemon;
    Caller who;
  };
  for (const auto& [daemon, who] :
       {Case{of_root, caller(1000)}, Case{of_root, caller(0, "abc")}, Case{of_root, caller(0)},
        Case{of_user, caller(1001)}, Case{of_user, caller(1000, "abc")},
        Case{of_user, in_namespace}, Case{in_container, caller(1000)}}) {
    const auto set = daemon.set_log_level(who, {"debug"});
    ASSERT_FALSE(set) << who.tenant.uid.value << who.tenant.container;
    EXPECT_EQ(set.error().kind, ErrorKind::denied);
  }
  EXPECT_EQ(log_.least(), LogLevel::info);
  EXPECT_THAT(events_, IsEmpty());
}

TEST_F(LogLevelTest, TheDaemonsOwnUserMay) {
  LogLevelControl of_user = control({Uid{1000}, ""});
  EXPECT_TRUE(of_user.set_log_level(caller(1000), {"debug"}));
  LogLevelControl in_container = control({Uid{1000}, "abc"});
  EXPECT_TRUE(in_container.set_log_level(caller(1000, "abc"), {"error"}));
}

TEST_F(LogLevelTest, NoSuchLevel) {
  LogLevelControl level = control({Uid{0}, ""});
  for (const char* text : {"", "loud", "DEBUG", "info "}) {
    const auto set = level.set_log_level(host_root(), {text});
    ASSERT_FALSE(set);
    EXPECT_EQ(set.error().kind, ErrorKind::invalid);
  }
}

TEST(OwnTenant, TheContainerIsThatOfTheDaemonsCgroup) {
  const std::string proc = ::testing::TempDir() + "own_tenant_" + std::to_string(::getpid());
  ASSERT_EQ(::mkdir(proc.c_str(), 0700), 0);
  ASSERT_EQ(::mkdir((proc + "/self").c_str(), 0700), 0);
  const std::string id(64, 'a');
  ASSERT_TRUE(
      replace_file(proc + "/self/cgroup", "0::/system.slice/docker-" + id + ".scope\n", 0600));
  SystemRoot root;
  root.proc = proc;
  EXPECT_THAT(own_tenant(root, Uid{7}).container, HasSubstr(id));
  ASSERT_TRUE(replace_file(proc + "/self/cgroup", "0::/system.slice/dynolog.service\n", 0600));
  EXPECT_EQ(own_tenant(root, Uid{7}), (Tenant{Uid{7}, ""}));
}

}  // namespace
}  // namespace dynolog
