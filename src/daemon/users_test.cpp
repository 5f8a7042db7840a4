// Names from a passwd file, also after it has changed.
#include "daemon/users.h"

#include <gtest/gtest.h>

#include "base/file.h"

namespace dynolog {
namespace {

TEST(Users, NamesAndNumbersFromTheFileAsItIsNow) {
  const std::string file = testing::TempDir() + "users_test_passwd";
  ASSERT_TRUE(replace_file(file, "alice:x:1000:1000::/:\nbroken\nsecond:x:1000:1::/:\n", 0600));
  const Users users(file);
  EXPECT_EQ(users.name(Uid{1000}), "alice") << "the first of two names of a number counts";
  EXPECT_EQ(users.name(Uid{7}), "7");
  EXPECT_EQ(users.find("alice"), Uid{1000});
  ASSERT_TRUE(replace_file(file, "carol:x:7:7::/:\n", 0600));
  EXPECT_EQ(users.name(Uid{7}), "carol");
  EXPECT_EQ(users.name(Uid{1000}), "1000");
}

TEST(Users, WithoutAFileNumbersRemain) {
  const Users users(testing::TempDir() + "users_test_no_such_file");
  EXPECT_EQ(users.name(Uid{0}), "0");
  EXPECT_EQ(users.find("12"), Uid{12});
  EXPECT_FALSE(users.find("root"));
}

}  // namespace
}  // namespace dynolog
