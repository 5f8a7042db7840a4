// Collector `pressure`.
#include "collectors/pressure.h"

#include <cerrno>

#include "base/file.h"
#include "kernel/pressure.h"

namespace dynolog {
namespace {

constexpr double kSecond = 1e6;  // in the kernel's microseconds

// One file, and which metrics its two lines are.
struct Resource {
  static constexpr std::size_t kNone = kPressureMetrics.size();
  KeptFile file;
  std::size_t some = kNone;
  std::size_t full = kNone;
  unsigned rests = 0;  // runs until it is looked for again
};
// Of one that this kernel has not, while it has others.
constexpr unsigned kRunsToRest = 60;

class PressureCollector final : public Collector {
 public:
  explicit PressureCollector(const SystemRoot& root)
      : resources_{
            {{KeptFile(root.proc + "/pressure/cpu", Records::one_piece), 0, Resource::kNone},
             {KeptFile(root.proc + "/pressure/memory", Records::one_piece), 1, 2},
             {KeptFile(root.proc + "/pressure/io", Records::one_piece), 3, 4},
             {KeptFile(root.proc + "/pressure/irq", Records::one_piece), Resource::kNone, 5}}} {}

  [[nodiscard]] std::string_view name() const override { return "pressure"; }
  [[nodiscard]] Tier tier() const override { return Tier::fast; }

  // Kernels differ in which files they have: one that is not there has no series.
  [[nodiscard]] Status collect(Samples& out) override {
    int error = ENOENT;
    bool any = false;
    for (Resource& resource : resources_) {
      if (resource.rests > 0) {
        --resource.rests;
        continue;
      }
      const auto text = resource.file.read_if_there();
      if (!text) {
        if (text.error() != ENOENT) error = text.error();
        resource.rests = kRunsToRest;
        continue;
      }
      any = true;
      const auto pressure = parse_pressure(*text);
      if (!pressure) return std::unexpected(pressure.error());
      emit(resource.some, pressure->some_us, out);
      emit(resource.full, pressure->full_us, out);
    }
    if (any) return {};
    for (Resource& resource : resources_) resource.rests = 0;
    return with_context(fail_errno(error, "/proc/pressure").error(),
                        "the kernel measures no pressure (CONFIG_PSI, or boot with psi=1)");
  }

 private:
  void emit(std::size_t metric, std::optional<std::uint64_t> us, Samples& out) {
    if (metric == Resource::kNone) return;
    SeriesHandle& series = series_[metric];
    if (!series.valid()) series = out.open(kPressureMetrics[metric], {});
    if (us) out.set(series, static_cast<double>(*us) / kSecond);
  }

  std::array<Resource, 4> resources_;
  std::array<SeriesHandle, kPressureMetrics.size()> series_;
};

}  // namespace

std::unique_ptr<Collector> make_pressure_collector(const SystemRoot& root) {
  return std::make_unique<PressureCollector>(root);
}

}  // namespace dynolog
