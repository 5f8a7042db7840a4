// Control groups of both versions: where they are, which of them are jobs, and what their files
// say. Reads; pure parsers of the texts are below.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dynolog {

// What a control group is for.
enum class CgroupKind : std::uint8_t { slice, slurm_job, slurm_step, slurm_task, pod };
[[nodiscard]] std::string_view to_string(CgroupKind kind);

// One that counts, as its path below a hierarchy says. Views are parts of the path.
struct CgroupPlace {
  CgroupKind kind = CgroupKind::slice;
  std::string_view path;  // "/system.slice/slurmstepd.scope/job_7/step_0"
  std::string_view job;   // "7"; of a pod its uid, as the path has it
  std::string_view step;  // "0", "batch", "extern"
  std::string_view task;
};

// What a path is: Slurm's .../job_J[/step_S[/user]/task_T], and Kubernetes' pods, as runtimes name
// them ("/kubepods/burstable/podUID", "kubepods-burstable-podUID.slice"). nullopt: none of these,
// or what lies between or below them.
[[nodiscard]] std::optional<CgroupPlace> cgroup_place(std::string_view path);

// What the hierarchies are mounted as.
struct CgroupLayout {
  bool unified = false;  // version 2 for everything
  // Directories below /sys/fs/cgroup, "" where there is none. Version 2 has one for all.
  std::string cpu{};
  std::string cpuacct{};
  std::string memory{};
  std::string io{};
  std::string pids{};
  std::string pressure{};  // always of version 2
};
// `sys`: "/sys". nullopt: there are no control groups.
[[nodiscard]] std::optional<CgroupLayout> find_cgroups(const std::string& sys);

inline constexpr std::size_t kMaxCgroups = 1024;

// Goes through the groups that count: the slices that are named, Slurm's jobs with their steps and
// tasks, and Kubernetes' pods. The steady state allocates nothing.
class CgroupWalk {
 public:
  // `top`: of one hierarchy.
  CgroupWalk(std::string top, std::vector<std::string> slices)
      : top_(std::move(top)), slices_(std::move(slices)) {}

  using Visit = std::function<void(const CgroupPlace&)>;
  void for_each(const Visit& visit);
  // Of the last walk: those that were left out.
  [[nodiscard]] std::size_t left_out() const {
    return found_ > kMaxCgroups ? found_ - kMaxCgroups : 0;
  }

 private:
  using NameVisit = std::function<void(std::string_view name)>;
  // Calls `visit` for each directory in top_ + path_, while path_ names it.
  void for_each_child(const NameVisit& visit);
  void enter(std::string_view name, const std::function<void()>& inside);
  void walk_slices();
  void walk_slurm();
  void walk_jobs();
  void walk_pods();
  void take(const CgroupPlace& place);

  std::string top_;
  std::vector<std::string> slices_;
  std::string path_;
  std::string directory_;
  const Visit* visit_ = nullptr;  // during for_each()
  std::size_t found_ = 0;
};

// "max", or what version 1 says instead: no limit.
[[nodiscard]] std::optional<double> cgroup_limit(std::string_view text);

// cpu.max: "200000 100000" are two cores; nullopt: no limit.
[[nodiscard]] std::optional<double> cgroup_cpu_limit(std::string_view text);

struct CgroupIo {
  std::uint64_t read_bytes = 0;
  std::uint64_t written_bytes = 0;
  std::uint64_t reads = 0;
  std::uint64_t writes = 0;
};
// io.stat: "8:0 rbytes=1 wbytes=2 rios=3 wios=4 ..." of each device, added up.
[[nodiscard]] CgroupIo parse_cgroup_io(std::string_view text);

struct BlkioSums {
  std::uint64_t reads = 0;
  std::uint64_t writes = 0;
};
// blkio.throttle.*: "8:0 Read 1" of each device, added up.
[[nodiscard]] BlkioSums parse_blkio(std::string_view text);

}  // namespace dynolog
