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
  EXPECT_EQ(caller_from_holders({}).error().kind, ErrorKind::not_identified);
}

TEST(CallerFromHolders, TheTenantIsTheHoldersNotTheSocketsUid) {
  const auto caller = caller_from_holders({holder(1000, "", true)});
  ASSERT_TRUE(caller);
  EXPECT_EQ(caller->tenant, (Tenant{Uid{1000}, ""}));
  EXPECT_FALSE(caller->host_root);
}

TEST(CallerFromHolders, HoldersOfDifferentTenantsAreRefused) {
  EXPECT_FALSE(caller_from_holders({holder(1000, "", true), holder(1001, "", true)}));
  EXPECT_FALSE(caller_from_holders({holder(0, "", true), holder(0, "abc", false)}));
}

TEST(CallerFromHolders, RootOnlyOutsideContainersAndInTheHostsNamespaces) {
  EXPECT_TRUE(caller_from_holders({holder(0, "", true)})->host_root);
  EXPECT_FALSE(caller_from_holders({holder(0, "abc", true)})->host_root);
  EXPECT_FALSE(caller_from_holders({holder(0, "", false)})->host_root);
  EXPECT_FALSE(caller_from_holders({holder(0, "", true), holder(0, "", false)})->host_root);
}

TEST(CallerFromHolders, TheOverflowUidIsNobody) {
  EXPECT_EQ(caller_from_holders({holder(65534, "", true)}).error().kind, ErrorKind::not_identified);
}

}  // namespace
}  // namespace dynolog
