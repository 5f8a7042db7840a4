// /proc/<pid>/status, stat, cgroup, maps and environ, and what is made of them.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "kernel/proc_pid.h"
#include "processes/identity.h"
#include "processes/job_facts.h"

namespace {

using namespace dynolog;

void require(bool holds) {
  if (!holds) std::abort();
}

bool is_clean(const std::string& text) { return clean_text(text, text.size() + 3) == text; }

void check_job(const JobFacts& facts) {
  require(is_clean(facts.job.value) && facts.job.value.size() <= 256);
  require(is_clean(facts.step) && facts.step.size() <= 256);
  require(facts.rank.value_or(0) >= 0);
  require(!facts.world_size || (facts.rank && *facts.rank < *facts.world_size));
  require(!facts.local_world_size || facts.rank);
  require(!facts.local_world_size || !facts.world_size ||
          *facts.local_world_size <= *facts.world_size);
  require(!facts.launcher || (!facts.rank && !facts.launched));
}

void check_maps(std::string_view text) {
  for (const std::string_view line : split(text, '\n')) {
    const MapsLine maps = parse_maps_line(line);
    require(line.find(maps.address) != std::string_view::npos);
    require(maps.path.empty() || maps.path.starts_with('/'));
    require(maps.path.empty() || maps.path.data() + maps.path.size() <= line.data() + line.size());
    require(maps.file_name().find('/') == std::string_view::npos);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto status = parse_proc_pid_status(text)) require(!status->namespace_pids.empty());
  (void)parse_proc_pid_stat(text);
  check_maps(text);
  const std::vector<CgroupLine> cgroup = parse_proc_pid_cgroup(text);
  const std::string container = container_of(cgroup);
  require(is_clean(container) && container.size() <= kMaxContainerIdentity);
  const Environment environment = parse_environ(text, job_environment_variables());
  for (const auto& [name, value] : environment) require(is_clean(value));
  std::vector<std::string> words;
  for (const std::string_view word : split(text.substr(0, 4096), '\0')) words.emplace_back(word);
  check_job(job_facts(cgroup, environment, words));
  return 0;
}
