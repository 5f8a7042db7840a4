// A portable installation is known by the path of what runs.
#include "base/portable_layout.h"

#include <gtest/gtest.h>

namespace dynolog {
namespace {

TEST(PortableLayoutTest, FindsTheLauncherOfAProgramAndOfTheLoader) {
  EXPECT_EQ(portable_launcher("/home/a b/d/lib/dynolog/programs/dyno", "dynolog"),
            "/home/a b/d/bin/dynolog");
  EXPECT_EQ(portable_launcher("/opt/d/lib/dynolog/glibc/ld-linux-x86-64.so.2", "dynolog"),
            "/opt/d/bin/dynolog");
  // As /proc/self/exe shows a file that an upgrade has replaced.
  EXPECT_EQ(portable_launcher("/opt/d/lib/dynolog/glibc/ld-linux-x86-64.so.2 (deleted)", "dyno"),
            "/opt/d/bin/dyno");
}

TEST(PortableLayoutTest, OtherInstallationsHaveNone) {
  for (const char* executable :
       {"/usr/bin/dynolog", "/lib64/ld-linux-x86-64.so.2", "", "dynolog",
        "/opt/d/lib/dynolog/glibc", "/opt/d/lib/dynolog/programs/sub/dynolog",
        "lib/dynolog/programs/dyno", "/lib/dynolog/programs/dyno"}) {
    EXPECT_EQ(portable_launcher(executable, "dynolog"), "") << executable;
    EXPECT_FALSE(is_portable_loader(executable)) << executable;
  }
}

TEST(PortableLayoutTest, OnlyTheLoaderIsOne) {
  EXPECT_TRUE(is_portable_loader("/opt/d/lib/dynolog/glibc/ld-linux-x86-64.so.2"));
  EXPECT_FALSE(is_portable_loader("/opt/d/lib/dynolog/programs/dynolog"));
}

}  // namespace
}  // namespace dynolog
