// Job, rank and launcher from what the cgroup, the environment and the title say.
#include "processes/job_facts.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "base/ascii.h"
#include "base/number.h"
#include "base/text.h"

namespace dynolog {
namespace {

constexpr std::size_t kMaxValue = 4096;  // paths among them
constexpr std::size_t kMaxJob = 256;

std::string value_of(const Environment& environment, const char* name) {
  const auto found = environment.find(name);
  return found == environment.end() ? std::string() : found->second;
}

std::optional<int> number_of(const Environment& environment, std::string_view name) {
  const auto found = environment.find(std::string(name));
  if (found == environment.end()) return std::nullopt;
  const auto number = parse_number<int>(trim(found->second));
  if (!number || *number < 0) return std::nullopt;
  return number;
}

struct FoundJob {
  std::string scheduler;
  std::string job;
  std::string step;
  std::optional<int> local_rank;
};

// .../slurm[_NODE]/uid_U/job_J/step_S/task_T (v1),
// .../[NODE_]slurmstepd.scope/job_J/step_S/user/...
std::optional<FoundJob> slurm_of_path(const std::vector<std::string_view>& segments) {
  bool slurm = false;
  for (std::size_t i = 0; i < segments.size(); ++i) {
    slurm = slurm || segments[i] == "slurm" || segments[i].starts_with("slurm_") ||
            segments[i].ends_with("slurmstepd.scope");
    if (!slurm || !segments[i].starts_with("job_") || !all_digits(segments[i].substr(4))) continue;
    FoundJob found{"slurm", std::string(segments[i].substr(4)), "", std::nullopt};
    for (const std::string_view below :
         std::vector(segments.begin() + static_cast<long>(i) + 1, segments.end())) {
      if (below.starts_with("step_") && found.step.empty()) found.step = below.substr(5);
      if (below.starts_with("task_")) found.local_rank = parse_number<int>(below.substr(5));
    }
    return found;
  }
  return std::nullopt;
}

// PBS: pbs_jobs.service/jobid/ID. LSF: lsf/CLUSTER/job.ID.PID.TIME.
std::optional<FoundJob> batch_of_path(const std::vector<std::string_view>& segments) {
  for (std::size_t i = 0; i + 2 < segments.size(); ++i) {
    if (segments[i].starts_with("pbs_jobs") && segments[i + 1] == "jobid") {
      return FoundJob{"pbs", std::string(segments[i + 2]), "", std::nullopt};
    }
    if (segments[i] == "lsf" && segments[i + 2].starts_with("job.")) {
      const std::string_view id = split(segments[i + 2], '.')[1];
      if (!id.empty()) return FoundJob{"lsf", std::string(id), "", std::nullopt};
    }
  }
  return std::nullopt;
}

// The uid of the pod, as the API writes it: systemd's slices have '_' for its '-'.
std::string pod_uid(const std::vector<std::string_view>& segments) {
  bool below = false;
  for (const std::string_view segment : segments) {
    below = below || segment.starts_with("kubepods") ||
            segment.find(":cri-containerd:") != std::string_view::npos;
    if (!below) continue;
    std::string_view name = segment.substr(0, segment.find(':'));
    if (name.ends_with(".slice")) name.remove_suffix(6);
    const std::size_t pod = name.starts_with("pod") ? 0 : name.find("-pod");
    if (pod == std::string_view::npos) continue;
    std::string uid(name.substr(pod + (pod == 0 ? 3 : 4)));
    if (uid.size() < 4 || uid == "s") continue;
    std::ranges::replace(uid, '_', '-');
    return uid;
  }
  return {};
}

std::string pod_name(const Environment& environment) {
  std::string name = value_of(environment, "POD_NAME");
  if (name.empty()) name = value_of(environment, "HOSTNAME");
  if (name.empty()) return {};
  const std::string space = value_of(environment, "POD_NAMESPACE");
  return space.empty() ? name : space + "/" + name;
}

std::optional<FoundJob> job_of_cgroup(const std::vector<CgroupLine>& cgroup,
                                      const Environment& environment) {
  for (const CgroupLine& line : cgroup) {
    const std::vector<std::string_view> segments = split(line.path, '/');
    if (auto found = slurm_of_path(segments)) return found;
    if (auto found = batch_of_path(segments)) return found;
  }
  for (const CgroupLine& line : cgroup) {
    const std::string uid = pod_uid(split(line.path, '/'));
    if (uid.empty()) continue;
    // The cgroup proves the pod; its name is what the pod says of itself.
    const std::string name = pod_name(environment);
    return FoundJob{"kubernetes", name.empty() ? uid : name, "", std::nullopt};
  }
  return std::nullopt;
}

std::optional<FoundJob> torchrun_of(const Environment& environment) {
  const std::string run = value_of(environment, "TORCHELASTIC_RUN_ID");
  if (!run.empty() && run != "none") return FoundJob{"torchrun", run, "", std::nullopt};
  const std::string address = value_of(environment, "MASTER_ADDR");
  const std::string port = value_of(environment, "MASTER_PORT");
  if (address.empty() || port.empty()) return std::nullopt;
  return FoundJob{"torchrun", address + ":" + port, "", std::nullopt};
}

std::optional<FoundJob> job_of_environment(const Environment& environment) {
  const auto value = [&](const char* name) { return value_of(environment, name); };
  if (const std::string id = value("SLURM_JOB_ID"); !id.empty()) {
    return FoundJob{"slurm", id, value("SLURM_STEP_ID"), std::nullopt};
  }
  if (const std::string id = value("PBS_JOBID"); !id.empty()) {
    return FoundJob{"pbs", id, "", std::nullopt};
  }
  if (const std::string id = value("LSB_JOBID"); !id.empty()) {
    const std::string index = value("LSB_JOBINDEX");
    const bool member = !index.empty() && index != "0";
    return FoundJob{"lsf", member ? id + "[" + index + "]" : id, "", std::nullopt};
  }
  if (const std::string id = value("FLUX_JOB_ID"); !id.empty()) {
    return FoundJob{"flux", id, "", std::nullopt};
  }
  if (const std::string id = value("RAY_JOB_ID"); !id.empty()) {
    return FoundJob{"ray", id, "", std::nullopt};
  }
  if (auto found = torchrun_of(environment)) return found;
  if (!value("KUBERNETES_SERVICE_HOST").empty()) {
    const std::string name = pod_name(environment);
    if (!name.empty()) return FoundJob{"kubernetes", name, "", std::nullopt};
  }
  return std::nullopt;
}

// An array's task has a number of its own (the cgroup's) and the array's: people use the second.
void name_array_task(FoundJob& found, const Environment& environment, std::string& allocation) {
  const std::string own = value_of(environment, "SLURM_JOB_ID");
  const std::string array = value_of(environment, "SLURM_ARRAY_JOB_ID");
  const std::string task = value_of(environment, "SLURM_ARRAY_TASK_ID");
  if (own != found.job || !all_digits(array) || !all_digits(task)) return;
  allocation = found.job;
  found.job = array + "_" + task;
}

struct RankVariables {
  std::string_view rank, local_rank, world_size, local_size;
};
// In the order of trust in them being the rank of torch.distributed.
constexpr std::array<RankVariables, 6> kRankVariables = {{
    {"RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE"},
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_SIZE",
     "OMPI_COMM_WORLD_LOCAL_SIZE"},
    {"PMIX_RANK", "MPI_LOCALRANKID", "", "MPI_LOCALNRANKS"},
    {"PMI_RANK", "MPI_LOCALRANKID", "PMI_SIZE", "MPI_LOCALNRANKS"},
    {"SLURM_PROCID", "SLURM_LOCALID", "SLURM_NTASKS", "SLURM_STEP_TASKS_PER_NODE"},
    {"FLUX_TASK_RANK", "FLUX_TASK_LOCAL_ID", "FLUX_JOB_SIZE", ""},
}};

// "4", or Slurm's "4(x2)" for two hosts with 4 each. Nothing for hosts that differ ("4,3").
std::optional<int> size_here(const Environment& environment, std::string_view name) {
  const auto found = environment.find(std::string(name));
  if (found == environment.end()) return std::nullopt;
  std::string_view text = trim(found->second);
  if (text.ends_with(')') && text.find("(x") != std::string_view::npos) {
    text = text.substr(0, text.find("(x"));
  }
  const auto number = parse_number<int>(text);
  if (!number || *number <= 0) return std::nullopt;
  return number;
}

void take_numbers(const Environment& environment, const RankVariables& names, JobFacts& facts) {
  facts.rank_source = RankSource::environment;
  if (const auto local = number_of(environment, names.local_rank)) facts.local_rank = local;
  const auto size = number_of(environment, names.world_size);
  if (size && *size > *facts.rank) facts.world_size = size;
  const auto here = size_here(environment, names.local_size);
  const bool fits = facts.local_rank.value_or(0) < here.value_or(0) &&
                    here.value_or(0) <= facts.world_size.value_or(here.value_or(0));
  if (fits) facts.local_world_size = here;
}

// Lightning tells the processes that it starts their LOCAL_RANK and NODE_RANK, and not their RANK:
// on the first node they are the same.
std::optional<int> rank_on_first_node(const Environment& environment) {
  if (number_of(environment, "NODE_RANK") != 0) return std::nullopt;
  return number_of(environment, "LOCAL_RANK");
}

void take_rank(const Environment& environment, JobFacts& facts) {
  for (const RankVariables& names : kRankVariables) {
    facts.rank = number_of(environment, names.rank);
    if (!facts.rank && names.rank == "RANK") facts.rank = rank_on_first_node(environment);
    if (!facts.rank) continue;
    take_numbers(environment, names, facts);
    break;
  }
  const auto local = number_of(environment, "LOCAL_RANK");
  if (!facts.local_rank) facts.local_rank = local;
  facts.launched = local.has_value() || facts.local_rank.value_or(0) > 0 ||
                   facts.local_world_size.value_or(1) > 1;
}

// vLLM: "VLLM::Worker_TP1", with _DPn, _PPn, _TPn for each kind of parallelism that has more than
// one member and _EPn where experts are spread. Only one kind alone gives a rank: with several, the
// sizes are needed, and the title does not say them. Ray's titles ("ray::Train.step") hold none.
std::optional<int> rank_of_title(std::string_view title) {
  constexpr std::string_view kVllm = "VLLM::Worker";
  if (!title.starts_with(kVllm)) return std::nullopt;
  title.remove_prefix(kVllm.size());
  title = title.substr(0, title.find(' '));
  std::optional<int> rank;
  for (const std::string_view part : split(title, '_')) {
    if (part.empty() || part.starts_with("EP")) continue;
    const bool known = part.starts_with("DP") || part.starts_with("PP") || part.starts_with("TP");
    const auto number = known ? parse_number<int>(part.substr(2)) : std::nullopt;
    if (!number || *number < 0 || rank) return std::nullopt;
    rank = number;
  }
  return rank;
}

std::string_view base_name(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

// The program and the module or script that it runs: what follows belongs to the script.
bool runs_launcher(const std::vector<std::string>& command_line) {
  constexpr std::array<std::string_view, 6> kPrograms = {
      "torchrun",        "accelerate",           "accelerate-launch",
      "pyflyte-execute", "pyflyte-fast-execute", "deepspeed"};
  constexpr std::array<std::string_view, 6> kModules = {
      "torch.distributed.run",      "torch.distributed.launch",
      "accelerate.commands.launch", "accelerate.commands.accelerate_cli",
      "deepspeed.launcher.launch",  "deepspeed.launcher.runner"};
  const auto is_program = [&](std::string_view word) {
    return std::ranges::find(kPrograms, base_name(word)) != kPrograms.end();
  };
  if (command_line.empty()) return false;
  if (is_program(command_line.front())) return true;
  if (!base_name(command_line.front()).starts_with("python")) return false;
  for (std::size_t i = 1; i < command_line.size(); ++i) {
    const std::string& word = command_line[i];
    if (word == "-m") {
      return i + 1 < command_line.size() &&
             std::ranges::find(kModules, command_line[i + 1]) != kModules.end();
    }
    if (word == "-c") return false;
    if (!word.starts_with('-')) {
      return is_program(word) || word.ends_with("/torch/distributed/run.py") ||
             word.ends_with("/torch/distributed/launch.py") ||
             word.ends_with("/ray/dashboard/agent.py") ||
             word.ends_with("/ray/_private/runtime_env/agent/main.py");
    }
    if (word == "-X" || word == "-W") ++i;  // options with a word of their own
  }
  return false;
}

bool is_launcher(const Environment& environment, const std::vector<std::string>& command_line) {
  // A worker is told its local rank by its launcher; RANK alone may be that of a pod.
  if (environment.contains("LOCAL_RANK")) return false;
  if (!command_line.empty() && command_line.front().starts_with("ray::IDLE")) return true;
  return runs_launcher(command_line);
}

}  // namespace

const std::vector<std::string_view>& job_environment_variables() {
  static const std::vector<std::string_view> kNames = [] {
    std::vector<std::string_view> names = {
        "SLURM_JOB_ID", "SLURM_STEP_ID", "SLURM_ARRAY_JOB_ID", "SLURM_ARRAY_TASK_ID",
        "PBS_JOBID",    "LSB_JOBID",     "LSB_JOBINDEX",       "FLUX_JOB_ID",
        "RAY_JOB_ID",   "MASTER_ADDR",   "MASTER_PORT",        "TORCHELASTIC_RUN_ID",
        "POD_NAME",     "POD_NAMESPACE", "HOSTNAME",           "KUBERNETES_SERVICE_HOST",
        "NODE_RANK"};
    for (const RankVariables& variables : kRankVariables) {
      for (const std::string_view name :
           {variables.rank, variables.local_rank, variables.world_size, variables.local_size}) {
        if (!name.empty() && std::ranges::find(names, name) == names.end()) names.push_back(name);
      }
    }
    return names;
  }();
  return kNames;
}

Environment parse_environ(std::string_view text, const std::vector<std::string_view>& wanted) {
  Environment environment;
  while (!text.empty()) {
    const std::size_t end = text.find('\0');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    const std::size_t equals = line.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string_view name = line.substr(0, equals);
    if (std::ranges::find(wanted, name) == wanted.end()) continue;
    // getenv(3) gives the first of several.
    environment.try_emplace(std::string(name), clean_text(line.substr(equals + 1), kMaxValue));
  }
  return environment;
}

JobFacts job_facts(const std::vector<CgroupLine>& cgroup, const Environment& environment,
                   const std::vector<std::string>& command_line) {
  JobFacts facts;
  std::optional<FoundJob> found = job_of_cgroup(cgroup, environment);
  if (!found) found = job_of_environment(environment);
  if (found) {
    if (found->scheduler == "slurm") name_array_task(*found, environment, facts.allocation);
    facts.scheduler = found->scheduler;
    facts.job = JobId{clean_text(found->job, kMaxJob)};
    facts.step = clean_text(found->step, kMaxJob);
    facts.local_rank = found->local_rank;
  }
  const std::string_view title =
      command_line.empty() ? std::string_view{} : std::string_view(command_line.front());
  if (facts.scheduler.empty() && title.starts_with("ray::")) facts.scheduler = "ray";
  facts.launcher = is_launcher(environment, command_line);
  if (facts.launcher) {
    facts.local_rank.reset();
    return facts;
  }
  take_rank(environment, facts);
  if (!facts.rank) {
    facts.rank = rank_of_title(title);
    if (facts.rank) facts.rank_source = RankSource::title;
  }
  return facts;
}

}  // namespace dynolog
