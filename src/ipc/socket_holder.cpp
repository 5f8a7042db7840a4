// /proc/net/unix gives a name's inodes, /proc/<pid>/fd who holds them.
#include "ipc/socket_holder.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <system_error>
#include <utility>

#include "base/file.h"
#include "base/number.h"
#include "base/text.h"

namespace dynolog {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxTable = 64U << 20U;
constexpr std::size_t kMaxComm = 64;

// "socket:[inode]" of each socket bound to the name.
std::set<std::string> links_of_name(const SystemRoot& root, std::string_view name) {
  std::set<std::string> links;
  // The table shows each NUL of an abstract name as '@'.
  std::string shown(name);
  std::ranges::replace(shown, '\0', '@');
  const auto table = read_file(root.proc + "/net/unix", kMaxTable);
  if (!table) return links;
  for (const std::string_view line : split(*table, '\n')) {
    // Num RefCount Protocol Flags Type St Inode Path, where the path may hold spaces.
    if (!line.ends_with(shown)) continue;
    const std::string_view head = line.substr(0, line.size() - shown.size());
    if (!head.ends_with(' ')) continue;
    const std::string_view front = trim(head);
    const std::string_view inode = front.substr(front.rfind(' ') + 1);
    if (parse_number<std::uint64_t>(inode)) links.insert(fmt::format("socket:[{}]", inode));
  }
  return links;
}

bool holds_any(const fs::path& process, const std::set<std::string>& links) {
  std::error_code error;
  fs::directory_iterator at(process / "fd", error);
  for (; !error && at != fs::directory_iterator(); at.increment(error)) {
    std::error_code unreadable;
    if (links.contains(fs::read_symlink(at->path(), unreadable).string())) return true;
  }
  return false;
}

std::string holder_of_links(const SystemRoot& root, const std::set<std::string>& links) {
  constexpr auto kUnseen = "a process that cannot be seen from here";
  if (links.empty()) return kUnseen;
  std::error_code error;
  fs::directory_iterator at(root.proc, error);
  for (; !error && at != fs::directory_iterator(); at.increment(error)) {
    const std::string pid = at->path().filename().string();
    if (!parse_number<std::int32_t>(pid) || !holds_any(at->path(), links)) continue;
    const auto comm = read_file((at->path() / "comm").string(), kMaxComm);
    if (!comm) return fmt::format("process {}", pid);
    return fmt::format("process {} ({})", pid, clean_text(trim(*comm), kMaxComm));
  }
  return kUnseen;
}

}  // namespace

const std::string& NameHolder::find(const SystemRoot& root, std::string_view name) {
  auto links = links_of_name(root, name);
  if (answer_.empty() || links != links_) {
    answer_ = holder_of_links(root, links);
    links_ = std::move(links);
  }
  return answer_;
}

}  // namespace dynolog
