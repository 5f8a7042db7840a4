// dyno doctor against a scripted daemon, and without one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/diagnosis.h"
#include "cli/dyno_fixture.h"
#include "rpc/protocol/codec.h"

namespace dynolog {
namespace {

using testing::answers;
using testing::DynoTest;
using testing::FakePeer;
using ::testing::HasSubstr;
using ::testing::Not;

rpc::Finding broken_one() {
  rpc::Finding finding;
  finding.check = "environment";
  finding.level = "broken";
  finding.pid = 4711;
  finding.rank = 3;
  finding.command = "python \x1b[31mtrain.py";
  finding.what = "KINETO_USE_DAEMON was not set when it started";
  finding.why = "PyTorch looks for it";
  finding.fix = "eval \"$(dyno env)\"";
  return finding;
}

rpc::Finding good_one() {
  rpc::Finding finding;
  finding.check = "daemon";
  finding.level = "ok";
  finding.what = "dynolog runs";
  return finding;
}

using DoctorTest = DynoTest;

TEST_F(DoctorTest, SaysWhatIsBrokenFirstAndExitsWithOne) {
  daemon({answers({rpc::encode(rpc::DiagnoseReply{{good_one(), broken_one()}})})});
  EXPECT_EQ(dyno(here({"doctor"})), 1);
  EXPECT_THAT(out(), HasSubstr("broken   pid 4711 (rank 3), python"));
  EXPECT_LT(out().find("broken "), out().find("ok "));
  EXPECT_THAT(out(), HasSubstr("do:  eval \"$(dyno env)\""));
  EXPECT_THAT(out(), Not(HasSubstr("\x1b"))) << "what a process calls itself is not for terminals";
}

TEST_F(DoctorTest, NothingBrokenIsZero) {
  daemon({answers({rpc::encode(rpc::DiagnoseReply{{good_one()}})})});
  EXPECT_EQ(dyno(here({"doctor"})), 0);
  EXPECT_THAT(out(), HasSubstr("Nothing is broken"));
}

TEST_F(DoctorTest, AsksForWhatIsNamed) {
  std::string asked;
  daemon({[&asked](FakePeer& peer) {
    asked = peer.request();
    peer.reply(rpc::encode(rpc::DiagnoseReply{{good_one()}}));
  }});
  EXPECT_EQ(dyno(here({"doctor", "--pid", "12,34", "--job", "slurm:77"})), 0);
  const auto request = rpc::decode_diagnose_request(asked);
  ASSERT_TRUE(request.has_value()) << asked;
  EXPECT_EQ(request->pids, (std::vector<std::int64_t>{12, 34}));
  EXPECT_EQ(request->job, "slurm:77");
}

TEST_F(DoctorTest, JsonHasTheFindings) {
  daemon({answers({rpc::encode(rpc::DiagnoseReply{{good_one(), broken_one()}})})});
  EXPECT_EQ(dyno(here({"doctor", "--json"})), 1);
  const auto json = nlohmann::json::parse(out());
  EXPECT_EQ(json["schema"], 1);
  ASSERT_EQ(json["findings"].size(), 2U);
  EXPECT_EQ(json["findings"][0]["level"], "broken");
  EXPECT_EQ(json["findings"][0]["pid"], 4711);
  EXPECT_EQ(json["findings"][0]["rank"], 3);
}

TEST_F(DoctorTest, AProcessThatIsNotThereIsThree) {
  daemon({answers({rpc::encode(rpc::ErrorReply{"not_found", "pid 9: it is not there"})})});
  EXPECT_EQ(dyno(here({"doctor", "--pid", "9"})), 3);
  EXPECT_THAT(err(), HasSubstr("it is not there"));
  EXPECT_EQ(out(), "");
}

// Of a trace that went wrong.
TraceOutcome two_planned() {
  TraceOutcome outcome;
  outcome.planned.resize(2);
  outcome.planned[0].pid = 12;
  outcome.planned[1].pid = 11;
  outcome.planned[1].namespace_pid = 7;
  return outcome;
}

rpc::TraceUpdate at_end(std::int64_t pid, const char* state) {
  rpc::TraceUpdate update;
  update.pid = pid;
  update.state = state;
  update.ended = true;
  update.checked = update.whole = update.ours = std::string_view(state) == "delivered";
  return update;
}

using Pids = std::vector<std::int64_t>;

TEST(InQuestionTest, WhateverHasNoTrace) {
  for (const char* state :
       {"rejected", "busy", "cancelled", "lost", "timed_out", "undelivered", "staged"}) {
    TraceOutcome outcome = two_planned();
    outcome.updates = {at_end(11, "delivered"), at_end(12, state)};
    EXPECT_EQ(in_question(outcome, {}), Pids{12}) << state;
  }
  TraceOutcome outcome = two_planned();
  outcome.updates = {at_end(11, "delivered")};
  outcome.planned[0].problem = "it is stalled";
  EXPECT_EQ(in_question(outcome, {}), Pids{12});
  outcome = two_planned();
  outcome.deadline_passed = true;
  EXPECT_EQ(in_question(outcome, {}), (Pids{11, 12})) << "nothing was ever told of them";
}

TEST(InQuestionTest, WhatIsGoodOrUncheckedIsNot) {
  TraceOutcome outcome = two_planned();
  rpc::TraceUpdate unchecked = at_end(12, "written");
  outcome.updates = {at_end(11, "delivered"), unchecked};
  EXPECT_EQ(in_question(outcome, {7, 12}), Pids{});
}

TEST(InQuestionTest, NamedOnesThatTheDaemonDoesNotKnow) {
  TraceOutcome outcome = two_planned();
  outcome.updates = {at_end(11, "delivered"), at_end(12, "delivered")};
  EXPECT_EQ(in_question(outcome, {7, 12, 99}), Pids{}) << "left out for another reason";
  outcome.unmatched = {"pid 99: not registered"};
  EXPECT_EQ(in_question(outcome, {7, 12, 99}), Pids{99}) << "7 is 11, as its container counts";
}

TEST_F(DoctorTest, GputraceAsksAboutItWithoutATraceToo) {
  std::string asked;
  daemon({answers({rpc::encode(rpc::PrepareReply{})}), [&asked](FakePeer& peer) {
            asked = peer.request();
            peer.reply(rpc::encode(rpc::ErrorReply{"not_found", "there is no process 9"}));
          }});
  EXPECT_EQ(dyno(here({"gputrace", "--log-file", "/tmp/x/t.json", "--pids", "9,10", "--json"})), 3);
  EXPECT_EQ(rpc::decode_diagnose_request(asked)->pids, (Pids{9, 10}));
  EXPECT_THAT(err(), HasSubstr("broken: there is no such process, or it is not yours -> "));
  const auto json = nlohmann::json::parse(out());
  ASSERT_EQ(json["findings"].size(), 2U);
  EXPECT_EQ(json["findings"][1]["pid"], 10);
  EXPECT_EQ(json["findings"][1]["level"], "broken");
}

TEST_F(DoctorTest, WithoutADaemonItLooksAtTheInstallation) {
  EXPECT_EQ(dyno(here({"doctor"})), 1);
  EXPECT_THAT(out(), HasSubstr("no dynolog daemon answers"));
  EXPECT_THAT(out(), HasSubstr("libkineto.conf"));
  EXPECT_THAT(err(), HasSubstr("needs a daemon"));
}

TEST_F(DoctorTest, OfAnotherHostNothingIsSaidWithoutItsDaemon) {
  EXPECT_EQ(dyno({"--hostname", "127.0.0.1", "--port", "1", "doctor"}), 6);
  EXPECT_EQ(out(), "");
}

TEST_F(DoctorTest, BadPidsAreWrongUsage) {
  EXPECT_EQ(dyno({"doctor", "--pid", "12,x"}), 2);
  EXPECT_THAT(err(), HasSubstr("dyno: --pid: \"x\" is no pid"));
  EXPECT_EQ(dyno({"doctor", "--pid", ""}), 2);
}

}  // namespace
}  // namespace dynolog
