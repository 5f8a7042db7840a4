// Which processes a request means.
#include "processes/selection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>

namespace dynolog {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

const MonotonicTime kNow{seconds(100)};

class SelectionTest : public testing::Test {
 protected:
  ProcessEntry& add(int pid, int rank = -1, Uid uid = Uid{1000}, const std::string& job = "") {
    ProcessEntry entry;
    entry.key = {Pid{pid}, 1};
    entry.uid = uid;
    entry.last_poll = kNow - seconds(1);
    ProcessFacts facts;
    facts.key = entry.key;
    facts.uid = uid;
    facts.descriptors_read = true;
    facts.namespace_pid = pid % 100;
    facts.command = "python train.py --pid " + std::to_string(pid);
    facts.job.job = JobId{job};
    facts.job.scheduler = job.empty() ? "" : "slurm";
    if (rank >= 0) facts.job.rank = rank;
    if (rank >= 0) facts.job.local_rank = rank;
    entry.facts = facts;
    return entries_.emplace_back(entry);
  }
  Selected select(const Selection& selection, const Caller& caller) {
    std::vector<const ProcessEntry*> pointers;
    for (const ProcessEntry& entry : entries_) pointers.push_back(&entry);
    return select_processes(pointers, selection, caller, kNow);
  }
  std::vector<int> chosen(const Selection& selection, const Caller& caller) {
    std::vector<int> pids;
    for (const ProcessEntry* entry : select(selection, caller).chosen) {
      pids.push_back(entry->key.pid.value);
    }
    return pids;
  }
  static Caller user(Uid uid = Uid{1000}) {
    Caller caller;
    caller.tenant.uid = uid;
    return caller;
  }
  static Caller root() {
    Caller caller = user(kRootUid);
    caller.host_root = true;
    return caller;
  }
  static Selection job(const std::string& name) {
    Selection selection;
    selection.job = name;
    return selection;
  }

  static Selection container(const std::string& name) {
    Selection selection;
    selection.container = name;
    return selection;
  }
  static void hold_gpu(ProcessEntry& entry, int gpu) {
    entry.facts->holds_gpu = true;
    entry.facts->gpus = {gpu};
  }

  std::deque<ProcessEntry> entries_;
};

TEST_F(SelectionTest, OthersAreNeitherChosenNorShown) {
  add(201);
  add(202, -1, Uid{1001});
  add(203).facts->container = "c";
  add(204).facts.reset();
  EXPECT_THAT(chosen({}, user()), ElementsAre(201));
  EXPECT_THAT(select({}, user()).skipped, IsEmpty());
  Selection all;
  all.all = true;
  EXPECT_THAT(chosen(all, root()), ElementsAre(201, 202, 203, 204));
  EXPECT_THAT(chosen(all, user()), ElementsAre(201));
}

TEST_F(SelectionTest, RanksFirstThenPids) {
  add(205);
  add(204, 2);
  add(203, 0);
  add(202, 1);
  add(201);
  EXPECT_THAT(chosen({}, user()), ElementsAre(203, 202, 204, 201, 205));
}

TEST_F(SelectionTest, TheLimitTakesTheLowestRanks) {
  add(201, 3);
  add(202, 0);
  add(203, 1);
  Selection selection;
  selection.process_limit = 2;
  const Selected selected = select(selection, user());
  EXPECT_THAT(chosen(selection, user()), ElementsAre(202, 203));
  ASSERT_EQ(selected.skipped.size(), 1U);
  EXPECT_EQ(selected.skipped[0].pid, Pid{201});
  EXPECT_THAT(selected.skipped[0].reason, HasSubstr("limit of 2"));
}

TEST_F(SelectionTest, Jobs) {
  struct Case {
    const char *job, *step, *allocation, *scheduler, *wanted;
    bool matches;
  };
  const Case cases[] = {
      {"123", "0", "", "slurm", "123", true},
      {"123", "0", "", "slurm", "123.0", true},
      {"123", "0", "", "slurm", "123.1", false},
      {"123", "", "", "slurm", "123.", false},
      {"123_4", "0", "777", "slurm", "123", true},
      {"123_4", "0", "777", "slurm", "123_4", true},
      {"123_4", "0", "777", "slurm", "777", true},
      {"123_4", "0", "777", "slurm", "123_4.0", true},
      {"123_40", "0", "", "slurm", "123_4", false},
      {"1234", "0", "", "slurm", "123", false},
      {"123", "0", "", "slurm", "123_4", false},
      {"456[1].server", "", "", "pbs", "456", true},
      {"456.server", "", "", "pbs", "456.server", true},
      {"31[4]", "", "", "lsf", "31", true},
      {"n1.site:29500", "", "", "torchrun", "n1", false},
      {"n1.site:29500", "", "", "torchrun", "n1.site:29500", true},
      {"", "", "", "", "", false},
      {"123", "", "", "slurm", "", false},
  };
  for (const Case& c : cases) {
    entries_.clear();
    JobFacts& facts = add(201).facts->job;
    facts.job = JobId{c.job};
    facts.step = c.step;
    facts.allocation = c.allocation;
    facts.scheduler = c.scheduler;
    EXPECT_EQ(chosen(job(c.wanted), user()).size(), c.matches ? 1U : 0U)
        << c.job << " " << c.wanted;
  }
}

TEST_F(SelectionTest, TheClientsOwnJobNumberCountsWhereNothingElseIsKnown) {
  add(201).claimed_job = 55;
  add(202, -1, Uid{1000}, "66").claimed_job = 55;
  EXPECT_THAT(chosen(job("55"), user()), ElementsAre(201));
  EXPECT_THAT(chosen(job("0"), user()), IsEmpty());
}

TEST_F(SelectionTest, AllConditionsMustHold) {
  add(201, 0, Uid{1000}, "9");
  add(202, 1, Uid{1000}, "9");
  add(303, 1, Uid{1001}, "9");
  Selection selection;
  selection.pids = {201, 2};  // a host pid, and pid 2 in its namespace
  EXPECT_THAT(chosen(selection, root()), ElementsAre(201, 202));
  selection.ranks = {{1}};
  EXPECT_THAT(chosen(selection, root()), ElementsAre(202));
  selection.pids.clear();
  EXPECT_THAT(chosen(selection, root()), ElementsAre(202, 303));
  selection.uid = Uid{1001};
  EXPECT_THAT(chosen(selection, root()), ElementsAre(303));
  selection.command = "--pid 303";
  EXPECT_THAT(chosen(selection, root()), ElementsAre(303));
  selection.command = "other";
  EXPECT_THAT(chosen(selection, root()), IsEmpty());
}

TEST_F(SelectionTest, LaunchersAreSkippedBesideTheirWorkers) {
  add(201, -1, Uid{1000}, "9").facts->job.launcher = true;
  add(202, 0, Uid{1000}, "9");
  add(301, -1, Uid{1000}, "10").facts->job.launcher = true;  // alone in its job
  const Selected selected = select({}, user());
  EXPECT_THAT(chosen({}, user()), ElementsAre(202, 301));
  ASSERT_EQ(selected.skipped.size(), 1U);
  EXPECT_EQ(selected.skipped[0].pid, Pid{201});
  EXPECT_THAT(selected.skipped[0].reason, HasSubstr("launcher"));
  Selection by_pid;
  by_pid.pids = {201};
  EXPECT_THAT(chosen(by_pid, user()), ElementsAre(201));
}

TEST_F(SelectionTest, ALauncherWithoutAJobBelongsToItsUsersWorkers) {
  add(201).facts->job.launcher = true;
  add(202, 0, Uid{1000}, "n1:29500").facts->job.scheduler = "torchrun";
  EXPECT_THAT(chosen({}, user()), ElementsAre(202));
  entries_.pop_back();
  add(203, 0, Uid{1001}, "n1:29500");
  EXPECT_THAT(chosen({}, user()), ElementsAre(201));
}

TEST_F(SelectionTest, HoldersOfAGpuComeFirstAndWinTheLimit) {
  add(201, 0, Uid{1000}, "9");
  hold_gpu(add(202, 1, Uid{1000}, "9"), 0);
  hold_gpu(add(203, 2, Uid{1000}, "9"), 1);
  EXPECT_THAT(chosen({}, user()), ElementsAre(202, 203, 201)) << "a rank is never left out";
  Selection selection;
  selection.process_limit = 2;
  EXPECT_THAT(chosen(selection, user()), ElementsAre(202, 203));
}

TEST_F(SelectionTest, AControllerWithoutRankAndGpuIsSkippedBesideHolders) {
  add(201, -1, Uid{1000}, "9");
  hold_gpu(add(202, -1, Uid{1000}, "9"), 0);
  add(301, -1, Uid{1000}, "10");  // another job, on the CPU
  add(401);                       // no job: nothing to do with the others
  const Selected selected = select({}, user());
  EXPECT_THAT(chosen({}, user()), ElementsAre(202, 301, 401));
  ASSERT_EQ(selected.skipped.size(), 1U);
  EXPECT_EQ(selected.skipped[0].pid, Pid{201});
  EXPECT_EQ(selected.skipped[0].reason, "holds no GPU, unlike others of its job");
  EXPECT_EQ(selected.skipped[0].role, Role::worker);
  Selection named;
  named.pids = {201};
  EXPECT_THAT(chosen(named, user()), ElementsAre(201));
  named = {};
  named.command = "--pid 201";
  EXPECT_THAT(chosen(named, user()), ElementsAre(201)) << "nothing better is meant";
}

TEST_F(SelectionTest, AJobThatIsNotHereIsNamed) {
  add(201, 0);
  Selection selection;
  selection.job = "77";
  EXPECT_THAT(select(selection, user()).unmatched, ElementsAre(HasSubstr("job 77: none")));
}

TEST_F(SelectionTest, ByGpu) {
  hold_gpu(add(201, 0), 0);
  hold_gpu(add(202, 1), 3);
  add(203, 2);
  add(204).facts->holds_gpu = true;  // an AMD one has no number
  Selection selection;
  selection.gpus = {3};
  EXPECT_FALSE(selection.empty());
  EXPECT_THAT(chosen(selection, user()), ElementsAre(202));
  EXPECT_THAT(select(selection, user()).unmatched, IsEmpty());
  selection.gpus = {0, 3, 5};
  EXPECT_THAT(chosen(selection, user()), ElementsAre(201, 202));
  EXPECT_THAT(select(selection, user()).unmatched, ElementsAre(HasSubstr("GPU 5: none")));
  selection.ranks = {{1}};
  EXPECT_THAT(chosen(selection, user()), ElementsAre(202));
}

TEST_F(SelectionTest, ByContainer) {
  const std::string id = "0123456789ab" + std::string(52, 'c');
  const std::string pod = "pod4f0c2d3e-1111-2222-3333-444455556666";
  struct Case {
    std::string container, wanted;
    bool matches;
  };
  const Case cases[] = {
      {id, id, true},
      {id, "012345", true},
      {id, "0123456789ab", true},
      {id, "01234", false},
      {id, "123456", false},
      {id, id + "0", false},
      {id + "@/user.slice", id, true},
      {id + "@/user.slice", id + "@/user.slice", true},
      {id + "@/user.slice", "012345", true},
      {id + "@/user.slice", id + "@", false},
      {"mymachine", "mymachine", true},
      {"mymachine", "mymach", false},
      {"box", "box", true},
      {"box@/user.slice", "box", true},
      {pod, pod, true},
      {pod, "4f0c2d3e-1111-2222-3333-444455556666", true},
      {pod, "4f0c2d3e", true},
      {pod, "pod4f0c2d", true},
      {pod, "4f0c", false},
      {"pod4f0c2d3e_1111_2222_3333_444455556666", "4f0c2d3e-1111-22", true},
      {"pod4f0c2d3e_1111_2222_3333_444455556666", "pod", false},
      {pod, "podpod4f0c2d3e", false},
      {"podium", "podium", true},
      {"podium", "ium", false},
      {"deadbeef0", "deadbeef", false},
      {"", "", false},
      {"", "012345", false},
      {id, "", false},
  };
  for (const Case& c : cases) {
    entries_.clear();
    add(201).facts->container = c.container;
    Selection selection;
    selection.container = c.wanted;
    EXPECT_FALSE(selection.empty());
    EXPECT_EQ(chosen(selection, root()).size(), c.matches ? 1U : 0U)
        << c.container << " " << c.wanted;
    EXPECT_EQ(select(selection, root()).unmatched.size(), c.matches ? 0U : 1U);
  }
  EXPECT_THAT(select(container("0123"), root()).unmatched,
              ElementsAre(HasSubstr("container 0123: none")));
}

TEST_F(SelectionTest, AnotherTenantsContainerIsAsGoodAsNone) {
  add(201).facts->container = "mymachine";
  EXPECT_THAT(chosen(container("mymachine"), user()), IsEmpty());
  EXPECT_THAT(select(container("mymachine"), user()).unmatched, SizeIs(1));
}

TEST_F(SelectionTest, TheRolesOfTheSkippedAreTold) {
  add(201, -1, Uid{1000}, "9").facts->job.launcher = true;
  add(202, 0, Uid{1000}, "9");
  EXPECT_EQ(select({}, user()).skipped.at(0).role, Role::launcher);
}

TEST_F(SelectionTest, StalledOnesAreSkippedWithTheirAge) {
  add(201).last_poll = kNow - seconds(14);
  add(202);
  const Selected selected = select({}, user());
  ASSERT_EQ(selected.skipped.size(), 1U);
  EXPECT_EQ(selected.skipped[0].reason, "stalled: last poll 14 s ago");
}

TEST_F(SelectionTest, WhatWasNamedAndIsNotThereIsSaid) {
  add(201, 0, Uid{1000}, "9");
  add(202, 1, Uid{1001}, "9");
  Selection selection;
  selection.pids = {201, 999, 202};
  EXPECT_THAT(select(selection, user()).unmatched,
              ElementsAre(HasSubstr("pid 999:"), HasSubstr("pid 202:")))
      << "another user's process is as good as none";
  selection = {};
  selection.ranks = {{0}, {5}};
  EXPECT_THAT(select(selection, user()).unmatched, ElementsAre(HasSubstr("rank 5")));
  EXPECT_THAT(chosen(selection, user()), ElementsAre(201));
}

TEST_F(SelectionTest, ARankOfAJobOfAnotherSizeIsAnotherRank) {
  add(201, 3, Uid{1000}, "9").facts->job.world_size = 8;
  add(202, 3, Uid{1000}, "7").facts->job.world_size = 4;
  add(203, 3, Uid{1000}, "6");
  Selection selection;
  selection.ranks = {{3, 8}};
  EXPECT_THAT(chosen(selection, user()), ElementsAre(201));
  selection.ranks = {{3}};
  EXPECT_THAT(chosen(selection, user()), ElementsAre(201, 202, 203));
  selection.ranks = {{3, 4}, {3, 16}};
  EXPECT_THAT(chosen(selection, user()), ElementsAre(202));
  EXPECT_THAT(select(selection, user()).unmatched,
              ElementsAre("rank 3/16: no process here is rank 3 of 16 and is what else was asked "
                          "for; there is a rank 3 of 4 and of 8"));
  selection.ranks = {{5, 8}};
  EXPECT_THAT(select(selection, user()).unmatched, ElementsAre(Not(HasSubstr("there is"))));
}

TEST_F(SelectionTest, AJobIsNamedAsItIsShown) {
  add(201, 0, Uid{1000}, "n1:29500").facts->job.scheduler = "torchrun";
  Selection selection;
  selection.job = "torchrun:n1:29500";
  EXPECT_THAT(chosen(selection, user()), ElementsAre(201));
  selection.job = "n1:29500";
  EXPECT_THAT(chosen(selection, user()), ElementsAre(201));
  selection.job = "slurm:n1:29500";
  EXPECT_THAT(chosen(selection, user()), ElementsAre());
}

TEST_F(SelectionTest, AStalledOneThatIsNamedIsTheUsersWish) {
  add(201).last_poll = kNow - seconds(14);
  Selection by_pid;
  by_pid.pids = {201};
  EXPECT_THAT(chosen(by_pid, user()), ElementsAre(201));
}

TEST_F(SelectionTest, RootMustSayWhoseOrAll) {
  add(201, 0, Uid{1000}, "9");
  add(202, 1, Uid{1000}, "9");
  EXPECT_FALSE(select({}, root()).ambiguous);
  add(203, 0, Uid{1000}, "10");
  EXPECT_TRUE(select({}, root()).ambiguous);
  EXPECT_EQ(select({}, root()).chosen.size(), 3U);
  EXPECT_FALSE(select({}, user()).ambiguous);
  Selection all;
  all.all = true;
  EXPECT_FALSE(select(all, root()).ambiguous);
  EXPECT_FALSE(select(job("9"), root()).ambiguous);
  entries_.pop_back();
  add(204, 0, Uid{1001}, "9");
  EXPECT_TRUE(select({}, root()).ambiguous);
}

}  // namespace
}  // namespace dynolog
