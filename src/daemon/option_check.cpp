// Making the collectors for nobody, and looking at files.
#include "daemon/option_check.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "collectors/all_collectors.h"

namespace dynolog {

Status check_collector_options(const Options& options) {
  const CollectorWorld nobody{
      .root = {}, .read_counters = {}, .options = options.metrics.collectors};
  const auto made = make_collectors(nobody, options.metrics.disabled_collectors);
  if (!made) return std::unexpected(made.error());
  return {};
}

std::vector<std::string> what_is_missing(const Options& options) {
  const auto& json = options.metrics.json;
  if (!json.enabled || json.file.empty()) return {};
  std::string place = json.file;
  int wanted = W_OK;
  if (::access(place.c_str(), F_OK) != 0 && errno == ENOENT) {  // then it is to be made
    place = std::filesystem::path(place).parent_path().string();
    if (place.empty()) place = ".";
    wanted = W_OK | X_OK;
  }
  if (::access(place.c_str(), wanted) == 0) return {};
  const auto error = fail_errno(errno, place);
  return {fmt::format("--json_file={}: {}: as it is, the daemon runs without these lines",
                      json.file, error.error().message)};
}

}  // namespace dynolog
