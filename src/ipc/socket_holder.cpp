// /proc/net/unix gives a name's inodes, /proc/<pid>/fd who holds them.
#include "ipc/socket_holder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/file.h"
#include "base/number.h"
#include "base/text.h"
#include "base/unique_fd.h"
#include "net/unix_table.h"

namespace dynolog {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxComm = 64;
// A daemon has fewer; who has more may mean to keep us looking.
constexpr int kMaxDescriptors = 4096;

// nullopt: the table is too long to be read in time, or cannot be read.
std::optional<std::set<std::string>> links_of_name(const SystemRoot& root, std::string_view name,
                                                   const Clock& clock, MonotonicTime deadline) {
  // The table shows each NUL of an abstract name as '@'.
  std::string shown(name);
  std::ranges::replace(shown, '\0', '@');
  const UniqueFd table(::open((root.proc + "/net/unix").c_str(), O_RDONLY | O_CLOEXEC));
  if (!table.valid()) return std::nullopt;
  std::set<std::string> links;
  std::string rest;
  std::array<char, 16384> chunk{};
  while (clock.monotonic() < deadline) {
    const ssize_t got = ::read(table.get(), chunk.data(), chunk.size());
    if (got < 0) return std::nullopt;
    if (got == 0) return links;
    rest.append(chunk.data(), static_cast<std::size_t>(got));
    std::size_t start = 0;
    for (std::size_t end = 0; (end = rest.find('\n', start)) != std::string::npos;
         start = end + 1) {
      const auto line = parse_unix_table_line(std::string_view(rest).substr(start, end - start));
      if (line && line->path == shown) links.insert(fmt::format("socket:[{}]", line->inode));
    }
    rest.erase(0, start);
  }
  return std::nullopt;
}

// nullopt: not known by the deadline.
std::optional<bool> holds_any(const fs::path& process, const std::set<std::string>& links,
                              const Clock& clock, MonotonicTime deadline) {
  std::error_code error;
  fs::directory_iterator at(process / "fd", error);
  for (int i = 0; !error && at != fs::directory_iterator(); at.increment(error), ++i) {
    if (i >= kMaxDescriptors) return false;
    if (clock.monotonic() >= deadline) return std::nullopt;
    std::error_code unreadable;
    if (links.contains(fs::read_symlink(at->path(), unreadable).string())) return true;
  }
  return false;
}

std::string describe(const fs::path& process) {
  const std::string pid = process.filename().string();
  const auto comm = read_file((process / "comm").string(), kMaxComm);
  if (!comm) return fmt::format("process {}", pid);
  return fmt::format("process {} ({})", pid, clean_text(trim(*comm), kMaxComm));
}

}  // namespace

const std::string& NameHolder::find(const SystemRoot& root, std::string_view name) {
  const MonotonicTime now = clock_.monotonic();
  if (looked_ && now - *looked_ < kBetween) return answer_;
  const MonotonicTime deadline = now + (looked_ ? kBudget : kFirstBudget);
  looked_ = now;
  auto links = links_of_name(root, name, clock_, deadline);
  if (!links || *links != links_) {
    found_ = false;
    next_pid_ = 0;
    links_ = std::move(links).value_or(std::set<std::string>{});
    answer_ = "a process that cannot be seen from here";
  }
  if (!found_ && !links_.empty()) search(root, deadline);
  return answer_;
}

void NameHolder::search(const SystemRoot& root, MonotonicTime deadline) {
  std::error_code error;
  // Pids come in ascending order.
  fs::directory_iterator at(root.proc, error);
  for (; !error && at != fs::directory_iterator(); at.increment(error)) {
    const auto pid = parse_number<std::int32_t>(at->path().filename().string());
    if (!pid || *pid < next_pid_) continue;
    const auto holds = holds_any(at->path(), links_, clock_, deadline);
    if (!holds) {
      // Not the same one again first, should it take all of the time.
      next_pid_ = next_pid_ == *pid ? *pid + 1 : *pid;
      return;
    }
    if (!*holds) continue;
    found_ = true;
    answer_ = describe(at->path());
    return;
  }
  next_pid_ = 0;
}

}  // namespace dynolog
