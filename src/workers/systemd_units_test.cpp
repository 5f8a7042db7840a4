// Asking for units where there is no bus. With one: tests/e2e/test_systemd_units.py.
#include "workers/systemd_units.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

namespace dynolog {
namespace {

TEST(SystemdUnits, WithoutABusItIsNotHere) {
  ::setenv("DBUS_SYSTEM_BUS_ADDRESS", "unix:path=/nonexistent/bus", 1);
  const auto units = SystemdUnits::make()->read({"ssh.service"});
  ::unsetenv("DBUS_SYSTEM_BUS_ADDRESS");
  ASSERT_FALSE(units);
  EXPECT_EQ(units.error().kind, ErrorKind::not_found);
  EXPECT_THAT(units.error().message, testing::HasSubstr("the system bus"));
}

}  // namespace
}  // namespace dynolog
