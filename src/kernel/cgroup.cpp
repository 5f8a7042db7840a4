// Walking through control groups, and their files.
#include "kernel/cgroup.h"

#include <dirent.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>

#include "base/ascii.h"
#include "base/number.h"
#include "kernel/scan.h"

namespace dynolog {
namespace {

constexpr std::size_t kMaxDepth = 12;

// The last segments of a path, the last one first.
struct Segments {
  std::array<std::string_view, kMaxDepth> names;
  std::size_t count = 0;

  explicit Segments(std::string_view path) {
    while (!path.empty() && count < kMaxDepth) {
      const std::size_t slash = path.rfind('/');
      const std::string_view name = slash == std::string_view::npos ? path : path.substr(slash + 1);
      path = slash == std::string_view::npos ? std::string_view() : path.substr(0, slash);
      if (!name.empty()) names[count++] = name;
    }
  }
};

bool is_of_slurm(std::string_view name) {
  return name == "slurm" || name.starts_with("slurm_") || name.ends_with("slurmstepd.scope");
}

std::optional<CgroupPlace> slurm_place(std::string_view path, const Segments& segments) {
  CgroupPlace place{.kind = CgroupKind::slurm_job, .path = path, .job = {}, .step = {}, .task = {}};
  std::size_t at = 0;
  const auto take = [&](std::string_view prefix, std::string_view& value) {
    if (at >= segments.count || !segments.names[at].starts_with(prefix)) return false;
    value = segments.names[at++].substr(prefix.size());
    return !value.empty();
  };
  if (take("task_", place.task)) {
    place.kind = CgroupKind::slurm_task;
    if (at < segments.count && segments.names[at] == "user") ++at;
  }
  if (take("step_", place.step) && place.task.empty()) place.kind = CgroupKind::slurm_step;
  if (!take("job_", place.job) || !all_digits(place.job)) return std::nullopt;
  if (!place.task.empty() && place.step.empty()) return std::nullopt;
  for (; at < segments.count; ++at) {
    if (is_of_slurm(segments.names[at])) return place;
  }
  return std::nullopt;
}

// "pod1234", "kubepods-burstable-pod1234.slice", not "kubepods".
std::string_view pod_uid(std::string_view name) {
  constexpr std::size_t kLeast = 8;
  if (name.ends_with(".slice")) name.remove_suffix(6);
  const std::size_t at = name.starts_with("pod") ? 0 : name.rfind("-pod");
  if (at == std::string_view::npos) return {};
  const std::string_view uid = name.substr(at + (at == 0 ? 3 : 4));
  return uid.size() >= kLeast ? uid : std::string_view();
}

std::optional<CgroupPlace> pod_place(std::string_view path, const Segments& segments) {
  if (segments.count < 2) return std::nullopt;
  const std::string_view uid = pod_uid(segments.names[0]);
  const bool below = std::any_of(
      segments.names.begin() + 1, segments.names.begin() + static_cast<long>(segments.count),
      [](std::string_view name) { return name.starts_with("kubepods"); });
  if (uid.empty() || !below) return std::nullopt;
  return CgroupPlace{.kind = CgroupKind::pod, .path = path, .job = uid, .step = {}, .task = {}};
}

bool is_directory(const std::string& path) {
  struct stat status{};
  return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

bool exists(const std::string& path) {
  struct stat status{};
  return ::stat(path.c_str(), &status) == 0;
}

// Of version 1: its own directory, or one that it shares, as "cpu,cpuacct".
std::string controller_directory(const std::string& top, std::string_view name) {
  for (const std::string& directory :
       {top + "/" + std::string(name), top + "/cpu,cpuacct", top + "/cpuacct,cpu"}) {
    if (directory.find(name, top.size()) == std::string::npos) continue;
    if (is_directory(directory)) return directory;
  }
  return {};
}

}  // namespace

std::string_view to_string(CgroupKind kind) {
  constexpr std::array<std::string_view, 5> kNames = {"slice", "slurm_job", "slurm_step",
                                                      "slurm_task", "pod"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::optional<CgroupPlace> cgroup_place(std::string_view path) {
  const Segments segments(path);
  if (auto place = slurm_place(path, segments)) return place;
  return pod_place(path, segments);
}

std::optional<CgroupLayout> find_cgroups(const std::string& sys) {
  const std::string top = sys + "/fs/cgroup";
  if (exists(top + "/cgroup.controllers")) {
    return CgroupLayout{.unified = true,
                        .cpu = top,
                        .cpuacct = top,
                        .memory = top,
                        .io = top,
                        .pids = top,
                        .pressure = top};
  }
  CgroupLayout layout{
      .unified = false,
      .cpu = controller_directory(top, "cpu"),
      .cpuacct = controller_directory(top, "cpuacct"),
      .memory = controller_directory(top, "memory"),
      .io = controller_directory(top, "blkio"),
      .pids = controller_directory(top, "pids"),
      .pressure = exists(top + "/unified/cgroup.controllers") ? top + "/unified" : std::string()};
  if (layout.cpu.empty() && layout.cpuacct.empty() && layout.memory.empty()) return std::nullopt;
  return layout;
}

void CgroupWalk::for_each(const Visit& visit) {
  found_ = 0;
  path_.clear();
  visit_ = &visit;
  walk_slices();
  walk_slurm();
  walk_pods();
  visit_ = nullptr;
}

void CgroupWalk::take(const CgroupPlace& place) {
  if (++found_ <= kMaxCgroups) (*visit_)(place);
}

void CgroupWalk::enter(std::string_view name, const std::function<void()>& inside) {
  const std::size_t size = path_.size();
  path_ += '/';
  path_ += name;
  inside();
  path_.resize(size);
}

void CgroupWalk::for_each_child(const NameVisit& visit) {
  directory_ = top_;
  directory_ += path_;
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(::opendir(directory_.c_str()), &::closedir);
  if (!stream) return;
  while (const dirent* entry = ::readdir(stream.get())) {
    if (entry->d_name[0] == '.') continue;
    if (entry->d_type != DT_DIR && entry->d_type != DT_UNKNOWN) continue;
    enter(entry->d_name, [&] { visit(entry->d_name); });
  }
}

void CgroupWalk::walk_slices() {
  for (const std::string& slice : slices_) {
    enter(slice, [&] {
      directory_ = top_;
      directory_ += path_;
      if (!is_directory(directory_)) return;
      take({.kind = CgroupKind::slice, .path = path_, .job = slice, .step = {}, .task = {}});
    });
  }
}

void CgroupWalk::walk_slurm() {
  const auto visit = [this](std::string_view name) {
    if (!is_of_slurm(name)) return;
    for_each_child([this](std::string_view below) {
      if (below.starts_with("job_")) {
        walk_jobs();
      } else if (below.starts_with("uid_")) {
        for_each_child([this](std::string_view job) {
          if (job.starts_with("job_")) walk_jobs();
        });
      }
    });
  };
  for_each_child(visit);
  enter("system.slice", [&] { for_each_child(visit); });
}

// In a job's directory.
void CgroupWalk::walk_jobs() {
  const auto job = cgroup_place(path_);
  if (!job) return;
  take(*job);
  const auto take_task = [this](std::string_view name) {
    if (!name.starts_with("task_")) return;
    if (const auto task = cgroup_place(path_)) take(*task);
  };
  for_each_child([&](std::string_view name) {
    if (!name.starts_with("step_")) return;
    if (const auto step = cgroup_place(path_)) take(*step);
    for_each_child([&](std::string_view below) {
      take_task(below);
      if (below == "user") for_each_child(take_task);
    });
  });
}

void CgroupWalk::walk_pods() {
  const auto take_pod = [this](std::string_view) {
    const auto pod = cgroup_place(path_);
    if (pod) take(*pod);
    return pod.has_value();
  };
  for_each_child([&](std::string_view top) {
    if (!top.starts_with("kubepods")) return;
    for_each_child([&](std::string_view name) {
      if (take_pod(name)) return;
      const bool quality = name.ends_with("burstable") || name.ends_with("besteffort") ||
                           name.ends_with("burstable.slice") || name.ends_with("besteffort.slice");
      if (quality) for_each_child([&](std::string_view pod) { take_pod(pod); });
    });
  });
}

std::optional<double> cgroup_limit(std::string_view text) {
  // Version 1 says the largest multiple of a page that fits.
  constexpr double kUnlimited = 9.2e18;
  const auto value = single_value(text);
  if (!value || *value >= kUnlimited || *value < 0) return std::nullopt;
  return value;
}

std::optional<double> cgroup_cpu_limit(std::string_view text) {
  std::string_view line;
  if (!take_line(text, line)) return std::nullopt;
  const auto quota = take_count(line);
  const auto period = take_count(line);
  if (!quota || !period || *period == 0) return std::nullopt;
  return static_cast<double>(*quota) / static_cast<double>(*period);
}

CgroupIo parse_cgroup_io(std::string_view text) {
  CgroupIo sum;
  std::string_view line;
  while (take_line(text, line)) {
    for (auto word = take_word(line); !word.empty(); word = take_word(line)) {
      const std::size_t equals = word.find('=');
      if (equals == std::string_view::npos) continue;
      const auto value = parse_number<std::uint64_t>(word.substr(equals + 1));
      const std::string_view key = word.substr(0, equals);
      if (!value) continue;
      if (key == "rbytes") sum.read_bytes += *value;
      if (key == "wbytes") sum.written_bytes += *value;
      if (key == "rios") sum.reads += *value;
      if (key == "wios") sum.writes += *value;
    }
  }
  return sum;
}

BlkioSums parse_blkio(std::string_view text) {
  BlkioSums sums;
  std::string_view line;
  while (take_line(text, line)) {
    (void)take_word(line);
    const std::string_view kind = take_word(line);
    const auto value = take_count(line);
    if (!value) continue;
    if (kind == "Read") sums.reads += *value;
    if (kind == "Write") sums.writes += *value;
  }
  return sums;
}

}  // namespace dynolog
