// Collector `filesystem`.
#include "collectors/filesystem.h"

#include <string>
#include <utility>

#include "collectors/known_entries.h"

namespace dynolog {
namespace {

constexpr std::size_t kRoomMetrics = 5;
constexpr const MetricDescriptor& kDeviceError = kFilesystemMetrics[kRoomMetrics];
constexpr const MetricDescriptor& kReadonly = kFilesystemMetrics[kRoomMetrics + 1];
static_assert(kDeviceError.id == "filesystem.device_error" &&
              kReadonly.id == "filesystem.readonly");

class FilesystemCollector final : public Collector {
 public:
  explicit FilesystemCollector(std::shared_ptr<AskedFileSystems> asked)
      : answers_(std::move(asked)) {}

  [[nodiscard]] std::string_view name() const override { return "filesystem"; }
  [[nodiscard]] Tier tier() const override { return Tier::slow; }
  [[nodiscard]] bool has_news() const override { return answers_.has_news(); }

  [[nodiscard]] Status collect(Samples& out) override {
    const auto answer = answers_.take();
    if (!answer) return std::unexpected(answer.error());
    if (*answer == nullptr) return {};  // asked for a moment ago
    out.read_at((*answer)->time);
    entries_.begin();
    for (const MountUsage& usage : *(*answer)->value) emit(usage, out);
    entries_.finish([&](Entry& gone) {
      for (SeriesHandle& series : gone.room) out.close(series);
      out.close(gone.device_error);
      out.close(gone.readonly);
    });
    return {};
  }

 private:
  struct Entry {
    std::array<SeriesHandle, kRoomMetrics> room;
    SeriesHandle device_error;
    SeriesHandle readonly;
  };

  void emit(const MountUsage& usage, Samples& out) {
    key_ = usage.mount.device;
    key_ += '\n';
    key_ += usage.mount.type;
    const Entry* entry = entries_.next(EntryKey{usage.mount.mount_point, key_},
                                       [&] { return open(usage.mount, out); });
    if (entry == nullptr) return;
    out.set(entry->readonly, usage.mount.read_only ? 1 : 0);
    if (usage.state == MountState::read) {
      const MountRoom& room = usage.room;
      const std::array<std::uint64_t, kRoomMetrics> values = {room.size, room.free, room.available,
                                                              room.files, room.files_free};
      for (std::size_t i = 0; i < kRoomMetrics; ++i) {
        out.set(entry->room[i], static_cast<double>(values[i]));
      }
      out.set(entry->device_error, 0);
      return;
    }
    const AbsentReason reason =
        usage.state == MountState::failed ? AbsentReason::unreadable : AbsentReason::stale;
    for (const SeriesHandle series : entry->room) out.absent(series, reason);
    if (usage.state == MountState::not_reached) {
      out.absent(entry->device_error, reason);
    } else {
      out.set(entry->device_error, 1);
    }
  }

  static std::optional<Entry> open(const Mount& mount, Samples& out) {
    const auto series = [&](const MetricDescriptor& metric) {
      return out.open(metric, {mount.device, mount.type, mount.mount_point});
    };
    Entry entry;
    for (std::size_t i = 0; i < kRoomMetrics; ++i) entry.room[i] = series(kFilesystemMetrics[i]);
    entry.device_error = series(kDeviceError);
    entry.readonly = series(kReadonly);
    return entry;
  }

  AnswersTaken<std::vector<MountUsage>> answers_;
  KnownEntries<Entry> entries_;
  std::string key_;
};

}  // namespace

std::unique_ptr<Collector> make_filesystem_collector(std::shared_ptr<AskedFileSystems> asked) {
  return std::make_unique<FilesystemCollector>(std::move(asked));
}

}  // namespace dynolog
