// Nothing counts before everything was found good.
#include "daemon/reload.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

namespace dynolog {
namespace {

std::vector<std::string> names_of(const std::vector<const OptionRow*>& rows) {
  std::vector<std::string> names;
  for (const OptionRow* row : rows) names.emplace_back(row->name);
  return names;
}

}  // namespace

ConfigurationReload::ConfigurationReload(World world, Options started)
    : world_(std::move(world)), started_(std::move(started)), options_(started_) {}

std::string text_of(const ReloadReport& report) {
  if (!report.taken) return "the last reload was refused: " + report.problem;
  std::vector<std::string> parts;
  if (!report.at_once.empty()) {
    parts.push_back(fmt::format("changed at once: {}", fmt::join(report.at_once, ", ")));
  }
  if (!report.next_start.empty()) {
    parts.push_back(
        fmt::format("count from the next start: {}", fmt::join(report.next_start, ", ")));
  }
  return parts.empty() ? "nothing changed" : fmt::format("{}", fmt::join(parts, "; "));
}

ReloadReport ConfigurationReload::run() {
  ReloadReport report = reload();
  if (report.taken) {
    world_.log.info("SIGHUP: configuration read anew; {}", text_of(report));
  } else {
    world_.log.error("SIGHUP: the configuration is not taken, all is as it was: {}",
                     report.problem);
  }
  return report;
}

ReloadReport ConfigurationReload::reload() {
  ReloadReport report;
  auto fresh = world_.read();
  if (!fresh) {
    report.problem = fresh.error().message;
    return report;
  }
  for (const std::string& warning : fresh->warnings) world_.log.warning("{}", warning);
  const auto at_once = changed_options(options_, fresh->options, Reload::at_once);
  if (auto taken = world_.take_up(options_, fresh->options, at_once); !taken) {
    report.problem = taken.error().message;
    return report;
  }
  report.taken = true;
  report.at_once = names_of(at_once);
  report.next_start = names_of(changed_options(started_, fresh->options, Reload::next_start));
  options_ = std::move(fresh->options);
  return report;
}

}  // namespace dynolog
