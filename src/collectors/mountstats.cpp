// Collector `mountstats`. An export that is mounted at several places counts once.
#include "collectors/mountstats.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "base/file.h"
#include "collectors/known_entries.h"
#include "kernel/mounts.h"
#include "kernel/nfs_stats.h"

namespace dynolog {
namespace {

constexpr std::size_t kTransports = kNfsOperationMetrics;
constexpr std::size_t kOthers = kTransports + kNfsTransportMetrics;
constexpr const MetricDescriptor& kAge = kMountstatsMetrics[kOthers];
constexpr const MetricDescriptor& kIo = kMountstatsMetrics[kOthers + 1];
constexpr const MetricDescriptor& kPages = kMountstatsMetrics[kOthers + 2];
constexpr const MetricDescriptor& kEvents = kMountstatsMetrics[kOthers + 3];
constexpr const MetricDescriptor& kMountpoint = kMountstatsMetrics[kOthers + 4];
static_assert(kAge.id == "nfs_mount.age" && kMountpoint.id == "nfs_mount.mountpoint");

// In the kernel's order, named as node_exporter names them; "": it has none of it.
constexpr std::array<std::string_view, kNfsEvents> kEventNames = {"inode_revalidate",
                                                                  "dnode_revalidate",
                                                                  "data_invalidate",
                                                                  "attribute_invalidate",
                                                                  "vfs_open",
                                                                  "vfs_lookup",
                                                                  "vfs_access",
                                                                  "vfs_update_page",
                                                                  "vfs_read_page",
                                                                  "vfs_read_pages",
                                                                  "vfs_write_page",
                                                                  "vfs_write_pages",
                                                                  "vfs_getdents",
                                                                  "vfs_setattr",
                                                                  "vfs_flush",
                                                                  "vfs_fsync",
                                                                  "vfs_lock",
                                                                  "vfs_file_release",
                                                                  "",
                                                                  "truncation",
                                                                  "write_extension",
                                                                  "silly_rename",
                                                                  "short_read",
                                                                  "short_write",
                                                                  "jukebox_delay",
                                                                  "pnfs_read",
                                                                  "pnfs_write"};
constexpr std::array<std::string_view, kNfsBytes> kByteNames = {
    "read", "write", "direct_read", "direct_write", "total_read", "total_write", "read", "write"};
constexpr std::size_t kFirstPages = 6;

// Milliseconds from here on.
constexpr std::size_t kFirstTime = 5;
constexpr std::size_t kTimes = 3;

// Where the kernel's line has each of the transport metrics; UDP's has no connections.
constexpr std::size_t kNone = 99;
constexpr std::array<std::size_t, kNfsTransportMetrics> kTcpColumns = {1, 2, 4,  5,  6,
                                                                       7, 9, 10, 11, 12};
constexpr std::array<std::size_t, kNfsTransportMetrics> kUdpColumns = {1, kNone, kNone, 2, 3,
                                                                       4, 6,     7,     8, 9};

class MountstatsCollector final : public Collector {
 public:
  explicit MountstatsCollector(const SystemRoot& root) : file_(root.proc + "/self/mountstats") {}

  [[nodiscard]] std::string_view name() const override { return "mountstats"; }
  [[nodiscard]] Tier tier() const override { return Tier::medium; }

  [[nodiscard]] Status collect(Samples& out) override {
    const auto text = file_.read();
    if (!text) return std::unexpected(text.error());
    seen_.clear();
    exports_.begin();
    points_.begin();
    for_each_nfs_mount(*text, [&](const NfsMount& mount) { emit(mount, out); });
    exports_.finish([&](Export& gone) { close(gone, out); });
    points_.finish([&](SeriesHandle& gone) { out.close(gone); });
    return {};
  }

 private:
  using OperationSeries = std::array<SeriesHandle, kNfsOperationMetrics>;
  struct Export {
    SeriesHandle age;
    std::array<SeriesHandle, kNfsEvents> events;
    std::array<SeriesHandle, kNfsBytes> bytes;
    std::array<std::array<SeriesHandle, kNfsTransportMetrics>, kMaxNfsTransports> transports;
    KnownEntries<OperationSeries> operations;
  };

  static std::string_view protocol_of(const NfsMount& mount) {
    return mount.transport_count > 0 ? mount.transports[0].protocol : "";
  }

  void emit(const NfsMount& mount, Samples& out) {
    const auto* const point = points_.next(EntryKey{mount.mount_point, mount.device}, [&] {
      return std::optional(open(kMountpoint, mount, decode_mount_text(mount.mount_point), out));
    });
    if (point != nullptr) out.set(*point, 1);
    const EntryKey key{mount.device, mount.address};
    const auto same = [&](const EntryKey& other) {
      return other.group == key.group && other.name == key.name;
    };
    if (std::ranges::any_of(seen_, same)) return;
    seen_.push_back(key);
    Export* const known = exports_.next(key, [] { return std::optional<Export>(Export{}); });
    if (known == nullptr) return;
    emit_totals(mount, *known, out);
    emit_transports(mount, *known, out);
    emit_operations(mount, *known, out);
  }

  static void emit_totals(const NfsMount& mount, Export& known, Samples& out) {
    if (mount.age_s) {
      if (!known.age.valid()) known.age = open(kAge, mount, out);
      out.set(known.age, static_cast<double>(*mount.age_s));
    }
    for (std::size_t i = 0; i < mount.events.count; ++i) {
      if (kEventNames[i].empty()) continue;
      if (!known.events[i].valid()) known.events[i] = open(kEvents, mount, kEventNames[i], out);
      out.set(known.events[i], static_cast<double>(mount.events.values[i]));
    }
    for (std::size_t i = 0; i < mount.bytes.count; ++i) {
      if (!known.bytes[i].valid()) {
        known.bytes[i] = open(i < kFirstPages ? kIo : kPages, mount, kByteNames[i], out);
      }
      out.set(known.bytes[i], static_cast<double>(mount.bytes.values[i]));
    }
  }

  static void emit_transports(const NfsMount& mount, Export& known, Samples& out) {
    for (std::size_t i = 0; i < mount.transport_count; ++i) {
      const NfsTransport& transport = mount.transports[i];
      const auto& columns = transport.protocol == "udp" ? kUdpColumns : kTcpColumns;
      for (std::size_t j = 0; j < kNfsTransportMetrics; ++j) {
        const auto number = transport.numbers.at(columns[j]);
        if (!number) continue;
        SeriesHandle& series = known.transports[i][j];
        if (!series.valid()) {
          series = out.open(kMountstatsMetrics[kTransports + j],
                            {decode_mount_text(mount.device), transport.protocol, mount.address,
                             fmt::to_string(i)});
        }
        out.set(series, static_cast<double>(*number));
      }
    }
  }

  // One that was never asked for has no series: there are some 60, and a mount uses a dozen.
  static void emit_operations(const NfsMount& mount, Export& known, Samples& out) {
    known.operations.begin();
    for_each_nfs_operation(mount.operations, [&](std::string_view name, const auto& numbers) {
      if (numbers.values[0] == 0) return;
      const OperationSeries* const series = known.operations.next(name, [&] {
        OperationSeries made;
        for (std::size_t i = 0; i < numbers.count; ++i) {
          made[i] = open(kMountstatsMetrics[i], mount, name, out);
        }
        return std::optional(made);
      });
      for (std::size_t i = 0; series != nullptr && i < numbers.count; ++i) {
        const bool is_time = i >= kFirstTime && i < kFirstTime + kTimes;
        out.set((*series)[i], static_cast<double>(numbers.values[i]) * (is_time ? 1e-3 : 1));
      }
    });
    known.operations.finish([&](OperationSeries& gone) {
      for (SeriesHandle& series : gone) out.close(series);
    });
  }

  static SeriesHandle open(const MetricDescriptor& metric, const NfsMount& mount, Samples& out) {
    return out.open(metric, {decode_mount_text(mount.device), protocol_of(mount), mount.address});
  }
  static SeriesHandle open(const MetricDescriptor& metric, const NfsMount& mount,
                           std::string_view more, Samples& out) {
    return out.open(metric,
                    {decode_mount_text(mount.device), protocol_of(mount), mount.address, more});
  }

  static void close(Export& gone, Samples& out) {
    out.close(gone.age);
    for (SeriesHandle& series : gone.events) out.close(series);
    for (SeriesHandle& series : gone.bytes) out.close(series);
    for (auto& transport : gone.transports) {
      for (SeriesHandle& series : transport) out.close(series);
    }
    gone.operations.begin();
    gone.operations.finish([&](OperationSeries& operation) {
      for (SeriesHandle& series : operation) out.close(series);
    });
  }

  KeptFile file_;
  KnownEntries<Export> exports_;
  KnownSeries points_;
  std::vector<EntryKey> seen_;  // in this pass
};

}  // namespace

std::unique_ptr<Collector> make_mountstats_collector(const SystemRoot& root) {
  return std::make_unique<MountstatsCollector>(root);
}

}  // namespace dynolog
