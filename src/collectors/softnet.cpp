// Collector `softnet`.
#include "collectors/softnet.h"

#include <fmt/format.h>

#include <optional>
#include <vector>

#include "base/file.h"
#include "collectors/known_cpus.h"
#include "kernel/per_cpu_files.h"

namespace dynolog {
namespace {

class SoftnetCollector final : public Collector {
 public:
  explicit SoftnetCollector(const SystemRoot& root)
      : file_(root.proc + "/net/softnet_stat", Records::short_ones) {}

  [[nodiscard]] std::string_view name() const override { return "softnet"; }
  [[nodiscard]] Tier tier() const override { return Tier::fast; }

  [[nodiscard]] Status collect(Samples& out) override {
    const auto text = file_.read();
    if (!text) return std::unexpected(text.error());
    cpus_.begin();
    for_each_softnet(*text, [&](const SoftnetLine& line) {
      const std::array<std::optional<std::uint64_t>, kSoftnetMetrics.size()> values = {
          line.processed,    line.dropped,    line.squeezed,
          line.received_rps, line.flow_limit, line.backlog};
      auto& series = cpus_.next(line.cpu);
      for (std::size_t i = 0; i < values.size(); ++i) {
        if (!values[i]) continue;  // older kernels print fewer
        if (!series[i].valid()) {
          series[i] = out.open(kSoftnetMetrics[i], {fmt::to_string(line.cpu)});
        }
        out.set(series[i], static_cast<double>(*values[i]));
      }
    });
    cpus_.finish(out);
    return {};
  }

 private:
  KeptFile file_;
  KnownCpus<kSoftnetMetrics.size()> cpus_;
};

}  // namespace

std::unique_ptr<Collector> make_softnet_collector(const SystemRoot& root) {
  return std::make_unique<SoftnetCollector>(root);
}

}  // namespace dynolog
