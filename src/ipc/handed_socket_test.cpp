// Unit tests of sockets that outlive a daemon: what is taken over, what is refused, and that
// clients see one endpoint throughout.
#include "ipc/handed_socket.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/un.h>

#include <array>
#include <cstring>
#include <filesystem>

#include "ipc/kineto_thread_test_support.h"

namespace dynolog {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class HandedSocketTest : public KinetoThreadTest {
 protected:
  HandedSocketTest() {
    char name[] = "/tmp/dynolog-handed-XXXXXX";
    directory_ = ::mkdtemp(name);
    options_.abstract_endpoint = false;
    options_.directories = {directory_};
    options_.keep_sockets = true;
  }
  ~HandedSocketTest() override {
    thread_.reset();
    std::error_code ignored;
    fs::remove_all(directory_, ignored);
  }
  [[nodiscard]] std::string file() const { return directory_ + "/dynolog"; }
  static UniqueFd bound(int type, const std::string& address) {
    UniqueFd fd(::socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    std::memcpy(name.sun_path, address.data(), address.size());
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + address.size());
    EXPECT_EQ(::bind(fd.get(), reinterpret_cast<const sockaddr*>(&name), size), 0);
    return fd;
  }
  static std::string problem(const Status& status) { return status ? "" : status.error().message; }
  [[nodiscard]] KinetoEndpointState state() {
    return events_.next<KinetoEndpointState>().value_or(KinetoEndpointState{});
  }
  // What whoever keeps it holds, as systemd does.
  static std::shared_ptr<UniqueFd> copy_of(const std::shared_ptr<const UniqueFd>& socket) {
    return std::make_shared<UniqueFd>(::fcntl(socket->get(), F_DUPFD_CLOEXEC, 0));
  }

  std::string directory_;
};

TEST_F(HandedSocketTest, NamesWhatItIsInstead) {
  const std::string address = file();
  const UniqueFd good = bound(SOCK_DGRAM, address);
  EXPECT_EQ(problem(check_handed_socket(good.get(), address)), "");
  EXPECT_THAT(problem(check_handed_socket(good.get(), directory_ + "/other")),
              HasSubstr("it is bound to " + address + " and not to " + directory_ + "/other"));
  EXPECT_THAT(problem(check_handed_socket(good.get(), std::string("\0dynolog\0", 9))),
              HasSubstr("and not to @dynolog"));

  const UniqueFd stream = bound(SOCK_STREAM, directory_ + "/stream");
  EXPECT_EQ(problem(check_handed_socket(stream.get(), directory_ + "/stream")),
            "it is not a unix datagram socket");
  const UniqueFd internet(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  EXPECT_EQ(problem(check_handed_socket(internet.get(), address)),
            "it is not a unix datagram socket");
  const UniqueFd plain(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  EXPECT_EQ(problem(check_handed_socket(plain.get(), address)), "it is not a socket");
  EXPECT_EQ(problem(check_handed_socket(-1, address)), "it is not a socket");
  const UniqueFd unbound(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  EXPECT_THAT(problem(check_handed_socket(unbound.get(), address)),
              HasSubstr("it is bound to no name"));
}

TEST_F(HandedSocketTest, ConnectedOneIsRefused) {
  const UniqueFd peer = bound(SOCK_DGRAM, directory_ + "/peer");
  const UniqueFd socket = bound(SOCK_DGRAM, file());
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  std::strncpy(name.sun_path, (directory_ + "/peer").c_str(), sizeof name.sun_path - 1);
  ASSERT_EQ(::connect(socket.get(), reinterpret_cast<const sockaddr*>(&name), sizeof name), 0);
  EXPECT_EQ(problem(check_handed_socket(socket.get(), file())),
            "it is connected to another socket");
}

TEST_F(HandedSocketTest, KnowsTheVeryFile) {
  const UniqueFd old = bound(SOCK_DGRAM, file());
  struct stat first{};
  ASSERT_EQ(::lstat(file().c_str(), &first), 0);
  EXPECT_EQ(problem(check_bound_file(old.get(), first)), "");
  fs::rename(file(), directory_ + "/moved");  // its inode stays in use
  const UniqueFd fresh = bound(SOCK_DGRAM, file());
  struct stat second{};
  ASSERT_EQ(::lstat(file().c_str(), &second), 0);
  EXPECT_EQ(problem(check_bound_file(old.get(), second)),
            "the file of that name is another one by now");
  EXPECT_EQ(problem(check_bound_file(fresh.get(), second)), "");
}

TEST_F(HandedSocketTest, ClientsPollAcrossTheChange) {
  start();
  const auto first = state();
  ASSERT_TRUE(first.up);
  ASSERT_NE(first.socket, nullptr);
  auto client = open_client();
  (void)ask(client);
  auto kept = copy_of(first.socket);
  thread_.reset();
  // The name stays, and what is sent meanwhile waits instead of being refused.
  EXPECT_TRUE(fs::is_socket(file()));
  EXPECT_TRUE(client.send_poll());

  options_.handed = {{.endpoint = directory_, .socket = std::move(kept)}};
  start();
  const auto second = state();
  EXPECT_TRUE(second.up) << second.problem;
  EXPECT_EQ(second.socket, nullptr);  // it is in keeping
  EXPECT_EQ(second.not_taken, "");
  const auto waited = events_.next<KinetoPolled>();
  ASSERT_TRUE(waited);
  // The change may have taken longer than a client waits; then it is left unanswered.
  if (waited->answered) {
    EXPECT_TRUE(client.wait(kPatience));
  }
  EXPECT_EQ(ask(client).would_terminate, "");
}

TEST_F(HandedSocketTest, AbstractNameIsNeverFreeMeanwhile) {
  options_.abstract_endpoint = true;
  options_.directories = {};
  start();
  const auto first = state();
  ASSERT_NE(first.socket, nullptr);
  auto kept = copy_of(first.socket);
  thread_.reset();
  const UniqueFd thief(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  std::memcpy(name.sun_path + 1, options_.abstract_name.data(), options_.abstract_name.size());
  const auto size =
      static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + options_.abstract_name.size());
  EXPECT_NE(::bind(thief.get(), reinterpret_cast<const sockaddr*>(&name), size), 0);
  EXPECT_EQ(errno, EADDRINUSE);

  options_.handed = {{.endpoint = "abstract", .socket = std::move(kept)}};
  start();
  EXPECT_TRUE(state().up);
  auto client = open_client();
  EXPECT_EQ(ask(client).would_terminate, "");
}

TEST_F(HandedSocketTest, WrongOneIsNamedAndTheEndpointMadeAnew) {
  options_.handed = {
      {.endpoint = directory_,
       .socket = std::make_shared<UniqueFd>(bound(SOCK_DGRAM, directory_ + "/other"))}};
  start();
  const auto told = state();
  EXPECT_TRUE(told.up) << told.problem;
  EXPECT_THAT(told.not_taken, HasSubstr("it is bound to " + directory_ + "/other"));
  EXPECT_NE(told.socket, nullptr);
}

TEST_F(HandedSocketTest, OneOfAnEarlierDirectoryIsNotTaken) {
  auto old = std::make_shared<UniqueFd>(bound(SOCK_DGRAM, file()));
  fs::rename(directory_, directory_ + ".old");
  ASSERT_EQ(::mkdir(directory_.c_str(), 0755), 0);
  options_.handed = {{.endpoint = directory_, .socket = std::move(old)}};
  start();
  const auto told = state();
  EXPECT_TRUE(told.up) << told.problem;
  EXPECT_EQ(told.not_taken, "its file has gone: the directory was made anew");
  EXPECT_NE(told.socket, nullptr);
  fs::remove_all(directory_ + ".old");
}

TEST_F(HandedSocketTest, SocketMadeAnewIsHandedOutAgain) {
  start();
  ASSERT_NE(state().socket, nullptr);
  ASSERT_EQ(::unlink(file().c_str()), 0);
  clock_.pass(std::chrono::seconds(1));
  thread_->add_directory(directory_);
  const auto told = state();
  EXPECT_TRUE(told.up) << told.problem;
  EXPECT_NE(told.socket, nullptr);
}

TEST_F(HandedSocketTest, RemovedDirectoryIsServedNoMoreAndCanComeBack) {
  start();
  ASSERT_TRUE(state().up);
  auto client = open_client();
  (void)ask(client);
  thread_->remove_directory(directory_);
  const auto gone = state();
  EXPECT_TRUE(gone.removed);
  EXPECT_FALSE(gone.up);
  EXPECT_FALSE(fs::exists(file()));
  thread_->add_directory(directory_);
  const auto back = state();
  EXPECT_TRUE(back.up) << back.problem;
  EXPECT_FALSE(back.removed);
  EXPECT_NE(back.socket, nullptr);
  EXPECT_EQ(ask(client).would_terminate, "");
}

TEST_F(HandedSocketTest, WithoutAKeeperTheNameGoesWithTheDaemon) {
  options_.keep_sockets = false;
  start();
  const auto told = state();
  EXPECT_TRUE(told.up);
  EXPECT_EQ(told.socket, nullptr);
  thread_.reset();
  EXPECT_FALSE(fs::exists(file()));
}

TEST_F(HandedSocketTest, SaysThatItIsAliveUntilItHangs) {
  start();
  ASSERT_TRUE(state().up);
  EXPECT_TRUE(thread_->alive());
  thread_->withdraw(own_key(), "x");  // obeyed after the question was seen
  ASSERT_TRUE(events_.next<KinetoWithdrawn>());
  EXPECT_TRUE(thread_->alive());
  {
    const Hold held(hold_);
    thread_->withdraw(own_key(), "x");  // it hangs in telling of this
    ASSERT_TRUE(events_.next<KinetoWithdrawn>());
    (void)thread_->alive();
    EXPECT_FALSE(thread_->alive());
  }
}

}  // namespace
}  // namespace dynolog
