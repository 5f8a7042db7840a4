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
