// The rules for finding a daemon, and for not believing in somebody else's.
#include "cli/endpoint.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include "rpc/protocol/messages.h"

namespace dynolog {
namespace {

constexpr const char* kSocketName = "/dynolog.sock";

Endpoint unix_endpoint(const std::string& directory, bool is_private) {
  return {directory + kSocketName, is_private ? directory : "", "", 0};
}

}  // namespace

bool Endpoint::is_local() const {
  return !is_tcp() || host == "localhost" || host == "::1" || host.starts_with("127.");
}

std::string Endpoint::text() const {
  if (!is_tcp()) return unix_path;
  const bool v6 = host.find(':') != std::string::npos;
  return v6 ? fmt::format("[{}]:{}", host, port) : fmt::format("{}:{}", host, port);
}

std::vector<Endpoint> endpoints(const GlobalOptions& options, const World& world) {
  if (options.hostname || options.port) {
    return {
        {"", "", options.hostname.value_or("localhost"), options.port.value_or(rpc::kDefaultPort)}};
  }
  if (options.run_dir) return {unix_endpoint(*options.run_dir, false)};
  std::vector<Endpoint> found;
  if (world.uid != 0) {
    const auto runtime = world.environment("XDG_RUNTIME_DIR");
    if (runtime && !runtime->empty()) found.push_back(unix_endpoint(*runtime + "/dynolog", true));
    found.push_back(
        unix_endpoint(fmt::format("{}/dynolog-{}", world.temporary_dir, world.uid), true));
  }
  found.push_back(unix_endpoint(world.system_run_dir, false));
  return found;
}

Status endpoint_problem(const Endpoint& endpoint, std::uint32_t uid) {
  if (endpoint.private_root.empty()) return {};
  struct stat info{};
  if (lstat(endpoint.private_root.c_str(), &info) != 0) {
    return fail_errno(errno, endpoint.private_root);
  }
  if (!S_ISDIR(info.st_mode) || info.st_uid != uid || (info.st_mode & 0077U) != 0) {
    return fail(ErrorKind::denied,
                endpoint.private_root + ": not a directory of yours with mode 0700: not trusted");
  }
  return {};
}

}  // namespace dynolog
