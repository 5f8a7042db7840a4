// Looking at files.
#include "daemon/place_check.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "base/error.h"

namespace dynolog {

std::vector<std::string> what_is_missing(const CommandLine& command) {
  const auto& json = command.options.metrics.json;
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
  return {fmt::format("{}: {}: as it is, the daemon runs without these lines",
                      command.as_given("json_file"), error.error().message)};
}

}  // namespace dynolog
