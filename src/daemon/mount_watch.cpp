// Telling changes of mounts.
#include "daemon/mount_watch.h"

#include <fmt/format.h>

#include "base/text.h"

namespace dynolog {
namespace {

constexpr std::size_t kMaxShown = 4;
constexpr std::size_t kMaxPoint = 256;

std::string sentence(const std::set<std::string>& hung) {
  if (hung.empty()) return "";
  std::string names;
  std::size_t shown = 0;
  for (const std::string& point : hung) {
    if (++shown > kMaxShown) break;
    names += (names.empty() ? "" : ", ") + point;
  }
  if (hung.size() > kMaxShown) names += fmt::format(" and {} more", hung.size() - kMaxShown);
  return fmt::format("no figures of {}, which {} not answer: is the server up?", names,
                     hung.size() == 1 ? "does" : "do");
}

}  // namespace

void MountWatch::look_at(const Result<std::vector<MountUsage>>& mounts) {
  std::set<std::string> hung;
  std::string reason;
  if (mounts) {
    for (const MountUsage& usage : *mounts) {
      if (usage.state == MountState::hangs) {
        hung.insert(clean_text(usage.mount.mount_point, kMaxPoint));
      }
    }
    for (const std::string& point : hung) {
      if (!hung_.contains(point)) log_.warning("mount {} does not answer", point);
    }
    for (const std::string& point : hung_) {
      if (!hung.contains(point)) log_.info("mount {} answers again, or is gone", point);
    }
    hung_ = hung;
    reason = sentence(hung_);
  } else {
    reason = "mounts cannot be looked at: " + mounts.error().message;
  }
  if (reason == shown_) return;
  shown_ = reason;
  report_(reason.empty() ? "ok" : "degraded", reason);
}

}  // namespace dynolog
