// What is told of mounts that do not answer.
#include "daemon/mount_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/capturing_log.h"

namespace dynolog {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

MountUsage usage(std::string point, MountState state) {
  return {.mount = {.id = 0,
                    .parent = 0,
                    .device = "d",
                    .mount_point = std::move(point),
                    .type = "nfs4",
                    .read_only = false},
          .state = state,
          .room = {},
          .problem = {}};
}

TEST(MountWatch, ChangesAreToldOnce) {
  CapturingLog log;
  std::vector<std::string> reports;
  MountWatch watch(log, [&](const std::string& state, const std::string& reason) {
    reports.push_back(state + " " + reason);
  });
  const std::vector well = {usage("/a", MountState::read), usage("/b", MountState::failed)};
  const std::vector hung = {usage("/a", MountState::hangs), usage("/b", MountState::read)};
  watch.look_at(well);
  watch.look_at(well);
  EXPECT_THAT(reports, ElementsAre("ok "));
  watch.look_at(hung);
  watch.look_at(hung);
  ASSERT_EQ(reports.size(), 2U);
  EXPECT_THAT(reports[1], HasSubstr("degraded no figures of /a, which does not answer"));
  EXPECT_EQ(log.count("mount /a does not answer"), 1U);
  watch.look_at(fail(ErrorKind::timed_out, "late"));
  EXPECT_THAT(reports.back(), HasSubstr("late"));
  watch.look_at(well);
  EXPECT_EQ(reports.back(), "ok ");
  EXPECT_EQ(log.count("mount /a answers again"), 1U);
}

TEST(MountWatch, ManyAreCounted) {
  CapturingLog log;
  std::string reason;
  MountWatch watch(log, [&](const std::string&, const std::string& given) { reason = given; });
  std::vector<MountUsage> mounts;
  for (int i = 0; i < 9; ++i) mounts.push_back(usage("/" + std::to_string(i), MountState::hangs));
  watch.look_at(mounts);
  EXPECT_THAT(reason, HasSubstr("/3 and 5 more, which do not answer"));
}

}  // namespace
}  // namespace dynolog
