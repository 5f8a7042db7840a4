// The part that each process has, framework by framework, and what a request for a trace makes of
// it.
#include "processes/role.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "processes/selection.h"
#include "testing/process_entries.h"

namespace dynolog {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::UnorderedElementsAre;

class RoleTest : public testing::Test {
 protected:
  std::map<int, std::string> roles() {
    std::map<int, std::string> roles;
    for (const auto& [pid, part] : parts_of(host_.all())) {
      EXPECT_EQ(part.reason.empty(), part.role == Role::worker) << pid.value << part.reason;
      roles[pid.value] = to_string(part.role);
    }
    return roles;
  }
  std::string reason(int pid) { return parts_of(host_.all()).at(Pid{pid}).reason; }
  std::vector<int> chosen(const Selection& selection = {}) {
    Caller caller;
    caller.tenant.uid = ProcessEntries::kUser;
    const Selected selected =
        select_processes(host_.all(), selection, caller, ProcessEntries::kNow);
    std::vector<int> pids;
    for (const ProcessEntry* entry : selected.chosen) pids.push_back(entry->key.pid.value);
    return pids;
  }
  static Selection by_command(const std::string& part) {
    Selection selection;
    selection.command = part;
    return selection;
  }
  // torchrun 100 with ranks 101 and 102.
  void torchrun() {
    host_.add(100, 1, "python /venv/bin/torchrun --nproc-per-node 2 train.py").thread_name =
        "pt_elastic";
    host_.add(101, 100, "python -u train.py", torchrun_environment(0, 2, 0, 2));
    host_.add(102, 100, "python -u train.py", torchrun_environment(1, 2, 1, 2));
  }
  void hold_gpu(int pid, int gpu) {
    host_.entry(pid).facts->holds_gpu = true;
    host_.entry(pid).facts->gpus = {gpu};
  }

  ProcessEntries host_;
};

TEST_F(RoleTest, TorchrunWithSpawnedDataLoaders) {
  torchrun();
  host_.add(201, 101, kSpawned, torchrun_environment(0, 2, 0, 2)).thread_name = "pt_data_worker";
  host_.add(202, 101, kSpawned, torchrun_environment(0, 2, 0, 2));  // still importing torch
  host_.add(203, 102, kSpawned, torchrun_environment(1, 2, 1, 2));
  EXPECT_THAT(roles(), UnorderedElementsAre(Pair(100, "launcher"), Pair(101, "worker"),
                                            Pair(102, "worker"), Pair(201, "data_loader"),
                                            Pair(202, "data_loader"), Pair(203, "data_loader")));
  EXPECT_THAT(chosen(), ElementsAre(101, 102));
  EXPECT_EQ(reason(201), "data loader of process 101 (rank 0)");
  EXPECT_EQ(reason(203), "data loader or the like of process 102 (rank 1)");
}

TEST_F(RoleTest, ARankMeansItsTrainerNotItsDataLoaders) {
  torchrun();
  host_.add(203, 102, kSpawned, torchrun_environment(1, 2, 1, 2));
  Selection selection;
  selection.ranks = {{1}};
  EXPECT_THAT(chosen(selection), ElementsAre(102));
  selection = {};
  selection.pids = {203};
  EXPECT_THAT(chosen(selection), ElementsAre(203)) << "named by pid";
}

TEST_F(RoleTest, ForkserverBetweenTrainerAndDataLoader) {
  torchrun();
  constexpr auto kServer = "python -c from multiprocessing.forkserver import main; main(8, 9)";
  host_.add_silent(150, 101);
  host_.add(201, 150, kServer, torchrun_environment(0, 2, 0, 2));
  EXPECT_EQ(roles().at(201), "data_loader");
  EXPECT_THAT(chosen(), ElementsAre(101, 102));
}

TEST_F(RoleTest, OneScriptWithDataLoaders) {
  host_.add(100, 1, "python train.py");
  host_.add(101, 100, kSpawned).thread_name = "pt_data_worker";
  host_.add(102, 100, kSpawned).thread_name = "pt_data_worker";
  EXPECT_THAT(roles(), UnorderedElementsAre(Pair(100, "worker"), Pair(101, "data_loader"),
                                            Pair(102, "data_loader")));
  EXPECT_THAT(chosen(), ElementsAre(100));
  EXPECT_THAT(chosen(by_command("train.py")), ElementsAre(100));
}

TEST_F(RoleTest, AnOldPyTorchsDataLoadersAreThoseWithoutAGpu) {
  host_.add(100, 1, "python train.py");
  host_.add(101, 100, kSpawned);
  hold_gpu(100, 0);
  EXPECT_EQ(roles().at(101), "data_loader");
  EXPECT_THAT(chosen(), ElementsAre(100));
}

TEST_F(RoleTest, MultiprocessingRanksOfAPlainScript) {
  host_.add(100, 1, "python train.py");
  host_.add(101, 100, kSpawned);
  host_.add(102, 100, kSpawned);
  EXPECT_THAT(chosen(), ElementsAre(100, 101, 102)) << "who is what is told to nobody";
  hold_gpu(101, 0);
  hold_gpu(102, 1);
  EXPECT_THAT(roles(),
              UnorderedElementsAre(Pair(100, "worker"), Pair(101, "worker"), Pair(102, "worker")));
  EXPECT_THAT(chosen(), ElementsAre(101, 102));
  EXPECT_THAT(chosen(by_command("train.py")), ElementsAre(101, 102)) << "the script is theirs too";
  EXPECT_THAT(chosen(by_command("nothing")), IsEmpty());
}

TEST_F(RoleTest, MultiprocessingRanksUnderOneTaskOfAScheduler) {
  const Environment task = {{"SLURM_JOB_ID", "9"},
                            {"SLURM_PROCID", "0"},
                            {"SLURM_LOCALID", "0"},
                            {"SLURM_NTASKS", "1"},
                            {"SLURM_STEP_TASKS_PER_NODE", "1"}};
  host_.add(100, 1, "python main.py", task);
  host_.add(101, 100, kSpawned, task);
  host_.add(102, 100, kSpawned, task);
  EXPECT_THAT(chosen(), ElementsAre(100, 101, 102)) << "a rank without a trace would be worse";
  hold_gpu(101, 0);
  hold_gpu(102, 1);
  EXPECT_EQ(chosen().front(), 101) << "those with a GPU come first";
}

TEST_F(RoleTest, TasksOfASchedulerWithDataLoaders) {
  for (int rank = 0; rank < 2; ++rank) {
    const std::string number = std::to_string(rank);
    const Environment task = {{"SLURM_JOB_ID", "9"},
                              {"SLURM_PROCID", number},
                              {"SLURM_LOCALID", number},
                              {"SLURM_NTASKS", "2"},
                              {"SLURM_STEP_TASKS_PER_NODE", "2"}};
    host_.add(100 + rank, 1, "python main.py", task);
    host_.add(200 + rank, 100 + rank, kSpawned, task);
  }
  EXPECT_THAT(chosen(), ElementsAre(100, 101));
}

TEST_F(RoleTest, AccelerateWithOneProcess) {
  host_.add(100, 1, "python /venv/bin/accelerate launch train.py");
  host_.add(101, 100, "python train.py");
  EXPECT_EQ(roles().at(101), "worker");
  EXPECT_THAT(chosen(), ElementsAre(101));
  EXPECT_THAT(chosen(by_command("train.py")), ElementsAre(101));
  EXPECT_THAT(chosen(by_command("accelerate")), ElementsAre(100)) << "nothing else is meant";
}

TEST_F(RoleTest, AccelerateWithSeveral) {
  host_.add(100, 1, "python /venv/bin/accelerate launch --multi_gpu train.py");
  host_.add(101, 100, "python -u train.py", torchrun_environment(0, 2, 0, 2));
  host_.add(102, 100, "python -u train.py", torchrun_environment(1, 2, 1, 2));
  EXPECT_THAT(chosen(), ElementsAre(101, 102));
}

TEST_F(RoleTest, DeepSpeedHasTwoLaunchers) {
  host_.add(100, 1, "python /venv/bin/deepspeed --num_gpus 2 train.py");
  host_.add(101, 100, "python -u -m deepspeed.launcher.launch --world_info=e30= train.py");
  for (int rank = 0; rank < 2; ++rank) {
    const std::string number = std::to_string(rank);
    host_.add(102 + rank, 101, "python -u train.py --local_rank=" + number,
              {{"RANK", number}, {"LOCAL_RANK", number}, {"WORLD_SIZE", "2"}});
  }
  EXPECT_THAT(roles(), UnorderedElementsAre(Pair(100, "launcher"), Pair(101, "launcher"),
                                            Pair(102, "worker"), Pair(103, "worker")));
  EXPECT_THAT(chosen(), ElementsAre(102, 103));
}

TEST_F(RoleTest, LightningsFirstProcessIsARank) {
  const auto started = [](int local_rank) -> Environment {
    return {{"NODE_RANK", "0"},
            {"LOCAL_RANK", std::to_string(local_rank)},
            {"WORLD_SIZE", "3"},
            {"MASTER_ADDR", "127.0.0.1"},
            {"MASTER_PORT", "4000"}};
  };
  host_.add(100, 1, "python train.py");
  host_.add(101, 100, "python train.py", started(1));
  host_.add(102, 100, "python train.py", started(2));
  host_.add(201, 100, kSpawned, started(0));  // it passes its own rank to its data loaders
  host_.add(202, 101, kSpawned, started(1));
  EXPECT_THAT(roles(),
              UnorderedElementsAre(Pair(100, "worker"), Pair(101, "worker"), Pair(102, "worker"),
                                   Pair(201, "data_loader"), Pair(202, "data_loader")));
  EXPECT_THAT(chosen(), ElementsAre(100, 101, 102));
  EXPECT_THAT(reason(201), HasSubstr("(rank 0)"));
  Selection selection;
  selection.job = "127.0.0.1:4000";
  selection.ranks = {{0}};
  EXPECT_THAT(chosen(selection), ElementsAre(100));
}

TEST_F(RoleTest, LightningOnAnotherNode) {
  const auto started = [](int local_rank) -> Environment {
    return {{"NODE_RANK", "1"}, {"LOCAL_RANK", std::to_string(local_rank)}, {"WORLD_SIZE", "4"}};
  };
  host_.add(100, 1, "python train.py");
  host_.add(101, 100, "python train.py", started(1));
  host_.add(201, 100, kSpawned, started(0));
  EXPECT_THAT(chosen(), ElementsAre(100, 101));
  EXPECT_EQ(roles().at(201), "data_loader");
}

TEST_F(RoleTest, AScriptThatStartsRanksAndIsNone) {
  host_.add(99, 1, "python sweep.py");
  host_.add(100, 99, "python start.py");
  host_.add(101, 100, "python train.py", torchrun_environment(0, 2, 0, 2));
  host_.add(102, 100, "python train.py", torchrun_environment(1, 2, 1, 2));
  EXPECT_THAT(roles(), UnorderedElementsAre(Pair(99, "launcher"), Pair(100, "launcher"),
                                            Pair(101, "worker"), Pair(102, "worker")));
  EXPECT_THAT(chosen(), ElementsAre(101, 102));
  hold_gpu(100, 0);
  EXPECT_EQ(roles().at(100), "worker") << "it computes as well";
}

TEST_F(RoleTest, AScriptThatGivesItselfARankAtRunTime) {
  const Environment itself = torchrun_environment(0, 1, 0, 1);
  host_.add(100, 1, "python train.py");
  host_.add(101, 100, kSpawned, itself).thread_name = "pt_data_worker";
  EXPECT_THAT(chosen(), ElementsAre(100));
  host_.entry(101).facts->thread_name = "python";
  EXPECT_THAT(chosen(), ElementsAre(101, 100)) << "or multiprocessing started the one rank";
  hold_gpu(100, 0);
  EXPECT_EQ(roles().at(101), "data_loader");
  EXPECT_THAT(chosen(), ElementsAre(100));
}

TEST_F(RoleTest, AnotherRankThatIsGivenAtRunTimeMakesNoFirstOne) {
  host_.add(100, 1, "python train.py");
  host_.add(101, 100, kSpawned, torchrun_environment(1, 2, 1, 2)).thread_name = "pt_data_worker";
  EXPECT_EQ(reason(101), "data loader of process 100");
  Selection selection;
  selection.ranks = {{0}};
  EXPECT_THAT(chosen(selection), IsEmpty());
}

TEST_F(RoleTest, MultiprocessingRanksThatAreToldTheirNumbers) {
  host_.add(100, 1, "python train.py");
  host_.add(101, 100, kSpawned, torchrun_environment(0, 2, 0, 2));
  host_.add(102, 100, kSpawned, torchrun_environment(1, 2, 1, 2));
  EXPECT_EQ(roles().at(100), "launcher");
  EXPECT_THAT(chosen(), ElementsAre(101, 102));
}

TEST_F(RoleTest, APodsNumberIsNotARankOfItsLauncher) {
  const Environment pod = {{"RANK", "1"}, {"WORLD_SIZE", "2"}};
  host_.add(100, 1, "python start.py", pod);
  host_.add(101, 100, "python train.py", torchrun_environment(2, 4, 0, 2));
  host_.add(102, 100, "python train.py", torchrun_environment(3, 4, 1, 2));
  EXPECT_EQ(roles().at(100), "launcher");
  EXPECT_THAT(chosen(), ElementsAre(101, 102));
}

TEST_F(RoleTest, RaysAgentsIdleWorkersAndTrainers) {
  host_.add_silent(90, 1);  // raylet
  host_.add(100, 90, "python -u /venv/ray/dashboard/agent.py --node-ip=1");
  host_.add(101, 90, "ray::IDLE");
  host_.add(102, 90, "ray::RayTrainWorker.execute");
  host_.add(103, 90, "ray::RayTrainWorker.execute");
  EXPECT_THAT(roles(), UnorderedElementsAre(Pair(100, "launcher"), Pair(101, "launcher"),
                                            Pair(102, "worker"), Pair(103, "worker")));
  for (int pid = 100; pid < 104; ++pid) host_.entry(pid).facts->job.job = JobId{"01000000"};
  EXPECT_THAT(chosen(), ElementsAre(102, 103));
}

TEST_F(RoleTest, VllmsFrontAndEngine) {
  host_.add(100, 1, "python /venv/bin/vllm serve model");
  host_.add(101, 100, "VLLM::EngineCore");
  host_.add(102, 101, "VLLM::Worker_TP0");
  host_.add(103, 101, "VLLM::Worker_TP1");
  EXPECT_THAT(roles(), UnorderedElementsAre(Pair(100, "launcher"), Pair(101, "launcher"),
                                            Pair(102, "worker"), Pair(103, "worker")));
  EXPECT_THAT(chosen(), ElementsAre(102, 103));
}

TEST_F(RoleTest, VllmWithOneGpuHasNoRanks) {
  host_.add(100, 1, "python /venv/bin/vllm serve model");
  host_.add(101, 100, "VLLM::EngineCore");
  EXPECT_THAT(chosen(), ElementsAre(100, 101));
  hold_gpu(101, 0);
  EXPECT_THAT(chosen(), ElementsAre(101));
  EXPECT_THAT(chosen(by_command("vllm serve")), ElementsAre(100)) << "only it is meant";
}

TEST_F(RoleTest, WhatARankStartsBesideDataLoaders) {
  torchrun();
  const Environment rank = torchrun_environment(0, 2, 0, 2);
  host_.add(201, 101, "python /venv/lib/torch/_inductor/compile_worker/__main__.py --kind=fork",
            rank);
  host_.add(202, 101, "python evaluate.py", rank);
  host_.add(203, 101, "sglang::scheduler", rank);
  host_.add(204, 202, kSpawned, rank);
  hold_gpu(203, 0);
  EXPECT_EQ(roles().at(201), "helper");
  EXPECT_EQ(reason(201), "compiles kernels for process 101 (rank 0)");
  EXPECT_EQ(roles().at(202), "helper");
  EXPECT_EQ(roles().at(203), "worker") << "it computes";
  hold_gpu(101, 0);
  EXPECT_EQ(roles().at(203), "worker") << "so does its parent";
  EXPECT_EQ(roles().at(204), "helper");
  EXPECT_EQ(reason(204), "child of process 202 (rank 0), which does not train");
}

TEST_F(RoleTest, AWorkersChildWithTheGpuDoesTheWork) {
  torchrun();
  host_.add(201, 101, kSpawned, torchrun_environment(0, 2, 0, 2));
  hold_gpu(201, 0);
  EXPECT_EQ(roles().at(201), "worker");
  hold_gpu(101, 0);
  EXPECT_EQ(roles().at(201), "data_loader") << "CUDA may have come with import torch";
}

TEST_F(RoleTest, DescriptorsThatCannotBeReadTellNothing) {
  host_.add(100, 1, "python train.py");
  host_.add(101, 100, kSpawned).descriptors_read = false;
  hold_gpu(100, 0);
  EXPECT_EQ(roles().at(101), "worker");
  EXPECT_THAT(chosen(), ElementsAre(100, 101));
}

TEST_F(RoleTest, OtherTenantsHaveNothingToDoWithIt) {
  host_.add(100, 1, "python train.py", torchrun_environment(0, 1, 0, 1));
  host_.add(101, 100, kSpawned, torchrun_environment(0, 1, 0, 1)).container = "c";
  host_.add(102, 100, kSpawned, torchrun_environment(0, 1, 0, 1));
  host_.entry(102).uid = host_.entry(102).facts->uid = Uid{1001};
  EXPECT_EQ(roles().at(101), "worker");
  EXPECT_EQ(roles().at(102), "worker");
}

TEST_F(RoleTest, APidThatWasUsedAgainIsNoStarter) {
  host_.add(100, 1, "python train.py", torchrun_environment(0, 1, 0, 1));
  host_.add(101, 100, kSpawned, torchrun_environment(0, 1, 0, 1));
  host_.entry(100).key.start_ticks = 9999;
  EXPECT_EQ(roles().at(101), "worker");
}

TEST_F(RoleTest, WithoutFactsNothingIsSaid) {
  host_.add(100, 1, "python train.py");
  host_.entry(100).facts.reset();
  EXPECT_THAT(roles(), UnorderedElementsAre(Pair(100, "worker")));
}

}  // namespace
}  // namespace dynolog
