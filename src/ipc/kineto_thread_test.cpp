// Registration, the rules of answering, hand-over and receipt, against the real thread.
#include "ipc/kineto_thread.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/un.h>

#include <cstring>
#include <set>

#include "ipc/kineto_thread_test_support.h"
#include "ipc/kineto_wire.h"

namespace dynolog {
namespace {

using testing::HasSubstr;

TEST_F(KinetoThreadTest, RegistersAtTheFirstPollOfEachVersion) {
  start();
  for (const char* version : {"2.0", "2.3", "2.7", "2.13", "2.14"}) {
    SCOPED_TRACE(version);
    auto client = open_client(version);
    const auto reply = client.poll();
    ASSERT_TRUE(reply);
    // 2.7's second endpoint asks as well: the last to ask is answered in any case.
    if (*reply) {
      EXPECT_EQ((*reply)->config, "");
      EXPECT_EQ((*reply)->type, "req");
      EXPECT_EQ((*reply)->would_terminate, "");
    }
    const auto polled = events_.next<KinetoPolled>();
    ASSERT_TRUE(polled);
    EXPECT_EQ(polled->key, own_key());
    EXPECT_EQ(polled->uid, own_uid());
    EXPECT_EQ(polled->endpoint, "abstract");
    EXPECT_TRUE(polled->idle);
    EXPECT_EQ(polled->claimed_job, 42);
  }
  EXPECT_EQ(thread_->counters().clients, 1U);
}

TEST_F(KinetoThreadTest, SeesTheBusyBitOfOldAndNewVersions) {
  start();
  for (const char* version : {"2.13", "2.14"}) {
    auto client = open_client(version);
    client.set_busy(true);
    ASSERT_TRUE(client.send_poll());
    const auto polled = events_.next<KinetoPolled>();
    ASSERT_TRUE(polled);
    EXPECT_FALSE(polled->idle);
  }
}

TEST_F(KinetoThreadTest, LatePollIsNotAnsweredAndTheConfigurationIsKept) {
  start();
  auto client = open_client();
  (void)ask(client);
  put(own_key(), own_uid(), request("7"));
  clock_.shift(Milliseconds(60));
  ASSERT_TRUE(client.send_poll());
  const auto late = events_.next<KinetoPolled>();
  ASSERT_TRUE(late);
  EXPECT_FALSE(late->answered);
  EXPECT_EQ(thread_->counters().late, 1U);
  EXPECT_FALSE(client.receive());
  clock_.shift(Milliseconds(0));
  EXPECT_THAT(ask(client).config, HasSubstr("REQUEST_TRACE_ID=7\n"));
}

TEST_F(KinetoThreadTest, DoubledPollIsAnsweredOnce) {
  start();
  auto client = open_client();
  ASSERT_TRUE(client.send_doubled_poll());
  const auto first = events_.next<KinetoPolled>();
  const auto second = events_.next<KinetoPolled>();
  ASSERT_TRUE(first && second);
  EXPECT_FALSE(second->answered);
  if (first->answered) {
    EXPECT_EQ(thread_->counters().doubled, 1U);
    EXPECT_TRUE(client.wait(kPatience));
  }
  EXPECT_FALSE(client.receive());
}

TEST_F(KinetoThreadTest, UnreadReplyIsNotFollowedByAnother) {
  start();
  auto client = open_client();
  ASSERT_TRUE(client.send_poll());
  ASSERT_TRUE(events_.next<KinetoPolled>());
  put(own_key(), own_uid(), request("1"));
  // The client gave up waiting; it polls on, and its first read gets the old reply.
  const auto behind = [&] { return thread_->counters().behind > 0; };
  while (!behind()) {
    const auto polled = poll(client);
    ASSERT_TRUE(polled);
    ASSERT_FALSE(polled->answered);
  }
  EXPECT_EQ(client.receive()->config, "");
  EXPECT_FALSE(client.receive());
  EXPECT_THAT(ask(client).config, HasSubstr("REQUEST_TRACE_ID=1\n"));
}

TEST_F(KinetoThreadTest, HandsOverOnceWithStartAndIdAndReportsTheReceipt) {
  start();
  auto client = open_client();
  put(own_key(), own_uid(), request("123"));
  const WallTime before = clock_.wall();
  const auto reply = ask(client);
  const auto handed = events_.next<KinetoHandedOver>();
  ASSERT_TRUE(handed);
  EXPECT_EQ(handed->trace_id, "123");
  EXPECT_EQ(handed->key, own_key());
  ASSERT_TRUE(handed->start);
  EXPECT_GE(*handed->start + Milliseconds(1), before + kStartMargin);
  EXPECT_EQ(reply.config, fmt::format("ACTIVITIES_DURATION_MSECS=500\nPROFILE_START_TIME={}\n"
                                      "REQUEST_TRACE_ID=123\n",
                                      epoch_milliseconds(*handed->start)));
  const auto receipt = events_.next<KinetoReceipt>();
  ASSERT_TRUE(receipt);
  EXPECT_TRUE(receipt->read);
  EXPECT_EQ(receipt->trace_id, "123");
  EXPECT_EQ(ask(client).config, "");
}

TEST_F(KinetoThreadTest, SaysThatAConfigurationWasNotRead) {
  start();
  auto client = open_client();
  put(own_key(), own_uid(), request("9"));
  while (events_.count<KinetoHandedOver>() == 0) {
    ASSERT_TRUE(poll(client));
    // The hand-over follows its poll; the withdrawal's answer follows both.
    thread_->withdraw(own_key(), "none");
    ASSERT_TRUE(events_.next<KinetoWithdrawn>());
  }
  while (thread_->counters().behind == 0) ASSERT_TRUE(poll(client));
  auto receipt = events_.next<KinetoReceipt>();
  ASSERT_TRUE(receipt);
  EXPECT_FALSE(receipt->read);
  // One poll behind, it is read after all.
  EXPECT_THAT(client.receive()->config, HasSubstr("REQUEST_TRACE_ID=9\n"));
  (void)ask(client);
  receipt = events_.next<KinetoReceipt>();
  ASSERT_TRUE(receipt);
  EXPECT_TRUE(receipt->read);
}

TEST_F(KinetoThreadTest, BusyClientIsNotHandedOverAndTheItemLeaves) {
  start();
  auto client = open_client();
  client.set_busy(true);
  put(own_key(), own_uid(), request("5"));
  EXPECT_EQ(ask(client).config, "");
  const auto refused = events_.next<KinetoNotHandedOver>();
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->why, KinetoNotHandedOver::Why::busy);
  EXPECT_EQ(refused->trace_id, "5");
  client.set_busy(false);
  EXPECT_EQ(ask(client).config, "");
}

TEST_F(KinetoThreadTest, WithdrawsWhatWasNotSentAndSaysSoOtherwise) {
  start();
  auto client = open_client();
  put(own_key(), own_uid(), request("1"));
  thread_->withdraw(own_key(), "1");
  auto answer = events_.next<KinetoWithdrawn>();
  ASSERT_TRUE(answer);
  EXPECT_TRUE(answer->withdrawn);
  EXPECT_EQ(ask(client).config, "");
  put(own_key(), own_uid(), request("2"));
  EXPECT_THAT(ask(client).config, HasSubstr("REQUEST_TRACE_ID=2\n"));
  thread_->withdraw(own_key(), "2");
  answer = events_.next<KinetoWithdrawn>();
  ASSERT_TRUE(answer);
  EXPECT_FALSE(answer->withdrawn);
}

// Whatever the order in which a poll and a withdrawal arrive: either it was handed over and cannot
// be withdrawn, or it was withdrawn and is never handed over.
TEST_F(KinetoThreadTest, WithdrawalRacesWithThePoll) {
  Puppet other(client_options(options_));
  start();
  ASSERT_EQ(other.tell("ask"), "answered:");
  const ProcessKey key = key_of(other.pid());
  for (int i = 0; i < 8; ++i) {
    const std::string id = std::to_string(100 + i);
    put(key, own_uid(), request(id));
    std::string answer;
    std::thread poller([&] { answer = other.tell("ask"); });
    thread_->withdraw(key, id);
    const auto withdrawn = events_.next<KinetoWithdrawn>();
    poller.join();
    ASSERT_TRUE(withdrawn);
    EXPECT_EQ(withdrawn->withdrawn, !answer.contains("REQUEST_TRACE_ID=" + id)) << answer;
  }
}

TEST_F(KinetoThreadTest, SecondItemForAProcessIsRefused) {
  start();
  put(own_key(), own_uid(), request("1"));
  put(own_key(), own_uid(), request("2"));
  const auto refused = events_.next<KinetoNotHandedOver>();
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->trace_id, "2");
  auto client = open_client();
  EXPECT_THAT(ask(client).config, HasSubstr("REQUEST_TRACE_ID=1\n"));
}

TEST_F(KinetoThreadTest, TooLargeAConfigurationIsRefusedAndThePollAnswered) {
  start();
  auto client = open_client();
  TraceRequest large = request("1");
  large.config.assign(kMaxKinetoReply, '#');
  put(own_key(), own_uid(), large);
  EXPECT_EQ(ask(client).config, "");
  const auto refused = events_.next<KinetoNotHandedOver>();
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->why, KinetoNotHandedOver::Why::too_large);
}

TEST_F(KinetoThreadTest, AnotherUidThanAtTheCommitIsRefused) {
  start();
  auto client = open_client();
  put(own_key(), Uid{own_uid().value + 1}, request("1"));
  EXPECT_EQ(ask(client).config, "");
  const auto refused = events_.next<KinetoNotHandedOver>();
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->why, KinetoNotHandedOver::Why::identity_changed);
}

TEST_F(KinetoThreadTest, ProcessThatChangesItsUserAfterTheCommitGetsNothing) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to change the user";
  Puppet other(client_options(options_));
  start();
  ASSERT_EQ(other.tell("ask"), "answered:");
  put(key_of(other.pid()), own_uid(), request("1"));
  ASSERT_EQ(other.tell("uid 1234"), "ok");
  EXPECT_EQ(other.tell("ask"), "answered:");
  const auto refused = events_.next<KinetoNotHandedOver>();
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->why, KinetoNotHandedOver::Why::identity_changed);
  // From now on it is known as the new user's.
  EXPECT_TRUE(
      events_.next<KinetoPolled>([](const auto& polled) { return polled.uid.value == 1234; }));
}

TEST_F(KinetoThreadTest, ProcessThatChangesItsUserIsSoonTheNewUsers) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to change the user";
  Puppet other(client_options(options_));
  start();
  ASSERT_EQ(other.tell("ask"), "answered:");
  ASSERT_EQ(other.tell("uid 1234"), "ok");
  for (int i = 0; i < 10; ++i) ASSERT_EQ(other.tell("ask"), "answered:");
  EXPECT_TRUE(
      events_.next<KinetoPolled>([](const auto& polled) { return polled.uid.value == 1234; }));
}

TEST_F(KinetoThreadTest, EarlierProcessOfThisPidGetsNothingHere) {
  start();
  auto client = open_client();
  ProcessKey earlier = own_key();
  earlier.start_ticks -= 1;
  put(earlier, own_uid(), request("1"));
  EXPECT_EQ(ask(client).config, "");
  const auto refused = events_.next<KinetoNotHandedOver>();
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->why, KinetoNotHandedOver::Why::identity_changed);
}

// Another process takes the client's name over; what was staged for the client is not for it.
TEST_F(KinetoThreadTest, ReboundAbstractNameGetsNothing) {
  start();
  auto client = open_client();
  (void)ask(client);
  const std::string name = client.name();
  put(own_key(), own_uid(), request("1"));
  ASSERT_TRUE(client.reopen());
  const UniqueFd thief(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, name.data(), name.size());
  ASSERT_EQ(::bind(thief.get(), reinterpret_cast<const sockaddr*>(&address),
                   static_cast<socklen_t>(sizeof(sa_family_t) + name.size())),
            0);
  EXPECT_THAT(ask(client).config, HasSubstr("REQUEST_TRACE_ID=1\n"));
  char byte = 0;
  EXPECT_LT(::recv(thief.get(), &byte, 1, 0), 0);
}

TEST_F(KinetoThreadTest, ForkedChildIsAClientOfItsOwn) {
  Puppet first(client_options(options_));
  Puppet second(client_options(options_));
  start();
  ASSERT_EQ(first.tell("ask"), "answered:");
  ASSERT_EQ(second.tell("ask"), "answered:");
  EXPECT_EQ(thread_->counters().clients, 2U);
  put(key_of(second.pid()), own_uid(), request("2"));
  EXPECT_EQ(first.tell("ask"), "answered:");
  EXPECT_THAT(second.tell("ask"), HasSubstr("REQUEST_TRACE_ID=2"));
}

TEST_F(KinetoThreadTest, SaysAtOnceThatAProcessEnded) {
  Puppet other(client_options(options_));
  start();
  ASSERT_EQ(other.tell("ask"), "answered:");
  const ProcessKey key = key_of(other.pid());
  put(key, own_uid(), request("1"));
  other.end();
  const auto ended = events_.next<KinetoEnded>();
  ASSERT_TRUE(ended);
  EXPECT_EQ(ended->key, key);
  EXPECT_EQ(thread_->counters().clients, 0U);
  // What was staged for it went with it.
  thread_->withdraw(key, "1");
  const auto withdrawn = events_.next<KinetoWithdrawn>();
  ASSERT_TRUE(withdrawn);
  EXPECT_FALSE(withdrawn->withdrawn);
}

TEST_F(KinetoThreadTest, EventsComeInTheirOrder) {
  start();
  auto client = open_client();
  put(own_key(), own_uid(), request("1"));
  ASSERT_TRUE(events_.next<KinetoEndpointState>());
  for (bool handed = false; !handed;) {
    clock_.pass(std::chrono::seconds(1));
    ASSERT_TRUE(client.send_poll());
    (void)client.wait(client.patience());
    thread_->withdraw(own_key(), "none");
    ASSERT_TRUE(events_.next<KinetoWithdrawn>());
    handed = events_.count<KinetoHandedOver>() > 0;
    if (!handed) {
      ASSERT_TRUE(events_.next<KinetoPolled>());
    }
  }
  const auto kinds = events_.kinds();
  ASSERT_GE(kinds.size(), 2U);
  EXPECT_EQ(kinds[0], KinetoEvent(KinetoPolled{}).index());
  EXPECT_EQ(kinds[1], KinetoEvent(KinetoHandedOver{}).index());
}

// Polls of processes that wait together.
class KinetoNewcomersTest : public KinetoThreadTest {
 protected:
  void send_both() { send_all({&first_, &second_}); }
  void send_all(std::initializer_list<Puppet*> puppets) {
    ASSERT_TRUE(events_.next<KinetoEndpointState>());
    // However long this machine takes, nothing is late.
    clock_.shift(-std::chrono::hours(1));
    const Hold held(hold_);
    thread_->withdraw(own_key(), "none");
    ASSERT_TRUE(events_.next<KinetoWithdrawn>());
    for (Puppet* each : puppets) ASSERT_EQ(each->tell("send"), "ok");
  }

  Puppet first_{client_options(options_)};
  Puppet second_{client_options(options_)};
};

TEST_F(KinetoNewcomersTest, AreAllAnsweredBeforeTheFirstIsToldOf) {
  std::vector<std::uint64_t> answered;
  look_ = [&](const KinetoEvent& event) {
    if (std::holds_alternative<KinetoPolled>(event)) {
      answered.push_back(thread_->counters().answered);
    }
  };
  start();
  send_both();
  for (Puppet* each : {&first_, &second_}) {
    const auto polled = events_.next<KinetoPolled>();
    ASSERT_TRUE(polled);
    EXPECT_EQ(polled->key, key_of(each->pid()));
    EXPECT_EQ(polled->uid, own_uid());
    EXPECT_EQ(polled->claimed_job, 42);
    EXPECT_TRUE(polled->answered);
    EXPECT_EQ(each->tell("receive"), "answered:");
  }
  thread_.reset();
  EXPECT_EQ(answered, (std::vector<std::uint64_t>{2, 2}));
}

// Else a flood would fill the table with processes of which nobody knows whose they are.
TEST_F(KinetoNewcomersTest, AreNoMoreThanAPartOfTheTable) {
  Puppet third(client_options(options_));
  std::vector<std::uint64_t> answered;
  look_ = [&](const KinetoEvent& event) {
    if (std::holds_alternative<KinetoPolled>(event)) {
      answered.push_back(thread_->counters().answered);
    }
  };
  options_.max_clients = 8;
  start();
  send_all({&first_, &second_, &third});
  for (Puppet* each : {&first_, &second_, &third}) {
    EXPECT_EQ(each->tell("receive"), "answered:");
    EXPECT_TRUE(events_.next<KinetoPolled>());
  }
  thread_.reset();
  EXPECT_EQ(answered, (std::vector<std::uint64_t>{2, 2, 3})) << "two are known before the third";
}

TEST_F(KinetoNewcomersTest, AreHandedOverWhatWaitsForThemAtTheirFirstPoll) {
  start();
  put(key_of(second_.pid()), own_uid(), request("7"));
  send_both();
  EXPECT_EQ(first_.tell("receive"), "answered:");
  EXPECT_THAT(second_.tell("receive"), HasSubstr("REQUEST_TRACE_ID=7\n"));
  const auto handed = events_.next<KinetoHandedOver>();
  ASSERT_TRUE(handed);
  EXPECT_EQ(handed->key, key_of(second_.pid()));
}

// The second is dead and gone when its turn has come.
TEST_F(KinetoNewcomersTest, OneThatIsGoneInBetweenIsNeverToldOf) {
  look_ = [&](const KinetoEvent& event) {
    if (std::holds_alternative<KinetoPolled>(event)) second_.end();
  };
  const ProcessKey second = key_of(second_.pid());
  start();
  send_both();
  const auto polled = events_.next<KinetoPolled>();
  ASSERT_TRUE(polled);
  EXPECT_EQ(polled->key, key_of(first_.pid()));
  EXPECT_EQ(first_.tell("receive"), "answered:");
  thread_->withdraw(second, "none");
  ASSERT_TRUE(events_.next<KinetoWithdrawn>());
  EXPECT_EQ(thread_->counters().answered, 2U);
  EXPECT_EQ(thread_->counters().vanished, 1U);
  EXPECT_EQ(thread_->counters().clients, 1U);
  EXPECT_EQ(events_.count<KinetoPolled>(), 0U);
  EXPECT_EQ(events_.count<KinetoEnded>(), 0U);
}

TEST_F(KinetoThreadTest, TakenNameIsToldWithItsHolderAndRetried) {
  UniqueFd holder(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, options_.abstract_name.data(), options_.abstract_name.size());
  ASSERT_EQ(::bind(holder.get(), reinterpret_cast<const sockaddr*>(&address),
                   static_cast<socklen_t>(sizeof(sa_family_t) + 1 + options_.abstract_name.size())),
            0);
  start();
  auto state = events_.next<KinetoEndpointState>();
  ASSERT_TRUE(state);
  EXPECT_FALSE(state->up);
  EXPECT_EQ(state->endpoint, "abstract");
  EXPECT_THAT(state->problem, HasSubstr(fmt::format("process {} (", ::getpid())));
  EXPECT_THAT(state->problem, HasSubstr("dynolog-test-"));
  holder.reset();
  state = events_.next<KinetoEndpointState>();
  ASSERT_TRUE(state);
  EXPECT_TRUE(state->up);
  auto client = open_client();
  EXPECT_EQ(ask(client).config, "");
}

TEST_F(KinetoThreadTest, NameIsFreeAgainAfterTheEnd) {
  start();
  thread_.reset();
  start();
  auto client = open_client();
  EXPECT_EQ(ask(client).config, "");
}

TEST_F(KinetoThreadTest, SaysWhetherItRunsAtRealTimePriority) {
  options_.realtime = true;
  start();
  const auto state = events_.next<KinetoRealtimeState>();
  ASSERT_TRUE(state);
  EXPECT_FALSE(state->sentence.empty());
}

// 512 processes ask at one instant, and ask again where their version gives up waiting.
TEST_F(KinetoThreadTest, BurstOf512ClientsIsAnsweredWhole) {
  constexpr int kClients = 512;
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
  const rlimit wanted{.rlim_cur = limit.rlim_max, .rlim_max = limit.rlim_max};
  if (limit.rlim_max < 3 * kClients) GTEST_SKIP() << "too few descriptors are permitted";
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &wanted), 0);
  options_.realtime = true;
  int gate[2];
  int results[2];
  ASSERT_EQ(::pipe2(gate, O_CLOEXEC), 0);
  ASSERT_EQ(::pipe2(results, O_CLOEXEC), 0);
  const auto options = client_options(options_);
  std::vector<pid_t> children;
  for (int i = 0; i < kClients; ++i) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child != 0) {
      children.push_back(child);
      continue;
    }
    ::close(gate[1]);
    auto client = KinetoTestClient::open(options);
    char byte = 0;
    // The gate opens when its other end is closed.
    (void)!::read(gate[0], &byte, 1);
    char outcome = 'x';
    for (int tries = 0; client && tries < 300 && outcome == 'x'; ++tries) {
      const auto reply = client->poll();
      if (reply && *reply) outcome = (*reply)->would_terminate.empty() ? 'a' : 't';
    }
    (void)!::write(results[1], &outcome, 1);
    // Stays until it has been counted.
    ::pause();
    ::_exit(0);
  }
  start();
  ::close(gate[1]);
  int answered = 0;
  for (int i = 0; i < kClients; ++i) {
    char outcome = 0;
    ASSERT_EQ(::read(results[0], &outcome, 1), 1);
    if (outcome == 'a') ++answered;
  }
  EXPECT_EQ(answered, kClients);
  EXPECT_EQ(thread_->counters().clients, static_cast<std::uint64_t>(kClients));
  // Nothing is told of the end of one that nothing was told of.
  std::set<Pid> told;
  while (told.size() < children.size()) {
    const auto polled = events_.next<KinetoPolled>();
    ASSERT_TRUE(polled);
    told.insert(polled->key.pid);
  }
  for (const pid_t child : children) ::kill(child, SIGKILL);
  for (const pid_t child : children) ::waitpid(child, nullptr, 0);
  for (int i = 0; i < kClients; ++i) ASSERT_TRUE(events_.next<KinetoEnded>());
  EXPECT_EQ(thread_->counters().clients, 0U);
  for (const int fd : {gate[0], results[0], results[1]}) ::close(fd);
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace
}  // namespace dynolog
