// Who gets which answer, and when. No worker can be started here: what a real one finds is seen by
// the end-to-end tests.
#include "daemon/diagnosis_service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "testing/capturing_log.h"
#include "testing/fake_clock.h"
#include "testing/patience.h"

namespace dynolog {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

class NoTorch final : public TorchFactsReader {
 public:
  void read(const ProcessFacts&, std::function<void(Result<TorchFacts>)>) override {}
};

class DiagnosisServiceTest : public ::testing::Test {
 protected:
  DiagnosisServiceTest() {
    call_in(10, 1000);
    call_in(11, 1001);
    serve(true);
  }

  void serve(bool system_mode) {
    service_.emplace(DaemonDiagnosis::World{
        .loop = loop_,
        .clock = clock_,
        .log = log_,
        .root = {},
        .executable = "/none/dynolog",
        .processes = table_,
        .torch = torch_,
        .system_mode = system_mode,
        .own_directories = {"/run/none"},
        .status =
            [this] {
              rpc::StatusReply status;
              status.features = features_;
              return status;
            },
        .endpoints = [] { return std::map<std::string, std::string>{{"abstract", ""}}; },
        .traced = [](Pid) { return false; },
        .find_user = [](const std::string& user) -> std::optional<Uid> {
          if (user == "bob") return Uid{1001};
          return std::nullopt;
        }});
  }

  void call_in(int pid, unsigned uid) {
    const ProcessKey key{Pid{pid}, 5};
    PollSeen poll;
    poll.key = key;
    poll.uid = Uid{uid};
    poll.endpoint = "abstract";
    poll.time = clock_.monotonic();
    table_.on_poll(poll);
    ProcessFacts facts;
    facts.key = key;
    facts.uid = Uid{uid};
    facts.namespace_pid = pid;
    facts.command = "python train.py";
    table_.set_facts(key, facts);
  }
  static Caller user(unsigned uid) {
    Caller caller;
    caller.tenant.uid = Uid{uid};
    caller.host_root = uid == 0;
    return caller;
  }
  void ask(const Caller& caller, rpc::DiagnoseRequest request = {}) {
    const std::size_t place = answers_.size();
    answers_.emplace_back();
    service_->diagnose(caller, std::move(request), [this, place](Result<rpc::DiagnoseReply> reply) {
      answers_[place] = std::move(reply);
      const bool all =
          std::ranges::all_of(answers_, [](const auto& answer) { return answer.has_value(); });
      if (all) loop_.stop();
    });
  }
  const Result<rpc::DiagnoseReply>& answer(std::size_t place) { return *answers_.at(place); }
  static std::vector<std::int64_t> pids(const Result<rpc::DiagnoseReply>& reply) {
    std::vector<std::int64_t> found;
    if (!reply) return found;
    for (const auto& finding : reply->findings) {
      if (finding.pid != 0 && finding.check == "registered") found.push_back(finding.pid);
    }
    return found;
  }

  EventLoop loop_;
  FakeClock clock_;
  CapturingLog log_;
  NoTorch torch_;
  ProcessTable table_;
  std::vector<rpc::FeatureState> features_;
  std::optional<DaemonDiagnosis> service_;
  std::vector<std::optional<Result<rpc::DiagnoseReply>>> answers_;
  LoopGuard guard_{loop_};
};

TEST_F(DiagnosisServiceTest, WhatIsKnownIsToldWhereNobodyCanLook) {
  ask(user(1000));
  EXPECT_FALSE(answers_.front().has_value()) << "never inside the call";
  loop_.run();
  ASSERT_TRUE(answer(0).has_value()) << answer(0).error().message;
  EXPECT_THAT(pids(answer(0)), ::testing::ElementsAre(10));
  bool told = false;
  for (const auto& finding : answer(0)->findings) {
    told = told || (finding.check == "processes" && finding.level == "warning");
    EXPECT_EQ(finding.pid == 0 || finding.command == "python train.py", true);
  }
  EXPECT_TRUE(told) << "that not all processes were looked at";
}

TEST_F(DiagnosisServiceTest, RootIsToldOfEverybodys) {
  ask(user(0));
  loop_.run();
  EXPECT_THAT(pids(answer(0)), ::testing::ElementsAre(10, 11));
}

TEST_F(DiagnosisServiceTest, OfASelectionThatMeansNothingTheHostIsToldOf) {
  rpc::DiagnoseRequest request;
  request.among.emplace().user = "bob";
  ask(user(0), request);
  request.among->command = "serve.py";
  ask(user(0), request);
  request.among->user = "nobody here";
  ask(user(0), request);
  loop_.run();
  EXPECT_THAT(pids(answer(0)), ::testing::ElementsAre(11));
  EXPECT_THAT(pids(answer(1)), ::testing::IsEmpty());
  ASSERT_TRUE(answer(1).has_value());
  EXPECT_FALSE(answer(1)->findings.empty());
  ASSERT_FALSE(answer(2).has_value());
  EXPECT_EQ(answer(2).error().message, "no user nobody here on this host");
}

TEST_F(DiagnosisServiceTest, ASelectionWhoseRanksAndSizesDoNotBelongTogetherIsRefused) {
  rpc::DiagnoseRequest request;
  request.among.emplace().ranks = {3};
  request.among->rank_worlds = std::vector<int>{};
  ask(user(0), request);
  loop_.run();
  ASSERT_FALSE(answer(0).has_value());
  EXPECT_EQ(answer(0).error().kind, ErrorKind::invalid);
  EXPECT_THAT(answer(0).error().message, ::testing::HasSubstr("rank_worlds"));
}

TEST_F(DiagnosisServiceTest, WhoHoldsTheNameIsToldToRootAndByAUsersOwnDaemon) {
  features_ = {{"kineto:abstract", "degraded", "the name is held by process 7 (dynolog)"}};
  ask(user(0));
  ask(user(1000));
  loop_.run();
  const auto told = [this](std::size_t place) {
    std::string text;
    for (const auto& finding : answer(place)->findings) text += finding.what + "\n";
    return text;
  };
  EXPECT_THAT(told(0), HasSubstr("process 7 (dynolog)"));
  EXPECT_THAT(told(1), ::testing::Not(HasSubstr("process 7")));
  answers_.clear();
  serve(false);  // it sees what its user sees
  ask(user(1000));
  loop_.run();
  EXPECT_THAT(told(0), HasSubstr("process 7 (dynolog)"));
}

TEST_F(DiagnosisServiceTest, WhatCouldNotBeLookedAtIsNotSaidToBeMissing) {
  rpc::DiagnoseRequest request;
  request.pids = {12};
  ask(user(1000), request);
  loop_.run();
  ASSERT_FALSE(answer(0).has_value());
  EXPECT_EQ(answer(0).error().kind, ErrorKind::timed_out);
  EXPECT_THAT(answer(0).error().message, HasSubstr("ask again"));
}

TEST_F(DiagnosisServiceTest, AProcessThatIsNamedIsFoundInTheTable) {
  rpc::DiagnoseRequest request;
  request.pids = {10};
  ask(user(1000), request);
  loop_.run();
  EXPECT_THAT(pids(answer(0)), ::testing::ElementsAre(10));
}

TEST_F(DiagnosisServiceTest, AUserIsHeldToTwoAtATimeAndRootIsNot) {
  for (int i = 0; i < 3; ++i) ask(user(1000));
  ask(user(1001));
  for (int i = 0; i < 3; ++i) ask(user(0));
  ASSERT_TRUE(answers_[2].has_value());
  EXPECT_EQ(answers_[2]->error().kind, ErrorKind::exhausted);
  loop_.run();
  for (const std::size_t place : {0U, 1U, 3U, 4U, 5U, 6U}) {
    EXPECT_TRUE(answer(place).has_value()) << place;
  }
  answers_.clear();
  ask(user(1000));
  loop_.run();
  EXPECT_TRUE(answer(0).has_value()) << "the others have ended";
}

TEST_F(DiagnosisServiceTest, AllTogetherAreBounded) {
  for (unsigned i = 0; i < DaemonDiagnosis::kMaxOfOthers + 1; ++i) ask(user(2000 + i));
  for (std::size_t i = 0; i < DaemonDiagnosis::kMaxOfAll; ++i) ask(user(0));
  std::size_t refused = 0;
  for (const auto& each : answers_) refused += each.has_value() ? 1 : 0;
  EXPECT_EQ(refused, 1 + DaemonDiagnosis::kMaxOfOthers);
  loop_.run();
}

TEST_F(DiagnosisServiceTest, ADaemonThatEndsSaysNothingMore) {
  ask(user(1000));
  service_.reset();
  loop_.post([this] { loop_.stop(); });
  loop_.run();
  EXPECT_THAT(answers_, SizeIs(1));
  EXPECT_FALSE(answers_.front().has_value());
}

}  // namespace
}  // namespace dynolog
