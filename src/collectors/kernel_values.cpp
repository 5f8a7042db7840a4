// Collectors `filefd`, `entropy` and `limits`.
#include "collectors/kernel_values.h"

#include <cerrno>
#include <expected>
#include <span>
#include <vector>

#include "base/file.h"
#include "kernel/scan.h"

namespace dynolog {
namespace {

// One number of a file below /proc, and the series it is.
struct KernelValue {
  std::string_view path;
  unsigned column;
  const MetricDescriptor& metric;
  std::string_view label;  // the metric's only one; "": it has none
};

constexpr std::array kFilefdValues = {
    KernelValue{"/sys/fs/file-nr", 0, kFilefdMetrics[0], ""},
    KernelValue{"/sys/fs/file-nr", 2, kFilefdMetrics[1], ""},
};
constexpr std::array kEntropyValues = {
    KernelValue{"/sys/kernel/random/entropy_avail", 0, kEntropyMetrics[0], ""},
    KernelValue{"/sys/kernel/random/poolsize", 0, kEntropyMetrics[1], ""},
};
constexpr const MetricDescriptor& kLimit = kLimitsMetrics[0];
constexpr const MetricDescriptor& kInUse = kLimitsMetrics[1];
constexpr std::array kLimitsValues = {
    KernelValue{"/sys/kernel/pid_max", 0, kLimit, "pids"},
    KernelValue{"/sys/kernel/threads-max", 0, kLimit, "threads"},
    KernelValue{"/sys/vm/max_map_count", 0, kLimit, "maps_per_process"},
    KernelValue{"/sys/fs/nr_open", 0, kLimit, "files_per_process"},
    KernelValue{"/sys/fs/aio-max-nr", 0, kLimit, "aio_requests"},
    KernelValue{"/sys/fs/aio-nr", 0, kInUse, "aio_requests"},
    KernelValue{"/sys/fs/inotify/max_user_watches", 0, kLimit, "inotify_watches_per_user"},
    KernelValue{"/sys/fs/inotify/max_user_instances", 0, kLimit, "inotify_instances_per_user"},
    KernelValue{"/sys/fs/inode-nr", 0, kInUse, "inodes"},
};

class KernelValuesCollector final : public Collector {
 public:
  KernelValuesCollector(std::string_view name, Tier tier, const SystemRoot& root,
                        std::span<const KernelValue> values)
      : name_(name), tier_(tier), values_(values), series_(values.size()) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (is_of_next_file(i)) {
        files_.emplace_back(root.proc + std::string(values[i].path), Records::one_piece);
      }
    }
  }

  [[nodiscard]] std::string_view name() const override { return name_; }
  [[nodiscard]] Tier tier() const override { return tier_; }

  // A file that is not there has no series; without any the collector has nothing to read.
  [[nodiscard]] Status collect(Samples& out) override {
    int error = 0;
    std::size_t unread = 0;
    std::expected<std::string_view, int> text;
    auto file = files_.begin();
    for (std::size_t i = 0; i < values_.size(); ++i) {
      if (is_of_next_file(i)) text = file++->read_if_there();
      if (!text) {
        error = text.error();
        ++unread;
        continue;
      }
      if (!series_[i].valid()) series_[i] = open(values_[i], out);
      if (const auto value = number_of(*text, values_[i].column)) {
        out.set(series_[i], *value);
      } else {
        out.absent(series_[i], AbsentReason::malformed);
      }
    }
    if (unread == values_.size()) return fail_errno(error, files_.front().path());
    return {};
  }

 private:
  // Values of one file follow each other: it is read once.
  [[nodiscard]] bool is_of_next_file(std::size_t i) const {
    return i == 0 || values_[i].path != values_[i - 1].path;
  }

  static SeriesHandle open(const KernelValue& value, Samples& out) {
    return value.label.empty() ? out.open(value.metric, {}) : out.open(value.metric, {value.label});
  }

  static std::optional<double> number_of(std::string_view text, unsigned column) {
    std::string_view line;
    if (!take_line(text, line)) return std::nullopt;
    for (unsigned i = 0; i < column; ++i) (void)take_word(line);
    return take_value(line);
  }

  std::string_view name_;
  Tier tier_;
  std::span<const KernelValue> values_;
  std::vector<KeptFile> files_;
  std::vector<SeriesHandle> series_;
};

}  // namespace

std::unique_ptr<Collector> make_filefd_collector(const SystemRoot& root) {
  return std::make_unique<KernelValuesCollector>("filefd", Tier::fast, root, kFilefdValues);
}

std::unique_ptr<Collector> make_entropy_collector(const SystemRoot& root) {
  return std::make_unique<KernelValuesCollector>("entropy", Tier::medium, root, kEntropyValues);
}

std::unique_ptr<Collector> make_limits_collector(const SystemRoot& root) {
  return std::make_unique<KernelValuesCollector>("limits", Tier::slow, root, kLimitsValues);
}

}  // namespace dynolog
