// What is an id of a machine, and what only stands in its place.
#include "daemon/machine_id.h"

#include <gtest/gtest.h>

#include "base/file.h"

namespace dynolog {
namespace {

std::string id_in(const std::string& text) {
  const std::string file = testing::TempDir() + "machine_id_test";
  EXPECT_TRUE(replace_file(file, text, 0600));
  return machine_id(file);
}

TEST(MachineId, IsTheFilesLine) {
  EXPECT_EQ(id_in("3d1219c7c4c5404aaa1f6d2a48adfda4\n"), "3d1219c7c4c5404aaa1f6d2a48adfda4");
  EXPECT_EQ(id_in("3d1219c7c4c5404aaa1f6d2a48adfda4"), "3d1219c7c4c5404aaa1f6d2a48adfda4");
}

// Many hosts would go by one name.
TEST(MachineId, IsNothingThatManyHostsHave) {
  for (const char* text : {"", "\n", "uninitialized\n", "3d1219c7", "localhost",
                           "3d1219c7c4c5404aaa1f6d2a48adfda4 3d1219c7c4c5404aaa1f6d2a48adfda4\n",
                           "3d1219c7-4c54-04aa-a1f6-d2a48adfda4x\n"}) {
    EXPECT_EQ(id_in(text), "") << text;
  }
  EXPECT_EQ(machine_id("/nonexistent/machine-id"), "");
}

}  // namespace
}  // namespace dynolog
