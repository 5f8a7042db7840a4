// Collector `nvme`. Temperatures of drives are hwmon's; SMART data are behind a command of the
// drive that only root may send, and that wakes it.
#include "collectors/nvme.h"

#include "collectors/attribute_series.h"
#include "collectors/class_devices.h"

namespace dynolog {
namespace {

constexpr const MetricDescriptor& kInfo = kNvmeMetrics[0];
constexpr const MetricDescriptor& kLive = kNvmeMetrics[1];
constexpr std::size_t kState = 3;
// The file of each label but the first.
constexpr std::array<std::string_view, nvme_metrics::kInfoLabels.size() - 1> kFiles = {
    "firmware_rev", "model", "serial", "state"};

class NvmeCollector final : public Collector {
 public:
  explicit NvmeCollector(const SystemRoot& root) : drives_(root.sys + "/class/nvme") {}

  [[nodiscard]] std::string_view name() const override { return "nvme"; }
  [[nodiscard]] Tier tier() const override { return Tier::slow; }

  [[nodiscard]] Status collect(Samples& out) override {
    const Status listed =
        drives_.visit([](std::string_view) { return std::optional(Drive{}); },
                      [&](std::string_view name, Drive& drive) { emit(name, drive, out); },
                      [&](Drive& gone) {
                        gone.info.close(out);
                        out.close(gone.live);
                      });
    if (!listed) return listed;
    if (drives_.count() > 0) return {};
    return fail(ErrorKind::unavailable, "no drive in " + drives_.path());
  }

 private:
  struct Drive {
    InfoSeries<kFiles.size()> info;
    SeriesHandle live;
  };

  void emit(std::string_view name, Drive& drive, Samples& out) {
    for (std::size_t i = 0; i < kFiles.size(); ++i) {
      const auto text = drives_.files().read({name, kFiles[i]});
      drive.info.take(i, text.value_or(""));
      if (i != kState || !text) continue;
      if (!drive.live.valid()) drive.live = out.open(kLive, {name});
      out.set(drive.live, *text == "live" ? 1 : 0);
    }
    drive.info.emit(kInfo, name, out);
  }

  ClassDevices<Drive> drives_;
};

}  // namespace

std::unique_ptr<Collector> make_nvme_collector(const SystemRoot& root) {
  return std::make_unique<NvmeCollector>(root);
}

}  // namespace dynolog
