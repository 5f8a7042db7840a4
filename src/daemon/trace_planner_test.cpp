// The planner's rounds, with workers that answer when they are told to.
#include "daemon/trace_planner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/sessions_test_support.h"

namespace dynolog {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class TracePlannerTest : public testing::Test {
 protected:
  static ProcessEntry process(std::int32_t pid, std::int32_t namespace_pid, unsigned uid = 1000) {
    ProcessEntry entry;
    entry.key = {Pid{pid}, 1};
    entry.uid = Uid{uid};
    entry.facts.emplace();
    entry.facts->key = entry.key;
    entry.facts->uid = entry.uid;
    entry.facts->namespace_pid = namespace_pid;
    entry.torch.emplace();
    entry.torch->version = "2.13.0";
    entry.torch->knows_trace_id = true;
    return entry;
  }
  void start(std::vector<ProcessEntry> entries, PlaceWishes wishes = {},
             std::string log_file = "/data/t.json") {
    planner_ = TracePlanner::start(
        {.loop = loop_,
         .start_worker = files_.starter(),
         .on_file = [](const Tenant&, FileEvent) {},
         .on_worker_end = [this](const Tenant&, const std::string& why) { ends_.push_back(why); }},
        std::move(entries), std::move(wishes),
        [log_file = std::move(log_file)](const ProcessFacts& facts, const TorchFacts& torch,
                                         const TracePlanner::Naming& naming) {
          TraceOptions options;
          if (naming.kind != PlaceKind::brought) options.log_file = log_file;
          const PlaceNames names{.host = "h",
                                 .time = "t",
                                 .unique = naming.unique,
                                 .unique_suffix = naming.unique_suffix};
          auto place = naming.kind == PlaceKind::itself
                           ? place_trace_itself(options, facts, torch, names)
                           : place_trace(options, facts, torch, names);
          if (!place) return Result<TraceRequest>(std::unexpected(place.error()));
          return build_trace_request(options, facts, torch, naming.trace_id, std::move(*place));
        },
        [this](Plan plan) { plan_ = std::move(plan); });
    settle(loop_);
  }
  // Answers the n-th question that was put.
  void answer(std::size_t n, Result<PreparedPlaces> prepared) {
    files_.prepares.at(n).done(std::move(prepared));
    settle(loop_);
  }
  const PlanItem& item(std::size_t i) { return plan_->items.at(i); }

  EventLoop loop_;
  FakeFiles files_;
  std::unique_ptr<TracePlanner> planner_;
  std::optional<Plan> plan_;
  std::vector<std::string> ends_;
};

TEST_F(TracePlannerTest, OneQuestionForEachProcessAndOneWorkerForEachTenant) {
  start({process(10, 10), process(11, 11), process(12, 12, 1001)});
  ASSERT_EQ(files_.started.size(), 2U);
  EXPECT_EQ(files_.started[0]->identities.size(), 2U);
  ASSERT_EQ(files_.prepares.size(), 3U);
  EXPECT_EQ(files_.prepares[0].asked.target, "/data/t_10.json");
  EXPECT_THAT(files_.prepares[0].asked.file, HasSubstr("/data/dynolog-"));
  EXPECT_FALSE(plan_);
  for (std::size_t i = 0; i < 3; ++i) answer(i, good_places());
  ASSERT_TRUE(plan_);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(item(i).problem, "");
    EXPECT_FALSE(item(i).request.place.brought());
  }
  EXPECT_EQ(plan_->workers.size(), 2U);
  EXPECT_NE(item(0).request.trace_id, item(1).request.trace_id);
}

TEST_F(TracePlannerTest, WhatTheJobDoesNotSeeIsPlacedAnewAndBrought) {
  start({process(10, 10)}, {.bring = Bring::other_view, .caller_directory = "9:9"});
  answer(0, good_places("1:3"));
  EXPECT_FALSE(plan_) << "the place where it waits is looked at as well";
  ASSERT_EQ(files_.prepares.size(), 2U);
  EXPECT_EQ(files_.prepares[1].asked.target, "");
  EXPECT_THAT(files_.prepares[1].asked.file, HasSubstr("/tmp/dynolog-"));
  answer(1, good_places());
  ASSERT_TRUE(plan_);
  EXPECT_TRUE(item(0).request.place.brought());
  EXPECT_THAT(item(0).notes, ElementsAre(HasSubstr("brought to your side")));
}

TEST_F(TracePlannerTest, DirectoriesAreMadeOnlyWhereTheCallerHasNone) {
  start({process(10, 10)},
        {.bring = Bring::other_view, .caller_directory = "9:9", .make_directories = true});
  EXPECT_FALSE(files_.prepares[0].asked.make_directories);
  start({process(10, 10)},
        {.bring = Bring::other_view, .caller_directory = "", .make_directories = true});
  EXPECT_TRUE(files_.prepares[1].asked.make_directories);
}

TEST_F(TracePlannerTest, TwoProcessesNeverShareAFile) {
  // Equal pids in two pid namespaces that see one directory.
  start({process(10, 1), process(20, 1), process(30, 1)});
  answer(0, good_places("1:3"));
  answer(1, good_places("1:3"));
  EXPECT_FALSE(plan_);
  answer(2, good_places("1:4"));
  ASSERT_EQ(files_.prepares.size(), 4U) << "only the second is placed anew";
  EXPECT_EQ(files_.prepares[3].pid, Pid{20});
  answer(3, good_places("1:3"));
  ASSERT_TRUE(plan_);
  EXPECT_EQ(item(0).request.place.target, "/data/t_1.json");
  EXPECT_NE(item(1).request.place.target, item(0).request.place.target);
  EXPECT_THAT(item(1).request.place.target, HasSubstr("host20"));
  EXPECT_EQ(item(2).request.place.target, item(0).request.place.target) << "another directory";
}

TEST_F(TracePlannerTest, WhereNobodyCanLookTheProcessIsLeftToItself) {
  start({process(10, 10)});
  PreparedPlaces unknown = good_places();
  unknown.target = {};
  unknown.target.unknown = true;
  unknown.target.problem = "no ticket";
  answer(0, unknown);
  ASSERT_TRUE(plan_);
  EXPECT_EQ(item(0).files_unknown, "no ticket");
  EXPECT_TRUE(item(0).request.place.in_place);
  EXPECT_EQ(item(0).request.place.file, "/data/t_10.json");
  EXPECT_EQ(item(0).problem, "");
}

TEST_F(TracePlannerTest, APathThatKinetoCannotWriteByItselfIsRefusedThere) {
  start({process(10, 10)}, {}, "/data/a=b/t.json");
  PreparedPlaces unknown = good_places();
  unknown.target = {};
  unknown.target.unknown = true;
  unknown.target.problem = "no ticket";
  answer(0, unknown);
  ASSERT_TRUE(plan_);
  EXPECT_THAT(item(0).problem, HasSubstr("no ticket"));
}

TEST_F(TracePlannerTest, AWorkerThatEndsLeavesItsTenantsProcessesToThemselves) {
  start({process(10, 10), process(12, 12, 1001)});
  answer(0, good_places());
  files_.started[0]->on_end("it crashed");
  settle(loop_);
  EXPECT_FALSE(plan_);
  answer(1, good_places());
  ASSERT_TRUE(plan_);
  EXPECT_EQ(item(0).files_unknown, "it crashed");
  EXPECT_TRUE(item(0).request.place.in_place) << "nobody could move it";
  EXPECT_EQ(item(1).files_unknown, "");
  EXPECT_THAT(ends_, IsEmpty());
  files_.started[1]->on_end("later");
  EXPECT_THAT(ends_, ElementsAre("later"));
}

TEST_F(TracePlannerTest, WhatIsAlwaysBroughtIsRefusedWhereNobodyCanLook) {
  files_.refusal = "no more processes";
  start({process(10, 10)}, {.bring = Bring::always, .caller_directory = ""});
  ASSERT_TRUE(plan_);
  EXPECT_THAT(item(0).problem, HasSubstr("no more processes"));
  EXPECT_THAT(item(0).problem, HasSubstr("--log-file"));
}

TEST_F(TracePlannerTest, AFailedQuestionIsNoRefusal) {
  start({process(10, 10)});
  answer(0, fail(ErrorKind::failed, "too many levels"));
  ASSERT_TRUE(plan_);
  EXPECT_EQ(item(0).problem, "");
  EXPECT_EQ(item(0).files_unknown, "too many levels");
}

}  // namespace
}  // namespace dynolog
