// Collector `selinux`.
#include "collectors/selinux.h"

#include "base/text.h"
#include "kernel/scan.h"
#include "kernel/sysfs.h"

namespace dynolog {
namespace {

std::optional<double> configured_mode(std::string_view text) {
  constexpr std::string_view kKey = "SELINUX=";
  std::string_view line;
  std::optional<double> mode;
  while (take_line(text, line)) {
    line = trim(line);
    if (!line.starts_with(kKey)) continue;
    const std::string_view value = trim(line.substr(kKey.size()));
    if (value == "enforcing") mode = 1;
    if (value == "permissive") mode = 0;
    if (value == "disabled") mode = -1;
  }
  return mode;
}

class SelinuxCollector final : public Collector {
 public:
  explicit SelinuxCollector(const SystemRoot& root)
      : kernel_(root.sys + "/fs/selinux"), config_(root.etc + "/selinux") {}

  [[nodiscard]] std::string_view name() const override { return "selinux"; }
  [[nodiscard]] Tier tier() const override { return Tier::slow; }

  [[nodiscard]] Status collect(Samples& out) override {
    const auto enforce = kernel_.number({"enforce"});
    set(0, enforce ? 1 : 0, out);
    if (!enforce) {
      out.close(series_[1]);
      out.close(series_[2]);
      return {};
    }
    set(1, *enforce, out);
    const auto mode = configured_mode(config_.read({"config"}).value_or(""));
    if (mode) set(2, *mode, out);
    return {};
  }

 private:
  void set(std::size_t metric, double value, Samples& out) {
    if (!series_[metric].valid()) series_[metric] = out.open(kSelinuxMetrics[metric], {});
    out.set(series_[metric], value);
  }

  AttributeReader kernel_;
  AttributeReader config_;
  std::array<SeriesHandle, kSelinuxMetrics.size()> series_;
};

}  // namespace

std::unique_ptr<Collector> make_selinux_collector(const SystemRoot& root) {
  return std::make_unique<SelinuxCollector>(root);
}

}  // namespace dynolog
