// Collector `schedstat`. The kernel writes some 800 bytes for each CPU and each level of its
// scheduling domains: on large hosts that is too much for each second.
#include "collectors/schedstat.h"

#include <fmt/format.h>

#include "base/file.h"
#include "collectors/known_cpus.h"
#include "kernel/per_cpu_files.h"

namespace dynolog {
namespace {

constexpr double kSecond = 1e9;  // in the kernel's nanoseconds

class SchedstatCollector final : public Collector {
 public:
  explicit SchedstatCollector(const SystemRoot& root) : file_(root.proc + "/schedstat") {}

  [[nodiscard]] std::string_view name() const override { return "schedstat"; }
  [[nodiscard]] Tier tier() const override { return Tier::medium; }

  [[nodiscard]] Status collect(Samples& out) override {
    const auto text = file_.read();
    if (!text) return std::unexpected(text.error());
    cpus_.begin();
    for_each_schedstat_cpu(*text, [&](const SchedstatLine& line) {
      const double values[] = {static_cast<double>(line.running_ns) / kSecond,
                               static_cast<double>(line.waiting_ns) / kSecond,
                               static_cast<double>(line.timeslices)};
      auto& series = cpus_.next(line.cpu);
      for (std::size_t i = 0; i < series.size(); ++i) {
        if (!series[i].valid()) {
          series[i] = out.open(kSchedstatMetrics[i], {fmt::to_string(line.cpu)});
        }
        out.set(series[i], values[i]);
      }
    });
    cpus_.finish(out);
    return {};
  }

 private:
  KeptFile file_;
  KnownCpus<kSchedstatMetrics.size()> cpus_;
};

}  // namespace

std::unique_ptr<Collector> make_schedstat_collector(const SystemRoot& root) {
  return std::make_unique<SchedstatCollector>(root);
}

}  // namespace dynolog
