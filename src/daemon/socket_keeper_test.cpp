// Unit tests of what is taken back from the service manager, and what it is given to keep.
#include "daemon/socket_keeper.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>

#include "daemon/fake_service_manager.h"
#include "testing/capturing_log.h"

namespace dynolog {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

class SocketKeeperTest : public ::testing::Test {
 protected:
  static UniqueFd some_descriptor() { return UniqueFd(::eventfd(0, EFD_CLOEXEC)); }
  static StoredDescriptor stored(std::string name) {
    return {.name = std::move(name), .fd = some_descriptor()};
  }
  static KinetoEndpointState made(std::string endpoint) {
    return {.endpoint = std::move(endpoint),
            .up = true,
            .problem = "",
            .socket = std::make_shared<const UniqueFd>(some_descriptor())};
  }

  testing::FakeServiceManager manager_;
  CapturingLog log_;
  SocketKeeper keeper_{manager_, log_};
};

TEST_F(SocketKeeperTest, NamesAreFitForTheManager) {
  EXPECT_EQ(kept_name("abstract"), "kineto-abstract");
  EXPECT_EQ(kept_name("/run/a:b c"), "kineto-/run/a%3Ab%20c");
}

TEST_F(SocketKeeperTest, TakesBackWhatIsStillServed) {
  std::vector<StoredDescriptor> all;
  all.push_back(stored("kineto-/run/x"));
  all.push_back(stored("kineto-abstract"));
  const int first = all[0].fd.get();
  const auto handed = keeper_.take_back(std::move(all), {"/run/x", "abstract"});
  ASSERT_EQ(handed.size(), 2U);
  EXPECT_EQ(handed[0].endpoint, "/run/x");
  EXPECT_EQ(handed[0].socket->get(), first);
  EXPECT_EQ(handed[1].endpoint, "abstract");
  EXPECT_THAT(manager_.forgotten, IsEmpty());
}

TEST_F(SocketKeeperTest, LetsGoOfTheRestAndNamesIt) {
  std::vector<StoredDescriptor> all;
  all.push_back(stored("kineto-/run/old"));
  all.push_back(stored("stored\x1b"));
  all.push_back(stored("kineto-abstract"));
  all.push_back(stored("kineto-abstract"));
  const auto handed = keeper_.take_back(std::move(all), {"abstract"});
  EXPECT_EQ(handed.size(), 1U);
  EXPECT_THAT(manager_.forgotten, ElementsAre("kineto-/run/old", "stored\x1b"));
  EXPECT_TRUE(log_.contains("'kineto-/run/old': no such endpoint is served"));
  EXPECT_TRUE(log_.contains("'kineto-abstract': there are two of that name"));
}

TEST_F(SocketKeeperTest, WhereTheyAreNotThereAllAreMadeAnew) {
  const auto handed =
      keeper_.take_back(fail(ErrorKind::failed, "Bad file descriptor"), {"/run/x", "abstract"});
  EXPECT_THAT(handed, IsEmpty());
  EXPECT_THAT(manager_.forgotten, UnorderedElementsAre("kineto-/run/x", "kineto-abstract"));
  EXPECT_TRUE(log_.contains("are made anew: Bad file descriptor"));
}

TEST_F(SocketKeeperTest, GivesNewSocketsToKeepAndTakesOldOnesAway) {
  keeper_.on_state(made("/run/x"));
  EXPECT_TRUE(manager_.kept.contains("kineto-/run/x"));
  auto unchanged = made("/run/x");
  unchanged.socket.reset();
  keeper_.on_state(unchanged);
  EXPECT_TRUE(manager_.kept.contains("kineto-/run/x"));
  unchanged.removed = true;
  keeper_.on_state(unchanged);
  EXPECT_FALSE(manager_.kept.contains("kineto-/run/x"));
}

TEST_F(SocketKeeperTest, ARefusedOneIsReplacedOrForgotten) {
  auto state = made("/run/x");
  state.not_taken = "it is bound to /run/y";
  keeper_.on_state(state);
  EXPECT_TRUE(manager_.kept.contains("kineto-/run/x"));
  EXPECT_TRUE(
      log_.contains("kineto:/run/x: the socket that the service manager kept is not used: "
                    "it is bound to /run/y"));
  state.socket.reset();
  keeper_.on_state(state);
  EXPECT_FALSE(manager_.kept.contains("kineto-/run/x"));
}

TEST_F(SocketKeeperTest, WithoutAManagerNothing) {
  manager_.is_present = false;
  EXPECT_FALSE(keeper_.keeps());
  keeper_.on_state(made("/run/x"));
  EXPECT_TRUE(manager_.kept.empty());
}

}  // namespace
}  // namespace dynolog
