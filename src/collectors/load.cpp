// Collector `load`.
#include "collectors/load.h"

#include "base/file.h"
#include "kernel/proc_loadavg.h"

namespace dynolog {
namespace {

class LoadCollector final : public Collector {
 public:
  explicit LoadCollector(const SystemRoot& root)
      : file_(root.proc + "/loadavg", Records::one_piece) {}

  [[nodiscard]] std::string_view name() const override { return "load"; }
  [[nodiscard]] Tier tier() const override { return Tier::fast; }

  [[nodiscard]] Status collect(Samples& out) override {
    const auto text = file_.read();
    if (!text) return std::unexpected(text.error());
    const auto load = parse_proc_loadavg(*text);
    if (!load) return std::unexpected(load.error());
    const double values[] = {load->one, load->five, load->fifteen,
                             static_cast<double>(load->threads)};
    for (std::size_t i = 0; i < series_.size(); ++i) {
      if (!series_[i].valid()) series_[i] = out.open(kLoadMetrics[i], {});
      out.set(series_[i], values[i]);
    }
    return {};
  }

 private:
  KeptFile file_;
  std::array<SeriesHandle, kLoadMetrics.size()> series_;
};

}  // namespace

std::unique_ptr<Collector> make_load_collector(const SystemRoot& root) {
  return std::make_unique<LoadCollector>(root);
}

}  // namespace dynolog
