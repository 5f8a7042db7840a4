// Looking for Kineto's names in the library's bytes, a block at a time.
#include "workers/torch_probe.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "artifacts/in_root.h"
#include "base/file.h"
#include "base/number.h"
#include "base/text.h"

namespace dynolog {
namespace {

using namespace std::string_view_literals;

constexpr std::size_t kBlock = 1U << 20U;
constexpr std::uint64_t kMaxLibrary = 8ULL << 30U;
constexpr std::size_t kMaxText = 64U << 10U;
constexpr std::size_t kMaxVersion = 64;

// Each with its terminating NUL, so that a longer name does not match. The memory snapshot is told
// by its second key: PROFILE_MEMORY alone is also the end of the older PROFILE_PROFILE_MEMORY.
constexpr std::array<std::string_view, 5> kNames = {
    "KINETO_ONDEMAND_TRACE_DIR\0"sv, "REQUEST_TRACE_ID\0"sv, "PROFILE_MEMORY_DURATION_MSECS\0"sv,
    "PROFILE_WITH_MODULES\0"sv, "PROFILE_WITH_STACK\0"sv};
enum Name : std::size_t { ondemand_trace_dir, trace_id, memory_snapshot, modules, stacks };
using Found = std::array<bool, kNames.size()>;

std::size_t longest_name() {
  std::size_t longest = 0;
  for (const auto name : kNames) longest = std::max(longest, name.size());
  return longest;
}

bool all(const Found& found) {
  return std::ranges::all_of(found, [](bool one) { return one; });
}

void search(std::string_view block, Found& found) {
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (found[i]) continue;
    found[i] = ::memmem(block.data(), block.size(), kNames[i].data(), kNames[i].size()) != nullptr;
  }
}

Result<Found> search_file(int fd) {
  Found found{};
  const std::size_t overlap = longest_name() - 1;
  std::string block(overlap + kBlock, '\0');
  std::size_t kept = 0;  // the end of the last block, at the beginning of this one
  std::uint64_t total = 0;
  while (!all(found) && total <= kMaxLibrary) {
    const ssize_t got = ::read(fd, block.data() + kept, kBlock);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail_errno(errno, "reading the library");
    if (got == 0) break;
    const std::size_t size = kept + static_cast<std::size_t>(got);
    total += static_cast<std::uint64_t>(got);
    search(std::string_view(block.data(), size), found);
    kept = std::min(overlap, size);
    std::memmove(block.data(), block.data() + size - kept, kept);
  }
  return found;
}

// ".../torch/lib/libtorch_cpu.so" -> ".../torch/version.py".
std::string version_file_of(std::string_view library) {
  for (int levels = 0; levels < 2; ++levels) {
    const std::size_t slash = library.rfind('/');
    if (slash == std::string_view::npos) return {};
    library = library.substr(0, slash);
  }
  return std::string(library) + "/version.py";
}

Result<std::string> text_in_root(int root, const std::string& path) {
  auto fd = open_regular_in_root(root, path);
  if (!fd) return std::unexpected(std::move(fd.error()));
  return read_all(fd->get(), kMaxText);
}

void probe_configuration(int root, const std::string& kineto_config, TorchFacts& facts) {
  const std::string path = kineto_config.empty() ? "/etc/libkineto.conf" : kineto_config;
  const auto text = text_in_root(root, path);
  if (!text || text->empty()) return;
  facts.has_base_configuration = true;
  facts.poll_interval_s = poll_interval_in(*text);
}

}  // namespace

std::string torch_version_in(std::string_view version_py) {
  for (std::string_view line : split(version_py, '\n')) {
    line = trim(line);
    constexpr std::string_view kName = "__version__";
    if (!line.starts_with(kName)) continue;
    line = trim(line.substr(kName.size()));
    if (!line.starts_with('=')) continue;
    line = trim(line.substr(1));
    if (line.size() < 2 || (line.front() != '\'' && line.front() != '"')) continue;
    const std::size_t end = line.find(line.front(), 1);
    if (end == std::string_view::npos) continue;
    return clean_text(line.substr(1, end - 1), kMaxVersion);
  }
  return {};
}

int poll_interval_in(std::string_view kineto_config) {
  int interval = 0;
  for (std::string_view line : split(kineto_config, '\n')) {
    line = line.substr(0, line.find('#'));
    const std::size_t equals = line.find('=');
    if (equals == std::string_view::npos) continue;
    if (trim(line.substr(0, equals)) != "ON_DEMAND_CONFIG_UPDATE_INTERVAL_SECS") continue;
    const auto value = parse_number<int>(trim(line.substr(equals + 1)));
    if (value && *value > 0) interval = *value;
  }
  return interval;
}

Result<TorchFacts> probe_torch(int root, const std::string& library,
                               const std::string& kineto_config) {
  TorchFacts facts;
  probe_configuration(root, kineto_config, facts);
  if (library.empty()) return facts;
  if (const auto text = text_in_root(root, version_file_of(library))) {
    facts.version = torch_version_in(*text);
  }
  auto fd = open_regular_in_root(root, library);
  if (!fd) return std::unexpected(std::move(fd.error()));
  const auto found = search_file(fd->get());
  if (!found) return std::unexpected(found.error());
  facts.knows_ondemand_trace_dir = (*found)[ondemand_trace_dir];
  facts.knows_trace_id = (*found)[trace_id];
  facts.knows_memory_snapshot = (*found)[memory_snapshot];
  facts.knows_modules_and_stacks = (*found)[modules] && (*found)[stacks];
  return facts;
}

Result<std::string> torch_library_id(int root, const std::string& library) {
  auto fd = open_in_root(root, library, O_PATH);
  if (!fd) return std::unexpected(std::move(fd.error()));
  struct stat status{};
  if (::fstat(fd->get(), &status) != 0) return fail_errno(errno, library);
  return fmt::format("{}:{}:{}.{}:{}", status.st_dev, status.st_ino, status.st_mtim.tv_sec,
                     status.st_mtim.tv_nsec, status.st_size);
}

}  // namespace dynolog
