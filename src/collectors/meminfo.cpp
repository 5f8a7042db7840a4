// Collector `meminfo`.
#include "collectors/meminfo.h"

#include <optional>

#include "base/file.h"
#include "collectors/known_entries.h"
#include "kernel/meminfo.h"

namespace dynolog {
namespace {

constexpr const MetricDescriptor& kField = kMeminfoMetrics[0];
constexpr const MetricDescriptor& kPages = kMeminfoMetrics[1];
constexpr const MetricDescriptor& kUsage = kMeminfoMetrics[2];
constexpr const MetricDescriptor& kLimit = kMeminfoMetrics[3];
constexpr const MetricDescriptor& kAvailable = kMeminfoMetrics[4];
constexpr const MetricDescriptor& kSlab = kMeminfoMetrics[5];
constexpr const MetricDescriptor& kSwap = kMeminfoMetrics[6];
static_assert(kUsage.id == "memory.usage" && kLimit.id == "memory.limit" &&
              kAvailable.id == "memory.available" && kSlab.id == "memory.slab" &&
              kSwap.id == "swap.usage");

// Fields that the figures for users are made of.
struct Parts {
  std::optional<double> total, free, available, buffers, cached, reclaimable, unreclaimable,
      swap_total, swap_free;
};
using Part = std::optional<double> Parts::*;

constexpr std::array<std::pair<std::string_view, Part>, 9> kParts = {{
    {"MemTotal", &Parts::total},
    {"MemFree", &Parts::free},
    {"MemAvailable", &Parts::available},
    {"Buffers", &Parts::buffers},
    {"Cached", &Parts::cached},
    {"SReclaimable", &Parts::reclaimable},
    {"SUnreclaim", &Parts::unreclaimable},
    {"SwapTotal", &Parts::swap_total},
    {"SwapFree", &Parts::swap_free},
}};

Part part_of(std::string_view name) {
  for (const auto& [part_name, part] : kParts) {
    if (part_name == name) return part;
  }
  return nullptr;
}

// nullopt unless all are known.
std::optional<double> rest_of(std::optional<double> whole,
                              std::initializer_list<std::optional<double>> parts) {
  for (const auto& part : parts) {
    if (!whole || !part) return std::nullopt;
    *whole -= *part;
  }
  // The kernel reads its counters one after another: the sum may be a little over the whole.
  return whole ? std::optional(std::max(*whole, 0.0)) : std::nullopt;
}

class MeminfoCollector final : public Collector {
 public:
  explicit MeminfoCollector(const SystemRoot& root)
      : file_(root.proc + "/meminfo", Records::one_piece) {}

  [[nodiscard]] std::string_view name() const override { return "meminfo"; }
  [[nodiscard]] Tier tier() const override { return Tier::fast; }

  [[nodiscard]] Status collect(Samples& out) override {
    const auto text = file_.read();
    if (!text) return std::unexpected(text.error());
    Parts parts;
    fields_.begin();
    for_each_meminfo_field(*text, [&](const MeminfoField& field) {
      const Field* known = fields_.next(field.name, [&] { return open(field, out); });
      set_or_malformed(out, known->series, field.value);
      if (known->part != nullptr) parts.*(known->part) = field.value;
    });
    fields_.finish([&](Field& gone) { out.close(gone.series); });
    if (!parts.total) return fail(ErrorKind::invalid, "/proc/meminfo: no line 'MemTotal'");
    emit_figures(parts, out);
    return {};
  }

 private:
  struct Field {
    SeriesHandle series;
    Part part = nullptr;
  };

  static std::optional<Field> open(const MeminfoField& field, Samples& out) {
    return Field{out.open(field.is_bytes ? kField : kPages, {meminfo_field_name(field.name)}),
                 part_of(field.name)};
  }

  void emit_figures(const Parts& parts, Samples& out) {
    struct Figure {
      const MetricDescriptor& metric;
      std::string_view state;
      std::optional<double> value;
    };
    const Figure figures[] = {
        {kUsage, "used", rest_of(parts.total, {parts.free, parts.buffers, parts.cached})},
        {kUsage, "free", parts.free},
        {kUsage, "buffers", parts.buffers},
        {kUsage, "cached", parts.cached},
        {kLimit, "", parts.total},
        {kAvailable, "", parts.available},
        {kSlab, "reclaimable", parts.reclaimable},
        {kSlab, "unreclaimable", parts.unreclaimable},
        {kSwap, "used", rest_of(parts.swap_total, {parts.swap_free})},
        {kSwap, "free", parts.swap_free}};
    static_assert(std::size(figures) == kFigures);
    for (std::size_t i = 0; i < kFigures; ++i) {
      const Figure& figure = figures[i];
      if (!figures_[i].valid()) {
        figures_[i] = figure.state.empty() ? out.open(figure.metric, {})
                                           : out.open(figure.metric, {figure.state});
      }
      if (figure.value) out.set(figures_[i], *figure.value);
    }
  }

  static constexpr std::size_t kFigures = 10;
  KeptFile file_;
  KnownEntries<Field> fields_;
  std::array<SeriesHandle, kFigures> figures_;
};

}  // namespace

std::unique_ptr<Collector> make_meminfo_collector(const SystemRoot& root) {
  return std::make_unique<MeminfoCollector>(root);
}

}  // namespace dynolog
