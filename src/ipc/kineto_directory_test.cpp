// Endpoints in directories that others write to.
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "ipc/kineto_thread_test_support.h"

namespace dynolog {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::StartsWith;

class KinetoDirectoryTest : public KinetoThreadTest {
 protected:
  KinetoDirectoryTest() {
    char name[] = "/tmp/dynolog-ipc-XXXXXX";
    directory_ = ::mkdtemp(name);
    ::chmod(directory_.c_str(), 01777);
    options_.abstract_endpoint = false;
    options_.directories = {directory_};
  }
  ~KinetoDirectoryTest() override {
    thread_.reset();
    std::error_code ignored;
    fs::remove_all(directory_, ignored);
  }

  [[nodiscard]] std::string path(std::string_view name) const {
    return directory_ + '/' + std::string(name);
  }
  [[nodiscard]] std::size_t files_starting(std::string_view prefix) const {
    std::size_t count = 0;
    for (const auto& entry : fs::directory_iterator(directory_)) {
      if (entry.path().filename().string().starts_with(prefix)) ++count;
    }
    return count;
  }
  [[nodiscard]] static UniqueFd socket_at(const std::string& where) {
    UniqueFd fd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, where.data(), where.size());
    EXPECT_EQ(::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    return fd;
  }
  [[nodiscard]] KinetoEndpointState state() {
    return events_.next<KinetoEndpointState>().value_or(KinetoEndpointState{});
  }

  std::string directory_;
};

TEST_F(KinetoDirectoryTest, AnswersFromAPathThatTheClientAccepts) {
  start();
  EXPECT_TRUE(state().up);
  auto client = open_client();
  put(own_key(), own_uid(), request("1"));
  const auto reply = ask(client);
  EXPECT_EQ(reply.would_terminate, "");
  EXPECT_THAT(reply.sender, StartsWith(directory_ + "/"));
  EXPECT_THAT(reply.config, HasSubstr("REQUEST_TRACE_ID=1\n"));
  const auto polled = events_.next<KinetoReceipt>();
  ASSERT_TRUE(polled);
  EXPECT_TRUE(polled->read);
  // The reply socket's file went at once.
  EXPECT_EQ(files_starting("dynolog-reply"), 0U);
}

TEST_F(KinetoDirectoryTest, EverybodyMayReachTheEndpoint) {
  start();
  struct stat status{};
  ASSERT_EQ(::lstat(path("dynolog").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777U, 0666U);
}

TEST_F(KinetoDirectoryTest, AnotherUsersProcessIsServed) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to become another user";
  Puppet other(client_options(options_));
  start();
  ASSERT_EQ(other.tell("uid 1234"), "ok");
  EXPECT_EQ(other.tell("ask"), "answered:");
  const auto polled = events_.next<KinetoPolled>();
  ASSERT_TRUE(polled);
  EXPECT_EQ(polled->uid, Uid{1234});
  EXPECT_EQ(polled->endpoint, directory_);
}

TEST_F(KinetoDirectoryTest, SymlinkInPlaceOfTheClientsSocketGetsNothing) {
  Puppet other(client_options(options_));
  start();
  // Somebody else's socket, out of reach for the attacker but not for the daemon.
  const std::string private_directory = path("private");
  ASSERT_EQ(::mkdir(private_directory.c_str(), 0700), 0);
  const UniqueFd victim = socket_at(private_directory + "/victim");
  auto client = open_client();
  const std::string name = client.name();
  ASSERT_EQ(::unlink(name.c_str()), 0);
  ASSERT_EQ(::symlink((private_directory + "/victim").c_str(), name.c_str()), 0);
  ASSERT_TRUE(client.send_poll());
  EXPECT_EQ(other.tell("ask"), "answered:");
  EXPECT_GE(thread_->counters().bad_sender + thread_->counters().reply_failed, 1U);
  char byte = 0;
  EXPECT_LT(::recv(victim.get(), &byte, 1, 0), 0);
  // Nor later, with something staged.
  put(own_key(), own_uid(), request("1"));
  ASSERT_TRUE(client.send_poll());
  EXPECT_EQ(other.tell("ask"), "answered:");
  EXPECT_LT(::recv(victim.get(), &byte, 1, 0), 0);
}

TEST_F(KinetoDirectoryTest, SwappedNameAfterTheFirstPollGetsNothing) {
  start();
  auto client = open_client();
  (void)ask(client);
  const std::string name = client.name();
  ASSERT_EQ(::rename(name.c_str(), (name + ".old").c_str()), 0);
  const UniqueFd thief = socket_at(name);
  put(own_key(), own_uid(), request("1"));
  EXPECT_THAT(ask(client).config, HasSubstr("REQUEST_TRACE_ID=1\n"));
  char byte = 0;
  EXPECT_LT(::recv(thief.get(), &byte, 1, 0), 0);
}

TEST_F(KinetoDirectoryTest, SocketOfAnotherUserIsNotTheSenders) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to give a socket away";
  start();
  auto client = open_client();
  ASSERT_EQ(::chown(client.name().c_str(), 1234, 1234), 0);
  EXPECT_FALSE(client.poll().value());
  EXPECT_EQ(thread_->counters().bad_sender, 1U);
}

TEST_F(KinetoDirectoryTest, AbstractSenderIsDropped) {
  start();
  const UniqueFd fd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_un own{};
  own.sun_family = AF_UNIX;
  ASSERT_EQ(::bind(fd.get(), reinterpret_cast<const sockaddr*>(&own), sizeof own.sun_family), 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string to = path("dynolog");
  std::memcpy(address.sun_path, to.data(), to.size());
  const std::string poll = kineto_poll_datagram(3, 0, {1});
  ASSERT_GT(::sendto(fd.get(), poll.data(), poll.size(), 0,
                     reinterpret_cast<const sockaddr*>(&address), sizeof address),
            0);
  auto client = open_client();
  (void)ask(client);
  EXPECT_EQ(thread_->counters().bad_sender, 1U);
}

TEST_F(KinetoDirectoryTest, CollectsTheSocketsOfTheDead) {
  // Left behind by a process of old, and held by one that lives.
  {
    const UniqueFd dead = socket_at(path("dynoconfigclient-old"));
  }
  const UniqueFd living = socket_at(path("dynoconfigclient-living"));
  {
    const UniqueFd foreign = socket_at(path("somebody-elses"));
  }
  Puppet other(client_options(options_));
  start();
  EXPECT_FALSE(fs::exists(path("dynoconfigclient-old")));
  EXPECT_TRUE(fs::exists(path("dynoconfigclient-living")));
  EXPECT_TRUE(fs::exists(path("somebody-elses")));
  ASSERT_EQ(other.tell("ask"), "answered:");
  EXPECT_EQ(files_starting("dynoconfigclient"), 2U);
  other.end();
  ASSERT_TRUE(events_.next<KinetoEnded>());
  // The file goes after the event: stopping the thread waits for it.
  thread_.reset();
  EXPECT_EQ(files_starting("dynoconfigclient"), 1U);
  EXPECT_FALSE(fs::exists(path("dynolog")));
}

TEST_F(KinetoDirectoryTest, TakesAnAbandonedSocketOver) {
  {
    const UniqueFd abandoned = socket_at(path("dynolog"));
  }
  start();
  EXPECT_TRUE(state().up);
  auto client = open_client();
  EXPECT_EQ(ask(client).config, "");
}

TEST_F(KinetoDirectoryTest, LeavesALivingDaemonItsSocket) {
  UniqueFd living = socket_at(path("dynolog"));
  start();
  const auto taken = state();
  EXPECT_FALSE(taken.up);
  EXPECT_THAT(taken.problem, HasSubstr(fmt::format("user {}, is held by", ::getuid())));
  EXPECT_TRUE(fs::exists(path("dynolog")));
  living.reset();
  EXPECT_TRUE(state().up);
}

TEST_F(KinetoDirectoryTest, RemovesNothingButSockets) {
  std::ofstream(path("dynolog")) << "precious";
  start();
  const auto refused = state();
  EXPECT_FALSE(refused.up);
  EXPECT_THAT(refused.problem, HasSubstr("is not a socket"));
  EXPECT_EQ(fs::file_size(path("dynolog")), 8U);
  fs::remove(path("dynolog"));
  EXPECT_TRUE(state().up);
}

TEST_F(KinetoDirectoryTest, RefusesALongDirectoryWithASentence) {
  const std::string longest =
      directory_ + '/' + std::string(kMaxSocketDirectory - directory_.size() - 1, 'x');
  ASSERT_EQ(::mkdir(longest.c_str(), 0755), 0);
  ASSERT_EQ(::mkdir((longest + 'y').c_str(), 0755), 0);
  options_.directories = {longest, longest + 'y'};
  start();
  EXPECT_TRUE(state().up);
  const auto refused = state();
  EXPECT_FALSE(refused.up);
  EXPECT_THAT(refused.problem, HasSubstr("at most 54"));
  auto client = open_client();
  EXPECT_EQ(ask(client).would_terminate, "");
}

TEST_F(KinetoDirectoryTest, MissingDirectoryIsRetried) {
  fs::remove(directory_);
  start();
  EXPECT_FALSE(state().up);
  ASSERT_EQ(::mkdir(directory_.c_str(), 0755), 0);
  EXPECT_TRUE(state().up);
  auto client = open_client();
  EXPECT_EQ(ask(client).config, "");
}

TEST_F(KinetoDirectoryTest, ServesADirectoryThatIsAddedLater) {
  options_.directories.clear();
  start();
  thread_->add_directory(directory_);
  EXPECT_TRUE(state().up);
  // Asked again, it says so again.
  thread_->add_directory(directory_);
  const auto again = state();
  EXPECT_TRUE(again.up);
  EXPECT_EQ(again.endpoint, directory_);
  options_.directories = {directory_};
  auto client = open_client();
  EXPECT_EQ(ask(client).config, "");
}

TEST_F(KinetoDirectoryTest, IsNotUpWhenTheSocketThereIsAnothers) {
  // No retry: it is the asking that finds out.
  options_.retry = std::chrono::hours(1);
  start();
  EXPECT_TRUE(state().up);
  ASSERT_EQ(::unlink(path("dynolog").c_str()), 0);
  const UniqueFd thief = socket_at(path("dynolog"));
  thread_->add_directory(directory_);
  auto replaced = state();
  EXPECT_FALSE(replaced.up);
  EXPECT_THAT(replaced.problem, HasSubstr(directory_));
  clock_.pass(std::chrono::seconds(1));
  thread_->add_directory(directory_);
  replaced = state();
  EXPECT_FALSE(replaced.up);
  EXPECT_THAT(replaced.problem, HasSubstr("is held by a process that is not this daemon"));
  EXPECT_TRUE(fs::exists(path("dynolog")));
}

TEST_F(KinetoDirectoryTest, AsksInALoopBindOnceASecond) {
  options_.retry = std::chrono::hours(1);
  start();
  EXPECT_TRUE(state().up);
  clock_.pass(std::chrono::seconds(1));
  std::size_t made = 0;
  const auto began = clock_.monotonic();
  for (int i = 0; i < 200; ++i) {
    made += ::unlink(path("dynolog").c_str()) == 0 ? 1U : 0U;
    thread_->add_directory(directory_);
    EXPECT_EQ(state().endpoint, directory_);
  }
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(clock_.monotonic() - began).count();
  // The first was made at the start.
  EXPECT_LE(made, 2U + static_cast<std::size_t>(seconds));
}

TEST_F(KinetoDirectoryTest, CallsThatWaitAreAnsweredTogether) {
  start();
  EXPECT_TRUE(state().up);
  auto client = open_client();
  {
    const Hold held(hold_);
    ASSERT_TRUE(client.send_poll());
    ASSERT_TRUE(events_.next<KinetoPolled>());
    for (int i = 0; i < 1000; ++i) thread_->add_directory(directory_);
  }
  EXPECT_TRUE(state().up);
  thread_->withdraw(own_key(), "none");
  ASSERT_TRUE(events_.next<KinetoWithdrawn>());
  EXPECT_EQ(events_.count<KinetoEndpointState>(), 0U);
}

TEST_F(KinetoDirectoryTest, ReplacedDirectoryIsOpenedAnew) {
  start();
  EXPECT_TRUE(state().up);
  fs::rename(directory_, directory_ + ".old");
  ASSERT_EQ(::mkdir(directory_.c_str(), 0755), 0);
  for (int i = 0; i < 3 && !fs::exists(path("dynolog")); ++i) {
    clock_.pass(std::chrono::seconds(1));
    thread_->add_directory(directory_);
    (void)state();
  }
  auto client = open_client();
  EXPECT_EQ(ask(client).config, "");
  fs::remove_all(directory_ + ".old");
}

TEST_F(KinetoDirectoryTest, SharedDirectoryIsNotPausedByOneUser) {
  start();
  auto flooder = open_client();
  // More than thrice what a directory of one user's own may bring in a window.
  while (thread_->counters().malformed < 4096) (void)flooder.send_raw("x");
  EXPECT_EQ(thread_->counters().paused, 0U);
}

TEST_F(KinetoDirectoryTest, FloodedDirectoryWaitsAndTheOthersAreServed) {
  ASSERT_EQ(::chmod(directory_.c_str(), 0700), 0);
  // Root's own may be that of several containers.
  if (::geteuid() == 0) {
    ASSERT_EQ(::chown(directory_.c_str(), 1234, 1234), 0);
  }
  options_.abstract_endpoint = true;
  Puppet elsewhere({.profile = *kineto_client_profile("2.14"),
                    .abstract_name = options_.abstract_name,
                    .directory = "",
                    .pids = {},
                    .job = 0});
  start();
  auto flooder = open_client();
  while (thread_->counters().paused == 0) (void)flooder.send_raw("x");
  EXPECT_EQ(elsewhere.tell("ask"), "answered:");
  // When the flood is over, all is as before.
  while (flooder.send_raw("x") == 0) {
  }
  auto client = open_client();
  std::optional<KinetoClientReply> reply;
  for (int i = 0; i < 300 && !reply; ++i) {
    if (client.send_poll())
      reply = client.wait(client.patience());
    else
      (void)client.wait(client.patience());
  }
  EXPECT_TRUE(reply);
}

TEST_F(KinetoDirectoryTest, ServesSeveralPlacesAtOnce) {
  options_.abstract_endpoint = true;
  Puppet by_name({.profile = *kineto_client_profile("2.14"),
                  .abstract_name = options_.abstract_name,
                  .directory = "",
                  .pids = {},
                  .job = 0});
  Puppet by_directory(client_options(options_));
  start();
  EXPECT_EQ(by_name.tell("ask"), "answered:");
  EXPECT_EQ(by_directory.tell("ask"), "answered:");
  EXPECT_EQ(thread_->counters().clients, 2U);
}

}  // namespace
}  // namespace dynolog
