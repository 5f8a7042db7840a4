// The real thread against what hostile, broken and unlucky clients send. Whatever it is, others are
// served on.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/un.h>

#include <cstring>

#include "ipc/kineto_thread_test_support.h"
#include "ipc/kineto_wire.h"

namespace dynolog {
namespace {

class KinetoHostileTest : public KinetoThreadTest {
 protected:
  std::string header(std::uint64_t size, std::string_view type) {
    std::string bytes(40, '\0');
    std::memcpy(bytes.data(), &size, sizeof size);
    std::memcpy(bytes.data() + 8, type.data(), type.size());
    return bytes;
  }
  // A well-behaved client is answered, and so everything sent before has been worked off.
  void expect_served() {
    auto client = open_client();
    EXPECT_EQ(ask(client).would_terminate, "");
  }
};

// One poll from any socket, however it is bound.
bool poll_abstract_from(int socket, const std::string& name) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  const auto length = static_cast<socklen_t>(sizeof(sa_family_t) + 1 + name.size());
  const std::string poll = kineto_poll_datagram(3, 0, {1});
  return ::sendto(socket, poll.data(), poll.size(), 0, reinterpret_cast<const sockaddr*>(&address),
                  length) > 0;
}

TEST_F(KinetoHostileTest, DropsAndCountsEveryMalformedDatagram) {
  start();
  auto hostile = open_client();
  const std::string body(16, '\1');
  std::string bad_count = kineto_poll_datagram(3, 0, {1});
  std::vector<std::string> datagrams = {"",
                                        "x",
                                        std::string(8, '\0'),
                                        header(1ULL << 63U, "ctxt") + body,
                                        header(~0ULL, "req") + body,
                                        header(1ULL << 60U, "req") + body,
                                        header(1ULL << 30U, "ctxt") + body,
                                        header(100, "ctxt") + body,
                                        header(4, "ctxt") + body,
                                        header(4, "ctxt") + "abcd",
                                        header(0, "ctxt") + body,
                                        header(0, "req"),
                                        header(4, "req") + "abcd",
                                        header(16, "nope") + body,
                                        header(16, std::string(32, 'A')) + body,
                                        std::string(kMaxKinetoDatagram + 100, 'z')};
  for (const std::int32_t count : {-1, 1000, 1'000'000, 1 << 30, 0x7fffffff}) {
    std::memcpy(bad_count.data() + 44, &count, sizeof count);
    datagrams.push_back(bad_count);
  }
  for (const std::string& datagram : datagrams) {
    // One at a time: a full queue is not what is tried here.
    const auto before = thread_->counters().malformed;
    ASSERT_EQ(hostile.send_raw(datagram), 0);
    expect_served();
    EXPECT_EQ(thread_->counters().malformed, before + 1) << datagram.size();
  }
  EXPECT_FALSE(hostile.receive());
}

TEST_F(KinetoHostileTest, DropsAnUnboundSender) {
  start();
  const UniqueFd fd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ASSERT_TRUE(poll_abstract_from(fd.get(), options_.abstract_name));
  expect_served();
  EXPECT_EQ(thread_->counters().bad_sender, 1U);
}

TEST_F(KinetoHostileTest, DropsASenderBoundToAPathOnTheAbstractEndpoint) {
  char directory[] = "/tmp/dynolog-ipc-XXXXXX";
  ASSERT_NE(::mkdtemp(directory), nullptr);
  start();
  const UniqueFd fd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_un own{};
  own.sun_family = AF_UNIX;
  const std::string path = std::string(directory) + "/client";
  std::memcpy(own.sun_path, path.data(), path.size());
  ASSERT_EQ(::bind(fd.get(), reinterpret_cast<const sockaddr*>(&own), sizeof own), 0);
  ASSERT_TRUE(poll_abstract_from(fd.get(), options_.abstract_name));
  expect_served();
  EXPECT_EQ(thread_->counters().bad_sender, 1U);
  char nothing = 0;
  EXPECT_LT(::recv(fd.get(), &nothing, 1, MSG_DONTWAIT), 0);
  ::unlink(path.c_str());
  ::rmdir(directory);
}

TEST_F(KinetoHostileTest, ClientThatNeverReadsHoldsUpNobody) {
  Puppet other(client_options(options_));
  start();
  auto client = open_client();
  ASSERT_TRUE(client.send_poll());
  ASSERT_TRUE(events_.next<KinetoPolled>());
  // Unread: whatever else it asks adds no second reply.
  for (int i = 0; i < 14; ++i) ASSERT_EQ(client.send_raw(kineto_context_datagram(0, 1, 0)), 0);
  EXPECT_EQ(other.tell("ask"), "answered:");
  EXPECT_TRUE(client.receive());
  EXPECT_FALSE(client.receive());
  EXPECT_GE(thread_->counters().behind, 1U);
}

TEST_F(KinetoHostileTest, SenderThatIsGoneBeforeTheReplyHoldsUpNobody) {
  // Another process: of this one the sockets may have been too many at once.
  Puppet other(client_options(options_));
  start();
  for (int i = 0; i < 20; ++i) {
    auto brief = open_client();
    ASSERT_TRUE(brief.send_poll());
  }
  EXPECT_EQ(other.tell("ask"), "answered:");
}

TEST_F(KinetoHostileTest, NewSocketForEachPollIsLeftUnansweredAfterAFew) {
  Puppet other(client_options(options_));
  start();
  std::vector<KinetoTestClient> clients;
  clients.push_back(open_client());
  (void)ask(clients.back());
  clock_.pass(std::chrono::seconds(1));
  for (int i = 0; i < 40; ++i) {
    auto opened = KinetoTestClient::open(client_options(options_));
    ASSERT_TRUE(opened);
    ASSERT_TRUE(opened->send_poll());
    clients.push_back(std::move(*opened));
  }
  // Answered after all of them.
  EXPECT_EQ(other.tell("ask"), "answered:");
  EXPECT_GE(thread_->counters().moved_too_often, 1U);
  // It is the same process, and known on.
  EXPECT_EQ(thread_->counters().clients, 2U);
}

TEST_F(KinetoHostileTest, OfUnansweredPollsOneASecondIsTold) {
  start();
  auto client = open_client();
  ASSERT_TRUE(poll(client));
  // Unread, and so each further one is doubled or behind.
  constexpr int kPolls = 500;
  int sent = 0;
  for (int i = 0; i < kPolls; ++i) sent += client.send_raw(client.poll_datagram()) == 0 ? 1 : 0;
  ASSERT_GT(sent, 0);
  const auto began = clock_.monotonic();
  while (thread_->counters().polls < 1U + static_cast<std::uint64_t>(sent)) {
    thread_->withdraw(own_key(), "none");
    ASSERT_TRUE(events_.next<KinetoWithdrawn>());
  }
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(clock_.monotonic() - began).count();
  EXPECT_LE(events_.count<KinetoPolled>(), 2U + 2U * static_cast<std::size_t>(seconds));
  EXPECT_LT(events_.count<KinetoPolled>(), static_cast<std::size_t>(sent));
}

TEST_F(KinetoHostileTest, AnswersAnOldContextMessageWithTheNumberOfClients) {
  start();
  auto client = open_client();
  ASSERT_EQ(client.send_raw(kineto_context_datagram(0, ::getpid(), 7)), 0);
  const auto reply = client.wait(kPatience);
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->type, "ctxt");
  EXPECT_EQ(reply->would_terminate, "");
  ASSERT_EQ(reply->config.size(), sizeof(std::int32_t));
  EXPECT_EQ(reply->config[0], 1);
  EXPECT_EQ(events_.count<KinetoPolled>(), 0U);
}

TEST_F(KinetoHostileTest, KernelRefusesDescriptorsSentAlong) {
  start();
  auto hostile = open_client();
  const UniqueFd file(::dup(0));
  const int error = hostile.send_raw(hostile.poll_datagram(), {file.get()});
  if (error == 0) GTEST_SKIP() << "this kernel cannot refuse descriptors (Linux 6.16 can)";
  EXPECT_EQ(error, EPERM);
  expect_served();
}

// A TCP connection whose close() lingers, because its peer takes nothing.
struct LingeringConnection {
  LingeringConnection() : listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const int small = 4096;
    ::setsockopt(listener.get(), SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = ::htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    if (::bind(listener.get(), generic, length) != 0 || ::listen(listener.get(), 1) != 0 ||
        ::getsockname(listener.get(), generic, &length) != 0) {
      return;
    }
    sender.reset(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    ::connect(sender.get(), generic, length);
    peer.reset(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
    const linger wait{.l_onoff = 1, .l_linger = 10 * static_cast<int>(kPatience.count())};
    ::setsockopt(sender.get(), SOL_SOCKET, SO_LINGER, &wait, sizeof wait);
    // A closing socket that is non-blocking does not linger.
    const std::string bulk(1U << 20U, 'x');
    while (::send(sender.get(), bulk.data(), bulk.size(), MSG_DONTWAIT | MSG_NOSIGNAL) > 0) {
    }
  }
  UniqueFd listener, sender, peer;
};

TEST_F(KinetoHostileTest, OlderKernelsWayDropsMessagesWithDescriptorsAndStopsNot) {
  options_.refuse_descriptors = false;
  start();
  auto hostile = open_client();
  LingeringConnection lingering;
  ASSERT_TRUE(lingering.peer.valid());
  const int flags = ::fcntl(lingering.sender.get(), F_GETFL);
  ASSERT_EQ(::fcntl(lingering.sender.get(), F_SETFL, flags & ~O_NONBLOCK), 0);
  {
    const Hold held(hold_);
    ASSERT_TRUE(hostile.send_poll());
    ASSERT_TRUE(events_.next<KinetoPolled>());
    ASSERT_EQ(hostile.send_raw(hostile.poll_datagram(), {lingering.sender.get()}), 0);
    // The last reference now lies in the message: it is not this thread that will wait.
    lingering.sender.reset();
  }
  expect_served();  // it lingers for longer than anything is waited for here
  EXPECT_EQ(thread_->counters().with_descriptors, 1U);
}

TEST_F(KinetoHostileTest, OlderKernelsWayLeaksNoDescriptor) {
  options_.refuse_descriptors = false;
  start();
  auto hostile = open_client();
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
  const UniqueFd reader(ends[0]);
  UniqueFd writer(ends[1]);
  const std::vector<int> many(20, writer.get());
  for (int i = 0; i < 5; ++i) {
    ASSERT_EQ(hostile.send_raw(hostile.poll_datagram(), many), 0);
    ASSERT_EQ(hostile.send_raw(hostile.poll_datagram(), {writer.get()}), 0);
  }
  expect_served();
  EXPECT_EQ(thread_->counters().with_descriptors, 10U);
  writer.reset();
  // The end of the pipe is seen only when nobody holds its other end any more.
  char byte = 0;
  EXPECT_EQ(::read(reader.get(), &byte, 1), 0);
}

TEST_F(KinetoHostileTest, ForgedCredentialChangesNobodysUid) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root may forge a credential's uid";
  start();
  auto client = open_client();
  ASSERT_EQ(client.send_with_credential(client.poll_datagram(), ::getpid(), 12345), 0);
  const auto polled = events_.next<KinetoPolled>();
  ASSERT_TRUE(polled);
  EXPECT_EQ(polled->uid, own_uid());
  EXPECT_EQ(polled->key, own_key());
}

TEST_F(KinetoHostileTest, RefusesTheOverflowUid) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to become nobody";
  Puppet nobody(client_options(options_));
  start();
  ASSERT_EQ(nobody.tell("uid 65534"), "ok");
  EXPECT_EQ(nobody.tell("poll"), "unanswered");
  EXPECT_EQ(thread_->counters().no_credentials, 1U);
  EXPECT_EQ(thread_->counters().clients, 0U);
}

TEST_F(KinetoHostileTest, FullTableAnswersThoseItKnows) {
  options_.max_clients = 1;
  Puppet other(client_options(options_));
  start();
  expect_served();
  EXPECT_EQ(other.tell("poll"), "unanswered");
  EXPECT_EQ(thread_->counters().table_full, 1U);
  EXPECT_EQ(log_.count("1 processes are registered"), 1U);
  expect_served();
}

TEST_F(KinetoHostileTest, OneUserTakesHalfOfTheTableAtMost) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can become another user";
  options_.max_clients = 2;
  Puppet first(client_options(options_));
  Puppet second(client_options(options_));
  start();
  ASSERT_EQ(first.tell("uid 4321"), "ok");
  ASSERT_EQ(second.tell("uid 4321"), "ok");
  EXPECT_EQ(first.tell("poll"), "answered:");
  EXPECT_EQ(second.tell("poll"), "unanswered");
  EXPECT_EQ(thread_->counters().table_full, 1U);
  expect_served();
}

// In a user namespace of its own a user has thousands of uids.
TEST_F(KinetoHostileTest, SubordinateUidsAreOneUser) {
  if (!can_enter_user_namespace()) GTEST_SKIP() << "no user namespaces of other users here";
  options_.max_clients = 2;
  Puppet first(client_options(options_));
  Puppet second(client_options(options_));
  start();
  ASSERT_EQ(first.tell("subordinate 100001"), "ok");
  ASSERT_EQ(second.tell("subordinate 100002"), "ok");
  EXPECT_EQ(first.tell("ask"), "answered:");
  EXPECT_EQ(second.tell("poll"), "unanswered");
  EXPECT_EQ(thread_->counters().table_full, 1U);
  expect_served();
}

TEST_F(KinetoHostileTest, TheLastPlacesAreRoots) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can become another user";
  options_.max_clients = 16;
  std::vector<std::unique_ptr<Puppet>> users;
  for (int i = 0; i < 16; ++i) users.push_back(std::make_unique<Puppet>(client_options(options_)));
  start();
  for (std::size_t i = 0; i < users.size(); ++i) {
    ASSERT_EQ(users[i]->tell(i % 2 == 0 ? "uid 4321" : "uid 4322"), "ok");
    EXPECT_EQ(users[i]->tell(i < 15 ? "ask" : "poll"), i < 15 ? "answered:" : "unanswered") << i;
  }
  EXPECT_EQ(thread_->counters().table_full, 1U);
  EXPECT_EQ(log_.count("15 processes are registered"), 1U);
  expect_served();
}

TEST_F(KinetoHostileTest, WithoutDescriptorsKnownClientsAreServedOn) {
  Puppet known(client_options(options_));
  Puppet late(client_options(options_));
  start();
  ASSERT_EQ(known.tell("ask"), "answered:");
  ASSERT_EQ(late.tell("idle"), "ok");
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  // The lowest free descriptor is the first that may not be had.
  const int free = ::dup(0);
  ::close(free);
  const rlimit low{.rlim_cur = static_cast<rlim_t>(free), .rlim_max = before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &low), 0);
  const std::string refused = late.tell("poll");
  const std::string served = known.tell("ask");
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(refused, "unanswered");
  EXPECT_EQ(served, "answered:");
  EXPECT_GE(thread_->counters().no_descriptors, 1U);
  EXPECT_EQ(late.tell("ask"), "answered:");
}

}  // namespace
}  // namespace dynolog
