// The rule for names is the daemon's too (base/path_template.h), so that files which lie side by
// side are called alike, whoever put them there.
#include "cli/brought_names.h"

#include <fmt/format.h>

#include <set>

#include "base/path_template.h"
#include "cli/received_file.h"

namespace dynolog {
namespace {

Result<std::string> name_of(const NamesAsked& asked, const rpc::PlannedTrace& planned) {
  const PathValues values{.rank = planned.rank,
                          .local_rank = planned.local_rank,
                          .host = asked.host,
                          .pid = planned.namespace_pid > 0 ? planned.namespace_pid : planned.pid,
                          .job = planned.job,
                          .time = asked.time};
  auto name = process_path(asked.pattern.empty() ? kDefaultName : asked.pattern, values);
  if (!name) return name;
  if (asked.snapshot) *name = snapshot_path(*name);
  if (const Status good = check_file_name(stored_name(*name, asked.gzip)); !good) {
    return std::unexpected(good.error());
  }
  return name;
}

}  // namespace

Result<std::map<std::int64_t, std::string>> brought_names(
    const NamesAsked& asked, const std::vector<rpc::PlannedTrace>& planned) {
  std::map<std::int64_t, std::string> names;
  std::map<std::string, int> uses;
  std::set<std::string> taken;
  for (const rpc::PlannedTrace& each : planned) {
    auto name = name_of(asked, each);
    if (!name) return std::unexpected(name.error());
    ++uses[*name];
    names[each.pid] = std::move(*name);
  }
  for (auto& [pid, name] : names) {
    if (uses[name] > 1) name = with_insertion(name, std::to_string(pid));
    // Jobs choose some of the values, so that even this may be somebody's name already.
    while (!taken.insert(name).second) name = with_insertion(name, std::to_string(pid));
  }
  return names;
}

}  // namespace dynolog
