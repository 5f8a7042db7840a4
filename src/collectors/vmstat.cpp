// Collector `vmstat`.
#include "collectors/vmstat.h"

#include "base/file.h"
#include "collectors/known_entries.h"
#include "collectors/oom_kills.h"
#include "kernel/key_values.h"

namespace dynolog {
namespace {

constexpr std::string_view kPagesPrefix = "nr_";

class VmstatCollector final : public Collector {
 public:
  VmstatCollector(const SystemRoot& root, NamePattern wanted)
      : file_(root.proc + "/vmstat", Records::short_ones), wanted_(std::move(wanted)) {}

  [[nodiscard]] std::string_view name() const override { return "vmstat"; }
  [[nodiscard]] Tier tier() const override { return Tier::fast; }

  [[nodiscard]] Status collect(Samples& out) override {
    const auto text = file_.read();
    if (!text) return std::unexpected(text.error());
    fields_.begin();
    for_each_key_value(*text, [&](std::string_view field, std::optional<double> value) {
      const SeriesHandle* series = fields_.next(field, [&] { return open(field, out); });
      if (series != nullptr) set_or_malformed(out, *series, value);
      if (value && field == "oom_kill") oom_kills_.take(*value, "host", out);
    });
    fields_.finish([&](SeriesHandle& gone) { out.close(gone); });
    return {};
  }

 private:
  std::optional<SeriesHandle> open(std::string_view field, Samples& out) const {
    if (!wanted_.found_in(field)) return std::nullopt;
    if (!field.starts_with(kPagesPrefix)) return out.open(kVmstatMetrics[0], {field});
    return out.open(kVmstatMetrics[1], {field.substr(kPagesPrefix.size())});
  }

  KeptFile file_;
  NamePattern wanted_;
  KnownSeries fields_;
  OomKills oom_kills_;
};

}  // namespace

Result<std::unique_ptr<Collector>> make_vmstat_collector(const SystemRoot& root,
                                                         const CollectorOptions::Vmstat& options) {
  auto wanted = NamePattern::compile(options.fields);
  if (!wanted) return with_context(std::move(wanted.error()), "vmstat_fields");
  return std::make_unique<VmstatCollector>(root, std::move(*wanted));
}

}  // namespace dynolog
