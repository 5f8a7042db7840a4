// Making the collectors for nobody, and looking at the host's CPUs.
#include "daemon/option_check.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "collectors/all_collectors.h"
#include "daemon/cpu_affinity.h"

namespace dynolog {
namespace {

Status at_option(Status status, const CommandLine& command, std::string_view option) {
  if (status) return status;
  return with_context(std::move(status.error()), command.as_given(option));
}

Status check_names(const CommandLine& command) {
  const MetricsOptions& metrics = command.options.metrics;
  const Status disabled = check_collector_names(metrics.disabled_collectors);
  if (!disabled) return at_option(disabled, command, "disabled_collectors");
  std::vector<std::string> timed;
  for (const auto& [name, interval] : metrics.collectors.intervals) timed.push_back(name);
  const Status intervals = check_collector_names(timed);
  if (!intervals) return at_option(intervals, command, "collector_interval");
  return {};
}

}  // namespace

Status check_host_options(const CommandLine& command) {
  if (auto good = check_names(command); !good) return good;
  return at_option(check_cpus(command.options.cpu_list), command, "cpu_list");
}

Status take_host_options(const CommandLine& command) {
  if (auto good = check_host_options(command); !good) return good;
  const MetricsOptions& metrics = command.options.metrics;
  const CollectorWorld nobody{.root = {}, .read_counters = {}, .options = metrics.collectors};
  const auto made = make_collectors(nobody, metrics.disabled_collectors);
  if (!made) return std::unexpected(made.error());
  return at_option(keep_to_cpus(command.options.cpu_list), command, "cpu_list");
}

}  // namespace dynolog
