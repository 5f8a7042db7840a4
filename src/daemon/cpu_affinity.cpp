// --cpu_list, by sched_setaffinity().
#include "daemon/cpu_affinity.h"

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/cpu_set.h"

namespace dynolog {
namespace {

struct SetFree {
  void operator()(cpu_set_t* set) const { CPU_FREE(set); }
};

Result<std::vector<std::uint32_t>> cpus_of(std::string_view list) {
  auto cpus = parse_cpu_set(list);
  if (!cpus) return cpus;
  const long there = ::sysconf(_SC_NPROCESSORS_CONF);
  if (there > 0 && cpus->back() >= static_cast<unsigned long>(there)) {
    return fail(ErrorKind::invalid,
                fmt::format("there is no CPU {}; this host has 0-{}", cpus->back(), there - 1));
  }
  return cpus;
}

}  // namespace

Status check_cpus(std::string_view list) {
  if (list.empty()) return {};
  const auto cpus = cpus_of(list);
  if (!cpus) return std::unexpected(cpus.error());
  return {};
}

Status keep_to_cpus(std::string_view list) {
  if (list.empty()) return {};
  const auto cpus = cpus_of(list);
  if (!cpus) return std::unexpected(cpus.error());
  const std::unique_ptr<cpu_set_t, SetFree> set(CPU_ALLOC(kMaxCpus));
  if (!set) return fail_errno(ENOMEM, "keeping to these CPUs");
  const std::size_t size = CPU_ALLOC_SIZE(kMaxCpus);
  CPU_ZERO_S(size, set.get());
  for (const std::uint32_t cpu : *cpus) CPU_SET_S(cpu, size, set.get());
  if (::sched_setaffinity(0, size, set.get()) == 0) return {};
  if (errno == EINVAL) {
    return fail(ErrorKind::invalid,
                "none of these CPUs is online and allowed to this process (its cpuset, or "
                "AllowedCPUs= of its unit)");
  }
  return fail_errno(errno, "keeping to these CPUs");
}

}  // namespace dynolog
