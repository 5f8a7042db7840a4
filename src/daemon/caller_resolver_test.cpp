// Who is behind a TCP socket, by its holders.
#include "daemon/caller_resolver.h"

#include <gtest/gtest.h>

namespace dynolog {
namespace {

SocketHolder holder(std::uint32_t uid, std::string container, bool host_namespaces) {
  SocketHolder made;
  made.key.pid = Pid{100};
  made.uid = Uid{uid};
  made.container = std::move(container);
  made.host_namespaces = host_namespaces;
  return made;
}

class CountingProcs final : public ProcsWorker {
 public:
  void facts(ProcessKey, std::function<void(Result<ProcessFacts>)>) override { ++asked; }
  void socket_holders(std::uint32_t, Uid,
                      std::function<void(Result<std::vector<SocketHolder>>)> done) override {
    ++asked;
    done(std::vector{holder(0, "", true)});
  }
  void holder_facts(Pid, std::function<void(Result<SocketHolder>)>) override { ++asked; }
  std::uint64_t restarts() const override { return 0; }

  int asked = 0;
};

TEST(ProcsCallerResolver, CallersOnTheUnixSocketDoNotQueueBehindTcpLookups) {
  CountingProcs for_unix;
  CountingProcs for_tcp;
  ProcsCallerResolver resolver(for_unix, for_tcp);
  resolver.resolve_unix({Uid{1}, Pid{1}, UniqueFd()}, [](const Result<Caller>&) {});
  EXPECT_EQ(for_unix.asked, 1);
  EXPECT_EQ(for_tcp.asked, 0);
  // The socket's uid comes along: here a user's socket in the hands of root's service.
  ErrorKind refused = ErrorKind::failed;
  resolver.resolve_tcp({Uid{1000}, 7}, [&](const Result<Caller>& caller) {
    ASSERT_FALSE(caller);
    refused = caller.error().kind;
  });
  EXPECT_EQ(refused, ErrorKind::not_identified);
  EXPECT_EQ(for_unix.asked, 1);
}

TEST(CallerFromHolders, NoHolderIsNobody) {
  EXPECT_EQ(caller_from_holders({}, Uid{1000}).error().kind, ErrorKind::not_identified);
}

TEST(CallerFromHolders, TheTenantIsTheHoldersWithItsContainer) {
  const auto caller = caller_from_holders({holder(1000, "abc", false)}, Uid{1000});
  ASSERT_TRUE(caller);
  EXPECT_EQ(caller->tenant, (Tenant{Uid{1000}, "abc"}));
  EXPECT_FALSE(caller->host_root);
}

TEST(CallerFromHolders, ASocketInOtherHandsThanItsMakersIsNobodys) {
  EXPECT_EQ(caller_from_holders({holder(0, "", true)}, Uid{1000}).error().kind,
            ErrorKind::not_identified)
      << "a user sent his socket to a service of root's";
  EXPECT_FALSE(caller_from_holders({holder(1000, "", true)}, Uid{1234})) << "fchown()";
}

TEST(CallerFromHolders, HoldersOfDifferentTenantsAreRefused) {
  EXPECT_FALSE(caller_from_holders({holder(1000, "", true), holder(1001, "", true)}, Uid{1000}));
  EXPECT_FALSE(caller_from_holders({holder(0, "", true), holder(0, "abc", false)}, Uid{0}));
}

TEST(CallerFromHolders, RootOnlyOutsideContainersAndInTheHostsNamespaces) {
  constexpr Uid kRoot{0};
  EXPECT_TRUE(caller_from_holders({holder(0, "", true)}, kRoot)->host_root);
  EXPECT_FALSE(caller_from_holders({holder(0, "abc", true)}, kRoot)->host_root);
  EXPECT_FALSE(caller_from_holders({holder(0, "", false)}, kRoot)->host_root);
  EXPECT_FALSE(caller_from_holders({holder(0, "", true), holder(0, "", false)}, kRoot)->host_root);
}

TEST(CallerFromHolders, TheOverflowUidIsNobody) {
  EXPECT_EQ(caller_from_holders({holder(65534, "", true)}, Uid{65534}).error().kind,
            ErrorKind::not_identified);
}

}  // namespace
}  // namespace dynolog
