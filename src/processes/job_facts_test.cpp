// Jobs, ranks and launchers, by scheduler.
#include "processes/job_facts.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace dynolog {
namespace {

const std::string kPod = "0a1b2c3d-1111-2222-3333-444455556666";

struct Case {
  const char* what;
  std::string cgroup;
  Environment environment;
  std::vector<std::string> command;
  std::string scheduler, job, step;
  int rank, local_rank, world_size;  // -1: none
};

int number(const std::optional<int>& value) { return value.value_or(-1); }

const std::vector<std::string> kTrain = {"python3", "train.py"};

const std::vector<Case> kCases = {
    {"nothing", "0::/user.slice\n", {}, kTrain, "", "", "", -1, -1, -1},
    {"slurm, v2",
     "0::/system.slice/slurmstepd.scope/job_123/step_0/user/task_2\n",
     {},
     kTrain,
     "slurm",
     "123",
     "0",
     -1,
     2,
     -1},
    {"slurm, v2 with a node's name, batch step",
     "0::/system.slice/n1_slurmstepd.scope/job_123/step_batch/user/task_special\n",
     {},
     kTrain,
     "slurm",
     "123",
     "batch",
     -1,
     -1,
     -1},
    {"slurm, v1",
     "9:memory:/slurm/uid_1000/job_77/step_extern/task_0\n0::/\n",
     {},
     kTrain,
     "slurm",
     "77",
     "extern",
     -1,
     0,
     -1},
    {"slurm, the cgroup wins over the environment",
     "0::/system.slice/slurmstepd.scope/job_123/step_0/user/task_2\n",
     {{"SLURM_JOB_ID", "999"}, {"SLURM_ARRAY_JOB_ID", "990"}, {"SLURM_ARRAY_TASK_ID", "9"}},
     kTrain,
     "slurm",
     "123",
     "0",
     -1,
     2,
     -1},
    {"slurm, array",
     "0::/system.slice/slurmstepd.scope/job_36200/step_0/user/task_0\n",
     {{"SLURM_JOB_ID", "36200"},
      {"SLURM_ARRAY_JOB_ID", "36199"},
      {"SLURM_ARRAY_TASK_ID", "0"},
      {"SLURM_PROCID", "5"},
      {"SLURM_LOCALID", "1"},
      {"SLURM_NTASKS", "8"}},
     kTrain,
     "slurm",
     "36199_0",
     "0",
     5,
     1,
     8},
    {"slurm without its cgroups",
     "0::/user.slice\n",
     {{"SLURM_JOB_ID", "5"}, {"SLURM_STEP_ID", "1"}, {"SLURM_PROCID", "0"}},
     kTrain,
     "slurm",
     "5",
     "1",
     0,
     -1,
     -1},
    {"a path that only looks like Slurm's",
     "0::/user.slice/job_5/step_0\n",
     {},
     kTrain,
     "",
     "",
     "",
     -1,
     -1,
     -1},
    {"torchrun in a Slurm job: its ranks count",
     "0::/system.slice/slurmstepd.scope/job_123/step_0/user/task_0\n",
     {{"SLURM_JOB_ID", "123"},
      {"SLURM_PROCID", "1"},
      {"SLURM_NTASKS", "2"},
      {"RANK", "9"},
      {"LOCAL_RANK", "1"},
      {"WORLD_SIZE", "16"}},
     kTrain,
     "slurm",
     "123",
     "0",
     9,
     1,
     16},
    {"pbs",
     "0::/\n",
     {{"PBS_JOBID", "456[1].server"}, {"PMI_RANK", "3"}, {"PMI_SIZE", "4"}},
     kTrain,
     "pbs",
     "456[1].server",
     "",
     3,
     -1,
     4},
    {"pbs, cgroup",
     "4:cpu:/pbs_jobs.service/jobid/456.server\n",
     {{"PBS_JOBID", "1.x"}},
     kTrain,
     "pbs",
     "456.server",
     "",
     -1,
     -1,
     -1},
    {"lsf",
     "0::/\n",
     {{"LSB_JOBID", "31"}, {"LSB_JOBINDEX", "0"}},
     kTrain,
     "lsf",
     "31",
     "",
     -1,
     -1,
     -1},
    {"lsf, array and cgroup",
     "4:cpu:/lsf/cluster/job.31.4711.1700000000\n",
     {},
     kTrain,
     "lsf",
     "31",
     "",
     -1,
     -1,
     -1},
    {"lsf, array",
     "0::/\n",
     {{"LSB_JOBID", "31"}, {"LSB_JOBINDEX", "4"}},
     kTrain,
     "lsf",
     "31[4]",
     "",
     -1,
     -1,
     -1},
    {"flux",
     "0::/\n",
     {{"FLUX_JOB_ID", "f2x"},
      {"FLUX_TASK_RANK", "2"},
      {"FLUX_TASK_LOCAL_ID", "0"},
      {"FLUX_JOB_SIZE", "4"}},
     kTrain,
     "flux",
     "f2x",
     "",
     2,
     0,
     4},
    {"torchrun",
     "0::/\n",
     {{"TORCHELASTIC_RUN_ID", "exp7"}, {"RANK", "1"}, {"LOCAL_RANK", "1"}, {"WORLD_SIZE", "2"}},
     kTrain,
     "torchrun",
     "exp7",
     "",
     1,
     1,
     2},
    {"torchrun without a run id",
     "0::/\n",
     {{"TORCHELASTIC_RUN_ID", "none"},
      {"MASTER_ADDR", "n1"},
      {"MASTER_PORT", "29500"},
      {"RANK", "0"},
      {"LOCAL_RANK", "0"},
      {"WORLD_SIZE", "1"}},
     kTrain,
     "torchrun",
     "n1:29500",
     "",
     0,
     0,
     1},
    {"mpi",
     "0::/\n",
     {{"OMPI_COMM_WORLD_RANK", "3"},
      {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
      {"OMPI_COMM_WORLD_SIZE", "8"},
      {"PMIX_RANK", "3"}},
     kTrain,
     "",
     "",
     "",
     3,
     1,
     8},
    {"ray",
     "0::/\n",
     {{"RAY_JOB_ID", "01000000"}},
     {"ray::RayTrainWorker.train"},
     "ray",
     "01000000",
     "",
     -1,
     -1,
     -1},
    {"ray, by its title", "0::/\n", {}, {"ray::Train.step"}, "ray", "", "", -1, -1, -1},
    {"kubernetes, systemd",
     "0::/kubepods.slice/kubepods-burstable.slice/"
     "kubepods-burstable-pod0a1b2c3d_1111_2222_3333_444455556666.slice/cri-containerd-x.scope\n",
     {{"POD_NAME", "w-0"}, {"POD_NAMESPACE", "ml"}, {"RANK", "0"}, {"WORLD_SIZE", "4"}},
     kTrain,
     "kubernetes",
     "ml/w-0",
     "",
     0,
     -1,
     4},
    {"kubernetes, name from the host's",
     "0::/kubepods/burstable/pod" + kPod + "/x\n",
     {{"HOSTNAME", "w-0"}},
     kTrain,
     "kubernetes",
     "w-0",
     "",
     -1,
     -1,
     -1},
    {"kubernetes, environment not readable",
     "0::/kubepods/burstable/pod" + kPod + "/x\n",
     {},
     kTrain,
     "kubernetes",
     kPod,
     "",
     -1,
     -1,
     -1},
    {"kubernetes, seen from within the pod",
     "0::/\n",
     {{"KUBERNETES_SERVICE_HOST", "10.0.0.1"}, {"HOSTNAME", "w-1"}},
     kTrain,
     "kubernetes",
     "w-1",
     "",
     -1,
     -1,
     -1},
    {"a rank beyond the world claims no world",
     "0::/\n",
     {{"RANK", "4"}, {"WORLD_SIZE", "4"}},
     kTrain,
     "",
     "",
     "",
     4,
     -1,
     -1},
    {"ranks that are none",
     "0::/\n",
     {{"RANK", "-1"}, {"SLURM_PROCID", "x"}},
     kTrain,
     "",
     "",
     "",
     -1,
     -1,
     -1},
    {"vLLM, one kind of parallelism", "0::/\n", {}, {"VLLM::Worker_TP3"}, "", "", "", 3, -1, -1},
    {"vLLM, with experts", "0::/\n", {}, {"VLLM::Worker_DP1_EP1"}, "", "", "", 1, -1, -1},
    {"vLLM, two kinds: the sizes are not known",
     "0::/\n",
     {},
     {"VLLM::Worker_PP1_TP0"},
     "",
     "",
     "",
     -1,
     -1,
     -1},
    {"vLLM, the engine", "0::/\n", {}, {"VLLM::EngineCore_0"}, "", "", "", -1, -1, -1},
    {"the environment wins over the title",
     "0::/\n",
     {{"RANK", "5"}},
     {"VLLM::Worker_TP3"},
     "",
     "",
     "",
     5,
     -1,
     -1},
};

TEST(JobFacts, ByScheduler) {
  for (const Case& c : kCases) {
    const JobFacts facts = job_facts(parse_proc_pid_cgroup(c.cgroup), c.environment, c.command);
    EXPECT_EQ(facts.scheduler, c.scheduler) << c.what;
    EXPECT_EQ(facts.job.value, c.job) << c.what;
    EXPECT_EQ(facts.step, c.step) << c.what;
    EXPECT_EQ(number(facts.rank), c.rank) << c.what;
    EXPECT_EQ(number(facts.local_rank), c.local_rank) << c.what;
    EXPECT_EQ(number(facts.world_size), c.world_size) << c.what;
    EXPECT_FALSE(facts.launcher) << c.what;
  }
}

TEST(JobFacts, SaysWhereTheRankIsFrom) {
  EXPECT_EQ(job_facts({}, {{"RANK", "1"}}, {"VLLM::Worker_TP3"}).rank_source,
            RankSource::environment);
  EXPECT_EQ(job_facts({}, {}, {"VLLM::Worker_TP3"}).rank_source, RankSource::title);
  EXPECT_EQ(job_facts({}, {}, {"python"}).rank_source, RankSource::none);
}

TEST(JobFacts, KeepsAnArrayTasksOwnNumber) {
  const JobFacts facts = job_facts(
      {},
      {{"SLURM_JOB_ID", "36200"}, {"SLURM_ARRAY_JOB_ID", "36199"}, {"SLURM_ARRAY_TASK_ID", "0"}},
      {});
  EXPECT_EQ(facts.job.value, "36199_0");
  EXPECT_EQ(facts.allocation, "36200");
}

struct HostCase {
  const char* what;
  Environment environment;
  int rank, local_rank, world_size, local_world_size;
  bool launched;
};
const std::vector<HostCase> kHosts = {
    {"torchrun",
     {{"RANK", "5"}, {"LOCAL_RANK", "1"}, {"WORLD_SIZE", "8"}, {"LOCAL_WORLD_SIZE", "4"}},
     5,
     1,
     8,
     4,
     true},
    {"torchrun with one process",
     {{"RANK", "0"}, {"LOCAL_RANK", "0"}, {"WORLD_SIZE", "1"}, {"LOCAL_WORLD_SIZE", "1"}},
     0,
     0,
     1,
     1,
     true},
    {"a pod's number", {{"RANK", "1"}, {"WORLD_SIZE", "2"}}, 1, -1, 2, -1, false},
    {"more here than there are",
     {{"RANK", "0"}, {"LOCAL_RANK", "0"}, {"WORLD_SIZE", "2"}, {"LOCAL_WORLD_SIZE", "4"}},
     0,
     0,
     2,
     -1,
     true},
    {"local rank beyond those here",
     {{"RANK", "3"}, {"LOCAL_RANK", "3"}, {"WORLD_SIZE", "4"}, {"LOCAL_WORLD_SIZE", "2"}},
     3,
     3,
     4,
     -1,
     true},
    {"Lightning, first node",
     {{"NODE_RANK", "0"}, {"LOCAL_RANK", "2"}, {"WORLD_SIZE", "8"}},
     2,
     2,
     8,
     -1,
     true},
    {"Lightning, another node",
     {{"NODE_RANK", "1"}, {"LOCAL_RANK", "2"}, {"WORLD_SIZE", "8"}},
     -1,
     2,
     -1,
     -1,
     true},
    {"Slurm, two hosts alike",
     {{"SLURM_PROCID", "1"},
      {"SLURM_LOCALID", "0"},
      {"SLURM_NTASKS", "8"},
      {"SLURM_STEP_TASKS_PER_NODE", "4(x2)"}},
     1,
     0,
     8,
     4,
     true},
    {"Slurm, hosts that differ",
     {{"SLURM_PROCID", "0"},
      {"SLURM_LOCALID", "0"},
      {"SLURM_NTASKS", "7"},
      {"SLURM_STEP_TASKS_PER_NODE", "4,3"}},
     0,
     0,
     7,
     -1,
     false},
    {"Slurm, hosts that differ, second task",
     {{"SLURM_PROCID", "1"},
      {"SLURM_LOCALID", "1"},
      {"SLURM_NTASKS", "7"},
      {"SLURM_STEP_TASKS_PER_NODE", "4,3"}},
     1,
     1,
     7,
     -1,
     true},
    {"Slurm, one task on each host",
     {{"SLURM_PROCID", "1"},
      {"SLURM_LOCALID", "0"},
      {"SLURM_NTASKS", "2"},
      {"SLURM_STEP_TASKS_PER_NODE", "1(x2)"}},
     1,
     0,
     2,
     1,
     false},
    {"Open MPI",
     {{"OMPI_COMM_WORLD_RANK", "0"},
      {"OMPI_COMM_WORLD_LOCAL_RANK", "0"},
      {"OMPI_COMM_WORLD_SIZE", "4"},
      {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}},
     0,
     0,
     4,
     2,
     true},
    {"Intel MPI",
     {{"PMI_RANK", "0"}, {"MPI_LOCALRANKID", "0"}, {"PMI_SIZE", "4"}, {"MPI_LOCALNRANKS", "2"}},
     0,
     0,
     4,
     2,
     true},
    {"hostile sizes",
     {{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"LOCAL_WORLD_SIZE", "-1(x2)"}},
     0,
     -1,
     2,
     -1,
     false},
};

TEST(JobFacts, RanksOfOneHost) {
  for (const HostCase& host : kHosts) {
    const JobFacts facts = job_facts({}, host.environment, kTrain);
    EXPECT_EQ(number(facts.rank), host.rank) << host.what;
    EXPECT_EQ(number(facts.local_rank), host.local_rank) << host.what;
    EXPECT_EQ(number(facts.world_size), host.world_size) << host.what;
    EXPECT_EQ(number(facts.local_world_size), host.local_world_size) << host.what;
    EXPECT_EQ(facts.launched, host.launched) << host.what;
  }
}

TEST(JobFacts, Launchers) {
  struct LauncherCase {
    std::vector<std::string> command;
    Environment environment;
    bool launcher;
  };
  const LauncherCase launchers[] = {
      {{"/usr/bin/python3", "/venv/bin/torchrun", "--nproc-per-node", "2", "train.py"}, {}, true},
      {{"torchrun", "train.py"}, {}, true},
      {{"python", "-m", "torch.distributed.run", "train.py"}, {}, true},
      {{"python3.11", "-u", "-X", "dev", "-m", "torch.distributed.launch", "t.py"}, {}, true},
      {{"python", "/x/torch/distributed/run.py", "t.py"}, {}, true},
      {{"python", "/venv/bin/accelerate", "launch", "t.py"}, {}, true},
      {{"python", "/venv/bin/pyflyte-execute", "--inputs"}, {}, true},
      {{"ray::IDLE"}, {}, true},
      {{"python", "-u", "/x/ray/dashboard/agent.py"}, {}, true},
      // A pod's rank is not a worker's: the local rank is.
      {{"torchrun", "train.py"}, {{"RANK", "1"}, {"WORLD_SIZE", "2"}}, true},
      {{"torchrun", "train.py"}, {{"RANK", "1"}, {"LOCAL_RANK", "1"}}, false},
      {{"python", "train.py", "torchrun"}, {}, false},
      {{"python", "-c", "torchrun"}, {}, false},
      {{"python", "-m", "mine", "torch.distributed.run"}, {}, false},
      {{"python", "torchrun_train.py"}, {}, false},
      {{"ray::Train"}, {}, false},
      {{}, {}, false},
      {{""}, {}, false},
      {{"python", "-m"}, {}, false},
  };
  for (const LauncherCase& c : launchers) {
    const JobFacts facts = job_facts({}, c.environment, c.command);
    EXPECT_EQ(facts.launcher, c.launcher) << (c.command.empty() ? "" : c.command.back());
    EXPECT_FALSE(c.launcher && facts.rank.has_value());
  }
}

TEST(ParseEnviron, KeepsOnlyWhatIsWantedAndClean) {
  std::string text;
  for (const char* line : {"RANK=1", "SECRET=x", "RANK=2", "PATH", "LOCAL_RANK=\x1b[31m"}) {
    text += line;
    text += '\0';
  }
  text += "WORLD_SIZE=a=b";  // cut in the middle
  const Environment environment = parse_environ(text, job_environment_variables());
  EXPECT_EQ(environment.size(), 3U);
  EXPECT_EQ(environment.at("RANK"), "1");
  EXPECT_EQ(environment.at("LOCAL_RANK"), "\xEF\xBF\xBD[31m");
  EXPECT_EQ(environment.at("WORLD_SIZE"), "a=b");
  EXPECT_TRUE(parse_environ("", job_environment_variables()).empty());
  EXPECT_LE(parse_environ("RANK=" + std::string(100000, 'x'), {"RANK"}).at("RANK").size(), 4096U);
}

TEST(JobEnvironmentVariables, AreNamedOnce) {
  std::vector<std::string_view> names = job_environment_variables();
  std::ranges::sort(names);
  EXPECT_EQ(std::ranges::adjacent_find(names), names.end());
  for (const std::string_view name : {"SLURM_JOB_ID", "RANK", "PMI_SIZE", "RAY_JOB_ID"}) {
    EXPECT_TRUE(std::ranges::binary_search(names, name)) << name;
  }
}

}  // namespace
}  // namespace dynolog
