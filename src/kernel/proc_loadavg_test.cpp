// /proc/loadavg's parser.
#include "kernel/proc_loadavg.h"

#include <gtest/gtest.h>

namespace dynolog {
namespace {

TEST(ProcLoadavg, ReadsALine) {
  const auto load = parse_proc_loadavg("0.20 12.18 0.12 2/980 11206\n");
  ASSERT_TRUE(load);
  EXPECT_DOUBLE_EQ(load->one, 0.20);
  EXPECT_DOUBLE_EQ(load->five, 12.18);
  EXPECT_DOUBLE_EQ(load->fifteen, 0.12);
  EXPECT_EQ(load->runnable, 2U);
  EXPECT_EQ(load->threads, 980U);
}

TEST(ProcLoadavg, RefusesWhatItCannotRead) {
  for (const char* text : {"", "0.2 0.1 0.1", "0.2 0.1 0.1 2 5", "a b c 1/2 3", "0.2 0.1 0.1 1/x 3",
                           "nan 0.1 0.1 1/2 3", "0.2 inf 0.1 1/2 3", "0.2 0.1 -0.1 1/2 3"}) {
    EXPECT_FALSE(parse_proc_loadavg(text)) << text;
  }
}

}  // namespace
}  // namespace dynolog
