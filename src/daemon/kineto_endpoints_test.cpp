// Unit tests of what is shown of endpoints, and of who is told that a directory is served.
#include "daemon/kineto_endpoints.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/capturing_log.h"
#include "testing/fake_clock.h"

namespace dynolog {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

class KinetoEndpointsTest : public ::testing::Test {
 protected:
  static KinetoEndpointState state(std::string endpoint, std::string problem) {
    KinetoEndpointState made;
    made.endpoint = std::move(endpoint);
    made.up = problem.empty();
    made.problem = std::move(problem);
    return made;
  }
  // "name state reason" of each feature.
  std::vector<std::string> shown() {
    std::vector<std::string> features;
    for (const auto& feature : status_.status().features) {
      features.push_back(feature.name + " " + feature.state + " " + feature.reason);
    }
    return features;
  }
  std::function<void(Status)> note() {
    return [this](const Status& status) {
      answers_.push_back(status ? "up" : status.error().message);
      loop_.stop();
    };
  }

  FakeClock clock_;
  CapturingLog log_;
  EventLoop loop_;
  StatusBoard status_{{.clock = clock_,
                       .log = log_,
                       .fixed = {},
                       .fill = [](rpc::StatusReply&) {},
                       .changed = [] {}}};
  std::vector<std::string> added_;
  std::vector<std::string> answers_;
  KinetoEndpoints endpoints_{
      {.loop = loop_,
       .log = log_,
       .status = status_,
       .user_directories = "/run/dynolog/u/",
       .add = [this](std::string name) { added_.push_back(std::move(name)); }}};
};

TEST_F(KinetoEndpointsTest, EachIsAFeatureUntilItIsRemoved) {
  endpoints_.on_state(state("abstract", ""));
  endpoints_.on_state(state("/run/x", "cannot be bound"));
  EXPECT_THAT(shown(),
              ElementsAre("kineto:/run/x degraded cannot be bound", "kineto:abstract ok "));
  EXPECT_THAT(endpoints_.problems(),
              ElementsAre(Pair("/run/x", "cannot be bound"), Pair("abstract", "")));
  KinetoEndpointState removed = state("/run/x", "");
  removed.removed = true;
  endpoints_.on_state(removed);
  EXPECT_THAT(shown(), ElementsAre("kineto:abstract ok "));
}

TEST_F(KinetoEndpointsTest, UsersDirectoriesAreOneFeatureWithoutNames) {
  endpoints_.on_state(state("/run/dynolog/u/1000", ""));
  endpoints_.on_state(state("/run/dynolog/u/1001", "it is another user's"));
  EXPECT_THAT(shown(), ElementsAre("kineto:user directories degraded 1 of 2 cannot be used; the "
                                   "daemon's log says why"));
  endpoints_.on_state(state("/run/dynolog/u/1001", ""));
  EXPECT_THAT(shown(), ElementsAre("kineto:user directories ok "));
}

TEST_F(KinetoEndpointsTest, WhoeverAskedIsToldOnce) {
  endpoints_.add("/run/x", note());
  endpoints_.add("/run/y", note());
  EXPECT_THAT(added_, ElementsAre("/run/x", "/run/y"));
  EXPECT_THAT(answers_, IsEmpty());
  endpoints_.on_state(state("/run/x", ""));
  endpoints_.on_state(state("/run/y", "it is full"));
  endpoints_.on_state(state("/run/y", ""));
  EXPECT_THAT(answers_, ElementsAre("up", "it is full"));
}

TEST_F(KinetoEndpointsTest, AThreadThatDoesNotAnswerIsNotWaitedForForever) {
  endpoints_.add("/run/x", note());
  loop_.run();
  EXPECT_THAT(answers_, ElementsAre("no socket could be opened in /run/x in time"));
}

}  // namespace
}  // namespace dynolog
