// Signs out of /proc and the cgroup file system.
#include "workers/process_signs_reader.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "base/text.h"
#include "kernel/proc_pid.h"
#include "processes/job_facts.h"

namespace dynolog {
namespace {

constexpr std::size_t kMaxMaps = 32U << 20U;
constexpr std::size_t kMaxEnvironment = 1U << 20U;
constexpr std::size_t kMaxCgroup = 64U << 10U;
constexpr std::size_t kMaxText = 256;
constexpr std::size_t kMaxPath = 4096;

// Nsight Systems, Nsight Compute and ROCm's tool, as they are put into a process. (CUPTI itself is
// part of PyTorch.)
bool is_profiler(std::string_view name) {
  constexpr std::array<std::string_view, 5> kBeginnings = {
      "libToolsInjection", "libcuda-injection", "libTreeLauncherTargetInjection",
      "libInterceptorInjectionTarget", "librocprofiler-sdk-tool"};
  return std::ranges::any_of(kBeginnings, [name](auto one) { return name.starts_with(one); });
}

// Each has another profiler loaded into the process.
constexpr std::array<std::string_view, 5> kProfilerVariables = {
    "CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH", "NSYS_PROFILING_SESSION_ID",
    "ROCP_TOOL_LIBRARIES", "HSA_TOOLS_LIB"};

std::optional<std::string> value_of(const Environment& environment, const char* name) {
  const auto found = environment.find(name);
  if (found == environment.end()) return std::nullopt;
  return clean_text(found->second, kMaxText);
}

std::size_t count_variables(std::string_view text) {
  std::size_t count = 0;
  for (const std::string_view line : split(text, '\0')) {
    const std::size_t equals = line.find('=');
    if (equals != std::string_view::npos && equals > 0) ++count;
  }
  return count;
}

void read_environment(const ProcEntry& entry, ProcessSigns& signs) {
  const auto text = entry.read("environ", kMaxEnvironment);
  if (!text) return;
  signs.environment_variables = count_variables(*text);
  std::vector<std::string_view> wanted = {"KINETO_USE_DAEMON", "KINETO_LOG_LEVEL",
                                          "TEARDOWN_CUPTI"};
  wanted.insert(wanted.end(), kProfilerVariables.begin(), kProfilerVariables.end());
  const Environment environment = parse_environ(*text, wanted);
  signs.use_daemon = value_of(environment, "KINETO_USE_DAEMON");
  signs.log_level = value_of(environment, "KINETO_LOG_LEVEL");
  signs.teardown_cupti = value_of(environment, "TEARDOWN_CUPTI");
  for (const std::string_view name : kProfilerVariables) {
    const auto found = environment.find(std::string(name));
    if (found == environment.end() || found->second.empty()) continue;
    signs.profiler_variable = name;
    return;
  }
}

bool has_line(const std::string& path, std::string_view wanted) {
  const auto text = read_file(path, kMaxCgroup);
  if (!text) return false;
  const auto lines = split(*text, '\n');
  return std::ranges::find(lines, wanted) != lines.end();
}

bool is_frozen(const SystemRoot& root, const ProcEntry& entry) {
  const auto text = entry.read("cgroup", kMaxCgroup);
  if (!text) return false;
  return std::ranges::any_of(parse_proc_pid_cgroup(*text), [&](const CgroupLine& line) {
    if (line.path.find("/..") != std::string::npos) return false;  // beyond what is mounted here
    if (line.hierarchy == 0) {
      return has_line(root.sys + "/fs/cgroup" + line.path + "/cgroup.events", "frozen 1");
    }
    return line.controllers == "freezer" &&
           has_line(root.sys + "/fs/cgroup/freezer" + line.path + "/freezer.state", "FROZEN");
  });
}

}  // namespace

MappedFiles read_mapped_files(const ProcEntry& entry) {
  MappedFiles files;
  std::string python_address;
  // Of one with more lines than are looked at, those decide.
  const Status read = entry.each_line("maps", kMaxMaps, [&](std::string_view line) {
    const MapsLine mapped = parse_maps_line(line);
    const std::string_view name = mapped.file_name();
    if (name == "libtorch_cpu.so" && files.torch_address.empty()) {
      files.torch_address = clean_text(mapped.address, kMaxText);
    } else if (name == "libtorch_python.so" && python_address.empty()) {
      python_address = clean_text(mapped.address, kMaxText);
    } else if (name == "libtorch_cuda.so" || name == "libtorch_hip.so") {
      files.gpu_torch = true;
    } else if (files.profiler_library.empty() && is_profiler(name)) {
      files.profiler_library = clean_text(name, kMaxText);
    }
    return true;
  });
  files.refused = !read && read.error().kind == ErrorKind::denied;
  if (files.torch_address.empty()) files.torch_address = python_address;
  return files;
}

ProcessSigns read_process_signs(const SystemRoot& root, const ProcEntry& entry,
                                const MappedFiles& mapped) {
  ProcessSigns signs;
  signs.network_namespace = clean_text(entry.read_link("ns/net").value_or(""), kMaxText);
  signs.executable = clean_text(entry.read_link("exe").value_or(""), kMaxPath);
  signs.torch_address = mapped.torch_address;
  signs.maps_gpu_torch = mapped.gpu_torch;
  signs.profiler_library = mapped.profiler_library;
  signs.frozen = is_frozen(root, entry);
  read_environment(entry, signs);
  return signs;
}

}  // namespace dynolog
