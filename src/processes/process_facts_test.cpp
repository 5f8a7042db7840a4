// What stays of what was known when a process is read again.
#include "processes/process_facts.h"

#include <gtest/gtest.h>

namespace dynolog {
namespace {

ProcessFacts whole() {
  ProcessFacts facts;
  facts.key = {Pid{5}, 1};
  facts.uid = Uid{1000};
  facts.parent = Pid{4};
  facts.command = "python train.py";
  facts.job.rank = 3;
  facts.holds_gpu = true;
  facts.torch_library = "/v/torch/lib/libtorch_cpu.so";
  facts.descriptors_read = facts.environment_read = facts.mapped_files_read = true;
  facts.complete = true;
  return facts;
}

// What is known of a process that hangs.
ProcessFacts early() {
  ProcessFacts facts;
  facts.key = {Pid{5}, 1};
  facts.uid = Uid{1000};
  facts.parent = Pid{1};
  facts.thread_name = "pt_data_worker";
  facts.missing = {"all else: not in time"};
  return facts;
}

TEST(ProcessFacts, AWholeReadingReplacesAll) {
  ProcessFacts fresh = whole();
  fresh.holds_gpu = false;
  fresh.job.rank.reset();
  fresh.command = "ray::IDLE";
  const ProcessFacts facts = renewed(whole(), fresh);
  EXPECT_FALSE(facts.holds_gpu);
  EXPECT_EQ(facts.job.rank, std::nullopt);
  EXPECT_EQ(facts.command, "ray::IDLE");
}

TEST(ProcessFacts, AReadingThatHangsOnlyTellsWhatCannotHang) {
  const ProcessFacts facts = renewed(whole(), early());
  EXPECT_EQ(facts.job.rank, 3);
  EXPECT_TRUE(facts.holds_gpu);
  EXPECT_TRUE(facts.complete);
  EXPECT_TRUE(facts.missing.empty());
  EXPECT_EQ(facts.parent, Pid{1});
  EXPECT_EQ(facts.thread_name, "pt_data_worker");
}

TEST(ProcessFacts, EachPartThatIsMissingNowKeepsWhatWasKnown) {
  for (bool ProcessFacts::* part :
       {&ProcessFacts::descriptors_read, &ProcessFacts::environment_read,
        &ProcessFacts::mapped_files_read}) {
    ProcessFacts known = whole();
    known.complete = false;  // its working directory, say
    ProcessFacts fresh = known;
    fresh.*part = false;
    fresh.command = "other";
    EXPECT_EQ(renewed(known, fresh).command, "python train.py");
    known.*part = false;
    EXPECT_EQ(renewed(known, fresh).command, "other") << "as far as before";
  }
}

TEST(ProcessFacts, NothingStaysOfAnotherTenantsProcess) {
  ProcessFacts fresh = early();
  fresh.uid = Uid{1001};
  EXPECT_EQ(renewed(whole(), fresh).command, "");
  fresh = early();
  fresh.container = "c";
  EXPECT_EQ(renewed(whole(), fresh).command, "");
  EXPECT_FALSE(renewed(whole(), fresh).holds_gpu);
}

}  // namespace
}  // namespace dynolog
