// Who the kernel says a peer is, and above all: a closed client is not root.
#include "net/peer_identity.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <linux/sched.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <functional>
#include <optional>
#include <utility>

#include "testing/user_namespace.h"

namespace dynolog {
namespace {

constexpr uid_t kOtherUid = 23456;

struct Connection {
  UniqueFd server;
  UniqueFd client;
};

// `listen_v6`: the listener is dual-stack; `client_v6`: the client comes from ::1.
class Listener {
 public:
  Listener(bool v6, bool dual_stack)
      : v6_(v6), socket_(::socket(v6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    if (v6) {
      const int only = dual_stack ? 0 : 1;
      ::setsockopt(socket_.get(), IPPROTO_IPV6, IPV6_V6ONLY, &only, sizeof only);
      sockaddr_in6 address{};
      address.sin6_family = AF_INET6;
      address.sin6_addr = dual_stack ? in6addr_any : in6addr_loopback;
      ok_ = bind(address);
    } else {
      sockaddr_in address{};
      address.sin_family = AF_INET;
      address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
      ok_ = bind(address);
    }
  }
  [[nodiscard]] bool ok() const { return ok_; }

  [[nodiscard]] UniqueFd connect(bool v6) const {
    UniqueFd client(::socket(v6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in v4_address{};
    v4_address.sin_family = AF_INET;
    v4_address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    v4_address.sin_port = port_;
    sockaddr_in6 v6_address{};
    v6_address.sin6_family = AF_INET6;
    v6_address.sin6_addr = in6addr_loopback;
    v6_address.sin6_port = port_;
    const auto* address = v6 ? reinterpret_cast<const sockaddr*>(&v6_address)
                             : reinterpret_cast<const sockaddr*>(&v4_address);
    const socklen_t size = v6 ? sizeof v6_address : sizeof v4_address;
    EXPECT_EQ(::connect(client.get(), address, size), 0);
    return client;
  }
  [[nodiscard]] UniqueFd accept() const {
    return UniqueFd(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  }
  [[nodiscard]] Connection pair() const {
    Connection connection;
    connection.client = connect(v6_);
    connection.server = accept();
    return connection;
  }

 private:
  template <class Address>
  bool bind(Address address) {
    if (::bind(socket_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
        ::listen(socket_.get(), 16) != 0) {
      return false;
    }
    socklen_t size = sizeof address;
    ::getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&address), &size);
    if constexpr (std::is_same_v<Address, sockaddr_in6>) {
      port_ = address.sin6_port;
    } else {
      port_ = address.sin_port;
    }
    return true;
  }

  bool v6_;
  UniqueFd socket_;
  in_port_t port_ = 0;
  bool ok_ = false;
};

// Until the server has seen the peer's end, so that the kernel's state has settled.
void wait_for_end(int server) {
  char byte = 0;
  while (::recv(server, &byte, 1, 0) > 0) {
  }
}

// As another user, in a process of its own that lives until the pipe is closed.
pid_t as_other_user(const std::function<int()>& work) {
  const pid_t pid = ::fork();
  if (pid != 0) return pid;
  if (::setresuid(kOtherUid, kOtherUid, kOtherUid) != 0) ::_exit(100);
  ::_exit(work());
}

TEST(LoopbackTcpPeer, NamesAnOpenClient) {
  const Listener listener(false, false);
  const Connection connection = listener.pair();
  const auto peer = loopback_tcp_peer(connection.server.get());
  ASSERT_TRUE(peer) << peer.error().message;
  EXPECT_EQ(peer->uid.value, ::getuid());
  EXPECT_GT(peer->inode, 0U);
  const auto again = loopback_tcp_peer(connection.server.get());
  ASSERT_TRUE(again);
  EXPECT_EQ(*peer, *again);
}

TEST(LoopbackTcpPeer, NamesAClientThatShutItsWritingSide) {
  const Listener listener(false, false);
  const Connection connection = listener.pair();
  ::shutdown(connection.client.get(), SHUT_WR);
  wait_for_end(connection.server.get());
  const auto peer = loopback_tcp_peer(connection.server.get());
  ASSERT_TRUE(peer) << peer.error().message;
  EXPECT_EQ(peer->uid.value, ::getuid());
}

// The kernel delays our acknowledgement of its end: the client is in FIN_WAIT1 for up to 40 ms.
TEST(LoopbackTcpPeer, NamesAClientWhoseEndIsNotAcknowledgedYet) {
  const Listener listener(false, false);
  for (int i = 0; i < 50; ++i) {
    const Connection connection = listener.pair();
    ASSERT_EQ(::send(connection.client.get(), "request", 7, 0), 7);
    ::shutdown(connection.client.get(), SHUT_WR);
    for (int ask = 0; ask < 20; ++ask) {
      const auto peer = loopback_tcp_peer(connection.server.get());
      ASSERT_TRUE(peer) << peer.error().message;
      EXPECT_EQ(peer->uid.value, ::getuid());
    }
  }
}

TEST(LoopbackTcpPeer, AClosedClientIsNobody) {
  const Listener listener(false, false);
  Connection connection = listener.pair();
  connection.client.reset();
  // At once, in FIN_WAIT1, too.
  const auto at_once = loopback_tcp_peer(connection.server.get());
  ASSERT_FALSE(at_once);
  EXPECT_EQ(at_once.error().kind, ErrorKind::denied);
  wait_for_end(connection.server.get());
  const auto peer = loopback_tcp_peer(connection.server.get());
  ASSERT_FALSE(peer);
  EXPECT_EQ(peer.error().kind, ErrorKind::denied);
}

TEST(LoopbackTcpPeer, AResetClientIsNobody) {
  const Listener listener(false, false);
  Connection connection = listener.pair();
  const linger now{.l_onoff = 1, .l_linger = 0};
  ::setsockopt(connection.client.get(), SOL_SOCKET, SO_LINGER, &now, sizeof now);
  connection.client.reset();
  wait_for_end(connection.server.get());
  const auto peer = loopback_tcp_peer(connection.server.get());
  ASSERT_FALSE(peer);
  EXPECT_EQ(peer.error().kind, ErrorKind::denied);
}

TEST(LoopbackTcpPeer, NamesClientsOverIpv6AndMappedAddresses) {
  const Listener v6(true, false);
  if (!v6.ok()) GTEST_SKIP() << "no IPv6 loopback here";
  const Connection connection = v6.pair();
  const auto peer = loopback_tcp_peer(connection.server.get());
  ASSERT_TRUE(peer) << peer.error().message;
  EXPECT_EQ(peer->uid.value, ::getuid());

  const Listener dual(true, true);
  ASSERT_TRUE(dual.ok());
  const UniqueFd client = dual.connect(false);  // seen as ::ffff:127.0.0.1
  const UniqueFd server = dual.accept();
  const auto mapped = loopback_tcp_peer(server.get());
  ASSERT_TRUE(mapped) << mapped.error().message;
  EXPECT_EQ(mapped->uid.value, ::getuid());
}

TEST(LoopbackTcpPeer, TellsAnotherUserFromRootAlsoWhenItHasClosed) {
  if (::getuid() != 0) GTEST_SKIP() << "needs root to become another user";
  const Listener listener(false, false);
  std::array<int, 2> go{};
  ASSERT_EQ(::pipe(go.data()), 0);
  UniqueFd hold(go[1]);
  const UniqueFd waits(go[0]);
  const pid_t pid = as_other_user([&] {
    hold.reset();
    const UniqueFd client = listener.connect(false);
    char byte = 0;
    return static_cast<int>(::read(waits.get(), &byte, 1));
  });
  const UniqueFd server = listener.accept();
  const auto peer = loopback_tcp_peer(server.get());
  hold.reset();
  ASSERT_TRUE(peer) << peer.error().message;
  EXPECT_EQ(peer->uid.value, kOtherUid);
  int status = 0;
  ::waitpid(pid, &status, 0);
  EXPECT_EQ(status, 0);
  const auto after = loopback_tcp_peer(server.get());
  ASSERT_FALSE(after) << "uid " << after->uid.value;
  EXPECT_EQ(after.error().kind, ErrorKind::denied);
}

TEST(LoopbackTcpPeer, IsNotForUnixSockets) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()), 0);
  const UniqueFd one(ends[0]);
  const UniqueFd other(ends[1]);
  const auto peer = loopback_tcp_peer(one.get());
  ASSERT_FALSE(peer);
  EXPECT_EQ(peer.error().kind, ErrorKind::unavailable);
}

// An autobound (abstract) listener: nothing to clean up.
class UnixListener {
 public:
  UnixListener() : socket_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    EXPECT_EQ(::bind(socket_.get(), reinterpret_cast<sockaddr*>(&address), sizeof(sa_family_t)), 0);
    EXPECT_EQ(::listen(socket_.get(), 16), 0);
  }
  [[nodiscard]] UniqueFd connect() const {
    sockaddr_un address{};
    socklen_t size = sizeof address;
    ::getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&address), &size);
    UniqueFd client(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (::connect(client.get(), reinterpret_cast<sockaddr*>(&address), size) != 0) client.reset();
    return client;
  }
  [[nodiscard]] UniqueFd accept() const {
    return UniqueFd(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  }

 private:
  UniqueFd socket_;
};

TEST(UnixPeer, NamesAndPinsALiveClient) {
  const UnixListener listener;
  const UniqueFd client = listener.connect();
  const UniqueFd server = listener.accept();
  const auto peer = unix_peer(server.get(), {.accepted = since_boot()});
  ASSERT_TRUE(peer) << peer.error().message;
  EXPECT_EQ(peer->uid.value, ::geteuid());
  EXPECT_EQ(peer->pid.value, ::getpid());
  EXPECT_TRUE(peer->pidfd.valid());
}

// As before Linux 6.5.
TEST(UnixPeer, OlderKernelsWayPinsAProcessThatWasThereWhenItsConnectionWasAccepted) {
  const UnixListener listener;
  const UniqueFd client = listener.connect();
  const UniqueFd server = listener.accept();
  const auto peer = unix_peer(server.get(), {.accepted = since_boot(), .by_kernel = false});
  ASSERT_TRUE(peer) << peer.error().message;
  EXPECT_EQ(peer->pid.value, ::getpid());
  EXPECT_TRUE(peer->pidfd.valid());
  const auto before_it_started = unix_peer(server.get(), {.accepted = {}, .by_kernel = false});
  ASSERT_FALSE(before_it_started);
  EXPECT_EQ(before_it_started.error().kind, ErrorKind::denied);
}

// A process with these flags and, where it is not 0, this pid.
pid_t clone_process(std::uint64_t flags, pid_t wanted) {
  clone_args arguments{};
  arguments.flags = flags;
  arguments.exit_signal = SIGCHLD;
  if (wanted != 0) {
    arguments.set_tid = reinterpret_cast<std::uintptr_t>(&wanted);
    arguments.set_tid_size = 1;
  }
  return static_cast<pid_t>(::syscall(SYS_clone3, &arguments, sizeof arguments));
}

// A caller leaves its socket to another process, ends, and has its pid taken by one of root's.
TEST(UnixPeer, OlderKernelsWayIsNotTakenInByAReusedPid) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can choose a pid";
  const UnixListener listener;
  std::array<int, 2> told{};
  ASSERT_EQ(::pipe(told.data()), 0);
  const UniqueFd reads(told[0]);
  const UniqueFd writes(told[1]);
  // It shares our descriptors, so that its connection outlives it.
  const pid_t caller = clone_process(CLONE_FILES, 0);
  ASSERT_GE(caller, 0);
  if (caller == 0) {
    UniqueFd client = listener.connect();
    const int left_open = client.release();
    ::_exit(::write(writes.get(), &left_open, sizeof left_open) == sizeof left_open ? 0 : 1);
  }
  int left_open = -1;
  ASSERT_EQ(::read(reads.get(), &left_open, sizeof left_open), ssize_t{sizeof left_open});
  const UniqueFd client(left_open);
  const UniqueFd server = listener.accept();
  const Nanoseconds accepted = since_boot();
  ::waitpid(caller, nullptr, 0);
  // Start times count in ticks, of which a pid's second owner needs another one.
  const Nanoseconds tick = Nanoseconds(std::chrono::seconds(1)) / ::sysconf(_SC_CLK_TCK);
  while (since_boot() / tick == accepted / tick) {
  }
  const pid_t second = clone_process(0, caller);
  if (second < 0) GTEST_SKIP() << "this system lets nobody choose a pid";
  if (second == 0) {
    ::pause();
    ::_exit(0);
  }
  ASSERT_EQ(second, caller);
  const auto peer = unix_peer(server.get(), {.accepted = accepted, .by_kernel = false});
  ::kill(second, SIGKILL);
  ::waitpid(second, nullptr, 0);
  ASSERT_FALSE(peer) << "pid " << peer->pid.value;
  EXPECT_EQ(peer.error().kind, ErrorKind::denied);
}

TEST(UnixPeer, NamesAnotherUserWhileItLivesAndNobodyAfterwards) {
  if (::getuid() != 0) GTEST_SKIP() << "needs root to become another user";
  const UnixListener listener;
  std::array<int, 2> go{};
  ASSERT_EQ(::pipe(go.data()), 0);
  UniqueFd hold(go[1]);
  const UniqueFd waits(go[0]);
  const pid_t pid = as_other_user([&] {
    hold.reset();
    const UniqueFd client = listener.connect();
    char byte = 0;
    return static_cast<int>(::read(waits.get(), &byte, 1));
  });
  const UniqueFd server = listener.accept();
  const auto peer = unix_peer(server.get(), {.accepted = since_boot()});
  hold.reset();
  ASSERT_TRUE(peer) << peer.error().message;
  EXPECT_EQ(peer->uid.value, kOtherUid);
  EXPECT_EQ(peer->pid.value, pid);
  // A zombie, then reaped: dead either way.
  siginfo_t info{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT), 0);
  auto after = unix_peer(server.get(), {.accepted = since_boot()});
  ASSERT_FALSE(after);
  EXPECT_EQ(after.error().kind, ErrorKind::denied);
  ::waitpid(pid, nullptr, 0);
  after = unix_peer(server.get(), {.accepted = since_boot()});
  ASSERT_FALSE(after);
  EXPECT_EQ(after.error().kind, ErrorKind::denied);
}

// A process that does `work` and then lives until it is told to end; `made` says what came of it.
class WaitingProcess {
 public:
  explicit WaitingProcess(const std::function<bool()>& work) {
    std::array<int, 2> ready{};
    EXPECT_EQ(::pipe2(ready.data(), O_CLOEXEC), 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      const char answer = work() ? 'y' : 'n';
      if (::write(ready[1], &answer, 1) != 1) ::_exit(1);
      ::pause();
      ::_exit(0);
    }
    ::close(ready[1]);
    const UniqueFd hears(ready[0]);
    char answer = 'n';
    made = ::read(hears.get(), &answer, 1) == 1 && answer == 'y';
  }
  ~WaitingProcess() { end(); }
  WaitingProcess(const WaitingProcess&) = delete;
  WaitingProcess& operator=(const WaitingProcess&) = delete;
  void end() {
    const pid_t pid = std::exchange(pid_, -1);
    if (pid <= 0) return;
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
  }
  [[nodiscard]] Pid pid() const { return Pid{pid_}; }
  bool made = false;

 private:
  pid_t pid_ = -1;
};

UniqueFd pin(Pid pid) {
  return UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, pid.value, 0)));
}

// By its pidfd, and by its files as on older kernels: the two say the same.
std::optional<Uid> accountable(Pid pid, Uid uid) {
  const UniqueFd pidfd = pin(pid);
  EXPECT_TRUE(pidfd.valid());
  const auto by_files = accountable_uid(pid, uid, -1);
  EXPECT_EQ(accountable_uid(pid, uid, pidfd.get()), by_files);
  return by_files;
}

// In a user namespace of its own a user has thousands of uids; limits count the user.
TEST(AccountableUid, IsTheOwnerOfTheUserNamespace) {
  EXPECT_EQ(accountable(Pid{::getpid()}, Uid{4321}), Uid{4321});
  if (!can_enter_user_namespace()) GTEST_SKIP() << "no user namespaces of other users here";
  const WaitingProcess inside([] { return enter_user_namespace(kOtherUid, 100000, 10); });
  ASSERT_TRUE(inside.made);
  EXPECT_EQ(accountable(inside.pid(), Uid{100009}), Uid{kOtherUid});
}

// Within it each of those uids can make a namespace of its own.
TEST(AccountableUid, IsTheOwnerOfTheOutermostUserNamespace) {
  if (!can_enter_user_namespace()) GTEST_SKIP() << "no user namespaces of other users here";
  const WaitingProcess inside([] {
    return enter_user_namespace(kOtherUid, 100000, 10) && ::setresuid(7, 7, 7) == 0 &&
           ::unshare(CLONE_NEWUSER) == 0;
  });
  ASSERT_TRUE(inside.made);
  EXPECT_EQ(accountable(inside.pid(), Uid{100007}), Uid{kOtherUid});
}

// A container with uids of its own is no user's, and its root is not the host's.
TEST(AccountableUid, UidsThatRootGaveAreNobodys) {
  if (!can_enter_user_namespace()) GTEST_SKIP() << "no user namespaces of other users here";
  const WaitingProcess inside([] { return enter_user_namespace(0, 100000, 10); });
  ASSERT_TRUE(inside.made);
  EXPECT_EQ(accountable(inside.pid(), Uid{100000}), std::nullopt);
  EXPECT_EQ(accountable(inside.pid(), kRootUid), kRootUid);
}

TEST(AccountableUid, NobodyAnswersForAProcessThatHasEnded) {
  WaitingProcess gone([] { return true; });
  const Pid pid = gone.pid();
  const UniqueFd pidfd = pin(pid);
  ASSERT_TRUE(pidfd.valid());
  gone.end();
  EXPECT_EQ(accountable_uid(pid, Uid{4321}, -1), std::nullopt);
  EXPECT_EQ(accountable_uid(pid, Uid{4321}, pidfd.get()), std::nullopt);
}

TEST(UnixPeer, TheOverflowUidIsNoTenant) {
  if (::getuid() != 0) GTEST_SKIP() << "needs root to become another user";
  const UnixListener listener;
  std::array<int, 2> go{};
  ASSERT_EQ(::pipe(go.data()), 0);
  UniqueFd hold(go[1]);
  const UniqueFd waits(go[0]);
  const pid_t pid = ::fork();
  if (pid == 0) {
    hold.reset();
    if (::setresuid(65534, 65534, 65534) != 0) ::_exit(100);
    const UniqueFd client = listener.connect();
    char byte = 0;
    ::_exit(static_cast<int>(::read(waits.get(), &byte, 1)));
  }
  const UniqueFd server = listener.accept();
  const auto peer = unix_peer(server.get(), {.accepted = since_boot()});
  hold.reset();
  ::waitpid(pid, nullptr, 0);
  ASSERT_FALSE(peer);
  EXPECT_EQ(peer.error().kind, ErrorKind::denied);
}

}  // namespace
}  // namespace dynolog
