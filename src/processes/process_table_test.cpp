// The process table: registration, reuse of pids, rhythm of polls, silence, risk.
#include "processes/process_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dynolog {
namespace {

using std::chrono::seconds;

MonotonicTime at(double s) {
  return MonotonicTime(std::chrono::duration_cast<Nanoseconds>(std::chrono::duration<double>(s)));
}

PollSeen poll(int pid, double s, bool idle = true, std::uint64_t start = 100, Uid uid = Uid{1000}) {
  PollSeen seen;
  seen.key = {Pid{pid}, start};
  seen.uid = uid;
  seen.endpoint = "abstract";
  seen.idle = idle;
  seen.time = at(s);
  seen.wall = WallTime(seconds(1000)) + Nanoseconds(at(s).time_since_epoch());
  return seen;
}

ProcessFacts facts_of(int pid, std::uint64_t start = 100, Uid uid = Uid{1000}) {
  ProcessFacts facts;
  facts.key = {Pid{pid}, start};
  facts.uid = uid;
  facts.namespace_pid = pid;
  return facts;
}

TEST(ProcessTable, TheFirstPollRegisters) {
  ProcessTable table;
  const auto first = table.on_poll(poll(7, 1));
  EXPECT_TRUE(first.known);
  EXPECT_TRUE(first.first);
  EXPECT_FALSE(first.reused);
  const auto second = table.on_poll(poll(7, 6, false));
  EXPECT_FALSE(second.first);
  const ProcessEntry* entry = table.find(Pid{7});
  ASSERT_NE(entry, nullptr);
  EXPECT_EQ(entry->polls, 2U);
  EXPECT_EQ(entry->first_seen, at(1));
  EXPECT_EQ(entry->last_poll, at(6));
  EXPECT_FALSE(entry->last_idle);
  EXPECT_EQ(entry->poll_period, Nanoseconds(seconds(5)));
  EXPECT_EQ(table.find(Pid{8}), nullptr);
}

TEST(ProcessTable, AReusedPidIsAnotherProcess) {
  ProcessTable table;
  table.on_poll(poll(7, 1));
  table.set_facts({Pid{7}, 100}, facts_of(7));
  const auto result = table.on_poll(poll(7, 6, true, 200));
  EXPECT_TRUE(result.first);
  EXPECT_TRUE(result.reused);
  EXPECT_FALSE(table.find(Pid{7})->facts.has_value());
  EXPECT_EQ(table.find(Pid{7})->polls, 1U);
  // News of the older process is not this one's.
  table.set_facts({Pid{7}, 100}, facts_of(7));
  table.set_torch({Pid{7}, 100}, {});
  EXPECT_FALSE(table.find(Pid{7})->facts.has_value());
  EXPECT_FALSE(table.find(Pid{7})->torch.has_value());
  EXPECT_FALSE(table.remove({Pid{7}, 100}));
  EXPECT_EQ(table.size(), 1U);
  EXPECT_TRUE(table.remove({Pid{7}, 200}));
  EXPECT_EQ(table.size(), 0U);
}

TEST(ProcessTable, AChangedUserIsReadAnew) {
  ProcessTable table;
  table.on_poll(poll(7, 1));
  table.set_facts({Pid{7}, 100}, facts_of(7));
  ASSERT_TRUE(tenant_of(*table.find(Pid{7})).has_value());
  EXPECT_TRUE(table.on_poll(poll(7, 6, true, 100, Uid{1234})).first);
  EXPECT_EQ(table.find(Pid{7})->uid, Uid{1234});
  EXPECT_FALSE(tenant_of(*table.find(Pid{7})).has_value());
  // Facts that were under way while it changed.
  table.set_facts({Pid{7}, 100}, facts_of(7));
  EXPECT_FALSE(tenant_of(*table.find(Pid{7})).has_value());
}

TEST(ProcessTable, WhatIsNotKnownYetIsOnlyRoots) {
  ProcessTable table;
  table.on_poll(poll(7, 1));
  Caller user;
  user.tenant = {Uid{1000}, ""};
  Caller root;
  root.host_root = true;
  EXPECT_FALSE(may_reach(user, *table.find(Pid{7})));
  EXPECT_TRUE(may_reach(root, *table.find(Pid{7})));
  table.set_facts({Pid{7}, 100}, facts_of(7));
  EXPECT_TRUE(may_reach(user, *table.find(Pid{7})));
}

TEST(ProcessTable, IsBounded) {
  ProcessTable table;
  for (std::size_t i = 0; i < kMaxProcesses; ++i) table.on_poll(poll(static_cast<int>(i) + 1, 1));
  EXPECT_FALSE(table.on_poll(poll(1 << 20, 1)).known);
  EXPECT_TRUE(table.on_poll(poll(5, 6)).known);
  EXPECT_EQ(table.size(), kMaxProcesses);
}

TEST(ProcessTable, AllAreSortedByPid) {
  ProcessTable table;
  for (const int pid : {30, 10, 20}) table.on_poll(poll(pid, 1));
  std::vector<int> pids;
  for (const ProcessEntry* entry : table.all()) pids.push_back(entry->key.pid.value);
  EXPECT_THAT(pids, testing::ElementsAre(10, 20, 30));
}

TEST(PollPeriod, FollowsTheRhythm) {
  struct Case {
    const char* what;
    std::vector<double> times;
    double low, high;
  };
  const Case cases[] = {
      {"steady", {0, 5, 10, 15}, 5, 5},
      {"a doubled poll is no rhythm", {0, 5, 5.01, 10.01}, 4.9, 5.1},
      {"one lost poll is no rhythm", {0, 1, 2, 4, 5}, 0.9, 1.1},
      {"faster from now on", {0, 5, 10, 11, 12}, 0.9, 1.1},
      {"slower from now on", {0, 1, 2, 7, 12}, 4.9, 5.1},
  };
  for (const Case& c : cases) {
    ProcessTable table;
    for (const double time : c.times) table.on_poll(poll(7, time));
    const double period =
        std::chrono::duration<double>(table.find(Pid{7})->poll_period.value()).count();
    EXPECT_GE(period, c.low) << c.what;
    EXPECT_LE(period, c.high) << c.what;
  }
}

TEST(StateOf, IdleBusyStalled) {
  ProcessTable table;
  table.on_poll(poll(7, 0));
  const ProcessEntry& entry = *table.find(Pid{7});
  EXPECT_EQ(state_of(entry, at(9.9)), ProcessState::idle);
  EXPECT_EQ(state_of(entry, at(10.1)), ProcessState::stalled);  // two periods of 5 s
  table.on_poll(poll(7, 0.5, false));
  EXPECT_EQ(state_of(entry, at(2.4)), ProcessState::busy);  // never before 2 s
  EXPECT_EQ(state_of(entry, at(2.6)), ProcessState::stalled);
  table.on_poll(poll(7, 3));
  EXPECT_EQ(state_of(entry, at(3.1)), ProcessState::idle);
}

TEST(AtRisk, OnlySevenToNineWithoutAConfiguration) {
  struct Case {
    const char* version;
    bool configured;
    bool risk;
  };
  const Case cases[] = {
      {"2.6.0", false, false},      {"2.7.0", false, true},     {"2.7.1+cu126", false, true},
      {"2.9.1", false, true},       {"2.9.1", true, false},     {"2.10.0", false, false},
      {"2.13.0+cpu", false, false}, {"3.8.0", false, false},    {"", false, false},
      {"2.8", false, true},         {"nonsense", false, false}, {"2.x", false, false}};
  for (const Case& c : cases) {
    ProcessEntry entry;
    TorchFacts torch;
    torch.version = c.version;
    torch.has_base_configuration = c.configured;
    entry.torch = torch;
    EXPECT_EQ(at_risk(entry).has_value(), c.risk) << c.version;
  }
  EXPECT_FALSE(at_risk({}).has_value());
}

}  // namespace
}  // namespace dynolog
