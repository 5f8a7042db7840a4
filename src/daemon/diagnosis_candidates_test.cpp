// Who is spoken of: the table and the scan together, and nobody's processes but the asking
// person's.
#include "daemon/diagnosis_candidates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dynolog {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr MonotonicTime kNow{std::chrono::hours(1)};

ScannedProcess scanned(int pid, unsigned uid = 1000, const char* container = "") {
  ScannedProcess process;
  process.facts.key = {Pid{pid}, 5};
  process.facts.uid = Uid{uid};
  process.facts.namespace_pid = pid;
  process.facts.container = container;
  process.facts.command = "python train.py";
  process.facts.torch_library = "/t/libtorch_cpu.so";
  process.signs.state = 'S';
  return process;
}

ProcessEntry called(int pid, unsigned uid = 1000) {
  ProcessEntry entry;
  entry.key = {Pid{pid}, 5};
  entry.uid = Uid{uid};
  entry.endpoint = "abstract";
  entry.last_poll = kNow - std::chrono::seconds(3);
  return entry;
}

Caller user(unsigned uid = 1000, const char* container = "") {
  Caller caller;
  caller.tenant = {Uid{uid}, container};
  caller.via = "unix";
  return caller;
}

Caller root() {
  Caller caller = user(0);
  caller.host_root = true;
  return caller;
}

std::vector<int> pids(const Candidates& candidates, bool wanted_only = false) {
  std::vector<int> found;
  for (const Candidate& candidate : candidates.all) {
    if (candidate.wanted || !wanted_only) found.push_back(candidate.entry.key.pid.value);
  }
  return found;
}

TEST(DiagnosisCandidatesTest, PutsTheTableAndTheScanTogether) {
  const ProcessEntry known = called(10);
  const auto found = find_candidates({&known}, {scanned(11), scanned(10)}, {}, user(), kNow);
  ASSERT_THAT(pids(found), ElementsAre(10, 11));
  EXPECT_TRUE(found.all[0].registered);
  EXPECT_EQ(found.all[0].entry.endpoint, "abstract");
  EXPECT_EQ(found.all[0].signs.state, 'S');
  ASSERT_TRUE(found.all[0].entry.facts.has_value()) << "the scan's are newer";
  EXPECT_FALSE(found.all[1].registered);
  EXPECT_TRUE(found.all[1].wanted);
}

TEST(DiagnosisCandidatesTest, APidThatIsAnothersByNowIsAnotherProcess) {
  ProcessEntry old = called(10);
  old.key.start_ticks = 4;
  const auto found = find_candidates({&old}, {scanned(10)}, {}, root(), kNow);
  ASSERT_THAT(found.all, SizeIs(2));
  EXPECT_TRUE(found.all[0].registered);
  EXPECT_FALSE(found.all[1].registered);
}

TEST(DiagnosisCandidatesTest, NobodySpeaksOfAnotherTenantsProcess) {
  ProcessEntry unknown = called(9);  // whose it is has not been read yet
  const auto all = std::vector{scanned(10), scanned(11, 1001), scanned(12, 1000, "box")};
  EXPECT_THAT(pids(find_candidates({&unknown}, all, {}, user(), kNow)), ElementsAre(10));
  EXPECT_THAT(pids(find_candidates({&unknown}, all, {}, user(1000, "box"), kNow)), ElementsAre(12));
  EXPECT_THAT(pids(find_candidates({&unknown}, all, {}, root(), kNow)), ElementsAre(9, 10, 11, 12));
}

TEST(DiagnosisCandidatesTest, AProcessThatChangedItsUserSinceItCalledIsRoots) {
  const ProcessEntry known = called(10, 1000);
  const auto all = std::vector{scanned(10, 1001)};
  EXPECT_THAT(pids(find_candidates({&known}, all, {}, user(1000), kNow)), IsEmpty());
  EXPECT_THAT(pids(find_candidates({&known}, all, {}, user(1001), kNow)), IsEmpty());
  EXPECT_THAT(pids(find_candidates({&known}, all, {}, root(), kNow)), ElementsAre(10));
}

TEST(DiagnosisCandidatesTest, PidsAreOfTheHostOrOfTheirNamespace) {
  auto inside = scanned(10);
  inside.facts.namespace_pid = 7;
  Selection selection;
  selection.pids = {7, 11, 12};
  const auto found =
      find_candidates({}, {inside, scanned(11), scanned(13)}, selection, user(), kNow);
  EXPECT_THAT(pids(found, true), ElementsAre(10, 11));
  EXPECT_TRUE(found.all[0].named);
  EXPECT_THAT(found.unmatched, ElementsAre(12));
}

TEST(DiagnosisCandidatesTest, AJobIsAllOfItsProcesses) {
  auto rank = scanned(10);
  rank.facts.job.job = JobId{"77"};
  rank.facts.job.rank = 0;
  auto launcher = scanned(9);
  launcher.facts.job.job = JobId{"77"};
  launcher.facts.job.launcher = true;
  Selection selection;
  selection.job = "77";
  const auto found = find_candidates({}, {launcher, rank, scanned(11)}, selection, user(), kNow);
  EXPECT_THAT(pids(found, true), ElementsAre(9, 10));
  EXPECT_FALSE(found.all[0].named);
  EXPECT_EQ(found.all[0].part.role, Role::launcher);
  EXPECT_EQ(found.all[1].part.role, Role::worker);
}

TEST(DiagnosisCandidatesTest, OfASelectionOnlyWhatItMeans) {
  auto other = scanned(12);
  other.facts.command = "python serve.py";
  const std::vector all{scanned(10), scanned(11, 1001), other};
  Selection selection;
  selection.uid = Uid{1000};
  EXPECT_THAT(pids(find_candidates({}, all, selection, root(), kNow), true), ElementsAre(10, 12));
  selection.command = "serve";
  const auto found = find_candidates({}, all, selection, root(), kNow);
  EXPECT_THAT(pids(found, true), ElementsAre(12));
  EXPECT_FALSE(found.all[2].named);
  selection.gpus = {0};
  EXPECT_THAT(pids(find_candidates({}, all, selection, root(), kNow), true), IsEmpty());
}

TEST(DiagnosisCandidatesTest, AForkIsSeenAmongAll) {
  auto parent = scanned(10);
  auto child = scanned(11);
  child.facts.parent = Pid{10};
  for (auto* process : {&parent, &child}) {
    process->signs.torch_address = "7f00";
    process->signs.executable = "/usr/bin/python3";
  }
  const auto found = find_candidates({}, {parent, child}, {}, user(), kNow);
  ASSERT_THAT(found.all, SizeIs(2));
  EXPECT_EQ(found.all[0].forked_from, std::nullopt);
  EXPECT_EQ(found.all[1].forked_from, Pid{10});
}

}  // namespace
}  // namespace dynolog
