// Mount tables.
#include "kernel/mounts.h"

#include <sys/vfs.h>

#include <algorithm>
#include <cerrno>
#include <unordered_map>
#include <unordered_set>

#include "kernel/scan.h"

namespace dynolog {
namespace {

constexpr bool is_octal(char letter) { return letter >= '0' && letter <= '7'; }

bool has_option(std::string_view options, std::string_view wanted) {
  while (!options.empty()) {
    const std::size_t comma = options.find(',');
    if (options.substr(0, comma) == wanted) return true;
    options.remove_prefix(comma == std::string_view::npos ? options.size() : comma + 1);
  }
  return false;
}

// id parent major:minor root mount_point options [optional ...] - type device super_options
bool parse_line(std::string_view line, Mount& mount) {
  const auto id = take_count(line);
  const auto parent = take_count(line);
  (void)take_word(line);
  (void)take_word(line);
  const std::string_view point = take_word(line);
  const std::string_view options = take_word(line);
  if (!id || !parent || options.empty()) return false;
  for (auto word = take_word(line); word != "-"; word = take_word(line)) {
    if (word.empty()) return false;
  }
  const std::string_view type = take_word(line);
  const std::string_view device = take_word(line);
  if (device.empty()) return false;
  mount.id = *id;
  mount.parent = *parent;
  mount.mount_point = decode_mount_text(point);
  mount.type = decode_mount_text(type);
  mount.device = decode_mount_text(device);
  mount.read_only = has_option(options, "ro") || has_option(take_word(line), "ro");
  return true;
}

bool is_below(std::string_view path, std::string_view top) {
  if (top == "/") return path.size() > 1;
  return path.size() > top.size() && path.starts_with(top) && path[top.size()] == '/';
}

class Reachable {
 public:
  explicit Reachable(const std::vector<Mount>& mounts) : mounts_(mounts) {
    for (std::size_t i = 0; i < mounts.size(); ++i) {
      children_[mounts[i].parent].push_back(i);
      by_id_.emplace(mounts[i].id, i);
    }
  }

  std::vector<bool> find() {
    std::vector<bool> shown(mounts_.size());
    for (std::size_t i = 0; i < mounts_.size(); ++i) {
      if (!by_id_.contains(mounts_[i].parent) || mounts_[i].parent == mounts_[i].id) visit(i);
    }
    for (const std::size_t i : reached_) shown[i] = !is_covered(i);
    return shown;
  }

 private:
  // A table that says of two mounts that each lies in the other ends here, too.
  void visit(std::size_t top) {
    std::vector<std::size_t> open = {top};
    while (!open.empty()) {
      const std::size_t i = open.back();
      open.pop_back();
      if (!reached_.insert(i).second) continue;
      const auto below = children_.find(mounts_[i].id);
      if (below == children_.end()) continue;
      for (const std::size_t child : below->second) {
        if (!is_hidden(child, below->second)) open.push_back(child);
      }
    }
  }

  // Another one lies over a directory on the way to it.
  [[nodiscard]] bool is_hidden(std::size_t which, const std::vector<std::size_t>& beside) const {
    return std::ranges::any_of(beside, [&](std::size_t other) {
      const bool is_top = mounts_[other].id == mounts_[other].parent;  // it lies in itself
      return !is_top && is_below(mounts_[which].mount_point, mounts_[other].mount_point);
    });
  }

  // Another one lies over its own top.
  [[nodiscard]] bool is_covered(std::size_t which) const {
    const auto below = children_.find(mounts_[which].id);
    if (below == children_.end()) return false;
    return std::ranges::any_of(below->second, [&](std::size_t child) {
      return child != which && mounts_[child].mount_point == mounts_[which].mount_point;
    });
  }

  const std::vector<Mount>& mounts_;
  std::unordered_map<std::uint64_t, std::vector<std::size_t>> children_;
  std::unordered_map<std::uint64_t, std::size_t> by_id_;
  std::unordered_set<std::size_t> reached_;
};

}  // namespace

std::string decode_mount_text(std::string_view text) {
  std::string decoded;
  decoded.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool escape = text[i] == '\\' && i + 3 < text.size() && text[i + 1] <= '3' &&
                        is_octal(text[i + 1]) && is_octal(text[i + 2]) && is_octal(text[i + 3]);
    if (!escape) {
      decoded += text[i];
      continue;
    }
    decoded +=
        static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0'));
    i += 3;
  }
  return decoded;
}

std::vector<Mount> parse_mountinfo(std::string_view text) {
  std::vector<Mount> mounts;
  std::string_view line;
  while (mounts.size() < kMaxMounts && take_line(text, line)) {
    Mount mount;
    if (parse_line(line, mount)) mounts.push_back(std::move(mount));
  }
  return mounts;
}

std::vector<Mount> reachable_mounts(std::vector<Mount> mounts) {
  const std::vector<bool> shown = Reachable(mounts).find();
  std::vector<Mount> left;
  for (std::size_t i = 0; i < mounts.size(); ++i) {
    if (shown[i]) left.push_back(std::move(mounts[i]));
  }
  return left;
}

Result<MountRoom> read_mount_room(const std::string& mount_point) {
  struct statfs room{};
  int result = 0;
  do {
    result = ::statfs(mount_point.c_str(), &room);
  } while (result != 0 && errno == EINTR);
  if (result != 0) return fail_errno(errno, "statfs");
  const auto block = static_cast<std::uint64_t>(room.f_bsize);
  return MountRoom{.size = room.f_blocks * block,
                   .free = room.f_bfree * block,
                   .available = room.f_bavail * block,
                   .files = room.f_files,
                   .files_free = room.f_ffree};
}

}  // namespace dynolog
