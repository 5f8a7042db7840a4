// The size of this process's table, as the kernel tells it.
#include "base/descriptor_room.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include "base/file.h"
#include "base/number.h"
#include "base/text.h"
#include "base/unique_fd.h"

namespace dynolog {
namespace {

rlim_t table_size() {
  const auto status = read_file("/proc/self/status", 64U << 10U);
  if (!status) return 0;
  constexpr std::string_view kKey = "FDSize:";
  const std::size_t at = status->find(kKey) + kKey.size();
  return parse_number<rlim_t>(
             trim(std::string_view(*status).substr(at, status->find('\n', at) - at)))
      .value_or(0);
}

int next_descriptor() { return UniqueFd(::open("/", O_PATH | O_CLOEXEC)).get(); }

TEST(DescriptorRoom, IsMadeAndNothingStaysOpen) {
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
  const rlim_t before = table_size();
  ASSERT_GT(before, 0U);
  const rlim_t wanted = before * 4;
  if (limit.rlim_cur < wanted) GTEST_SKIP() << "too few descriptors are permitted";
  const int next = next_descriptor();
  make_room_for_descriptors(static_cast<int>(wanted));
  EXPECT_GE(table_size(), wanted);
  EXPECT_EQ(next_descriptor(), next);
}

TEST(DescriptorRoom, IsMadeForAsManyAsArePermitted) {
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
  const rlim_t permitted = table_size() * 2;
  if (limit.rlim_cur < permitted) GTEST_SKIP() << "too few descriptors are permitted";
  const rlimit low{.rlim_cur = permitted, .rlim_max = limit.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &low), 0);
  make_room_for_descriptors(1 << 20);
  EXPECT_GE(table_size(), permitted);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
}

}  // namespace
}  // namespace dynolog
