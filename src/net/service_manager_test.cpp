// Unit tests of systemd's protocol: what arrives at its socket, descriptors included.
#include "net/service_manager.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <limits>
#include <string>

namespace dynolog {
namespace {

using ::testing::MatchesRegex;

class Manager : public ::testing::Test {
 protected:
  Manager() {
    char pattern[] = "/tmp/dynolog-manager-XXXXXX";
    directory_ = ::mkdtemp(pattern);
    const std::string path = directory_ + "/notify";
    socket_.reset(::socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path.c_str(), path.size());
    EXPECT_EQ(::bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address),
              0);
    ::setenv("NOTIFY_SOCKET", path.c_str(), 1);
  }
  ~Manager() override {
    ::unsetenv("NOTIFY_SOCKET");
    ::unsetenv("WATCHDOG_USEC");
    std::filesystem::remove_all(directory_);
  }

  static std::unique_ptr<ServiceManager> found() {
    return find_service_manager({.notify_socket = true, .listen_fds = 0}).value();
  }

  // The next message, "" when there is none; a descriptor that came along is kept in received_.
  std::string next() {
    std::array<char, 4096> text{};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
    iovec piece{text.data(), text.size()};
    msghdr message{};
    message.msg_iov = &piece;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    const auto size = ::recvmsg(socket_.get(), &message, MSG_CMSG_CLOEXEC);
    received_.reset();
    if (size < 0) return "";
    const cmsghdr* rights = CMSG_FIRSTHDR(&message);
    if (rights != nullptr && rights->cmsg_type == SCM_RIGHTS) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(rights), sizeof fd);
      received_.reset(fd);
    }
    return {text.data(), static_cast<std::size_t>(size)};
  }

  std::string directory_;
  UniqueFd socket_;
  UniqueFd received_;
};

TEST_F(Manager, IsToldHowTheDaemonIs) {
  const auto manager = found();
  EXPECT_TRUE(manager->present());
  manager->ready("2 processes");
  EXPECT_EQ(next(), "READY=1\nSTATUS=2 processes");
  manager->show("3 processes");
  EXPECT_EQ(next(), "STATUS=3 processes");
  manager->reloading(MonotonicTime(std::chrono::milliseconds(1500)));
  EXPECT_EQ(next(), "RELOADING=1\nMONOTONIC_USEC=1500000");
  manager->alive();
  EXPECT_EQ(next(), "WATCHDOG=1");
  manager->stopping();
  EXPECT_THAT(next(), MatchesRegex("STOPPING=1\nSTATUS=.*"));
  EXPECT_EQ(next(), "");
}

TEST_F(Manager, KeepsOneDescriptorUnderAName) {
  const auto manager = found();
  manager->store("kineto", socket_.get());
  EXPECT_EQ(next(), "FDSTOREREMOVE=1\nFDNAME=kineto") << "an older one goes first";
  EXPECT_EQ(next(), "FDSTORE=1\nFDPOLL=0\nFDNAME=kineto");
  struct stat ours{};
  struct stat theirs{};
  ASSERT_TRUE(received_.valid());
  ASSERT_EQ(::fstat(socket_.get(), &ours), 0);
  ASSERT_EQ(::fstat(received_.get(), &theirs), 0);
  EXPECT_EQ(ours.st_ino, theirs.st_ino);
}

TEST_F(Manager, SaysHowOftenItWantsASignOfLife) {
  EXPECT_FALSE(found()->watchdog());
  ::setenv("WATCHDOG_USEC", "30000000", 1);
  EXPECT_EQ(found()->watchdog(), Nanoseconds(std::chrono::seconds(30)));
}

TEST_F(Manager, ThatIsGoneHarmsNobody) {
  const auto manager = found();
  socket_.reset();
  manager->ready("on its own");
  manager->store("kineto", 0);
}

void lose_all_and_exit() {
  const rlimit processor{.rlim_cur = 20, .rlim_max = 20};
  ::setrlimit(RLIMIT_CPU, &processor);
  for (int fd = 3; fd < 64; ++fd) ::close(fd);
  const int kept = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  const int far = ::fcntl(kept, F_DUPFD_CLOEXEC, 60);
  const int count = std::numeric_limits<int>::max();
  ::setenv("LISTEN_FDS", std::to_string(count).c_str(), 1);
  ::setenv("LISTEN_PID", std::to_string(::getpid()).c_str(), 1);
  const auto manager = find_service_manager({.notify_socket = false, .listen_fds = count}).value();
  const bool refused = !manager->take_stored();
  const bool closed = ::fcntl(kept, F_GETFD) < 0 && ::fcntl(far, F_GETFD) < 0;
  std::_Exit(kept == 3 && far >= 60 && refused && closed && ::fcntl(2, F_GETFD) == 0 ? 0 : 1);
}

// In a child process of its own, which has descriptors to lose. Its processor time is bounded:
// closing each number takes minutes.
TEST(HandedOver, WhatIsNotAllThereIsClosedWithoutCountingItUp) {
  EXPECT_EXIT(lose_all_and_exit(), testing::ExitedWithCode(0), "");
}

TEST(NoManager, IsAskedForNothing) {
  const auto manager = find_service_manager({}).value();
  EXPECT_FALSE(manager->present());
  EXPECT_FALSE(manager->watchdog());
  EXPECT_TRUE(manager->take_stored().value().empty());
  manager->ready("");
}

TEST(DescriptorNames, HoldNothingThatTheManagerRefuses) {
  EXPECT_EQ(descriptor_name("kineto:/run/x"), "kineto%3A/run/x");
  EXPECT_EQ(descriptor_name("a b\n\xff%"), "a%20b%0A%FF%25");
}

}  // namespace
}  // namespace dynolog
