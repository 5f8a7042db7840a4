// Collector `edac`.
#include "collectors/edac.h"

#include <vector>

#include "base/number.h"
#include "collectors/attribute_series.h"
#include "collectors/class_devices.h"

namespace dynolog {
namespace {

constexpr const MetricDescriptor* kRowCorrected = &kEdacMetrics[2];
constexpr const MetricDescriptor* kRowUncorrected = &kEdacMetrics[3];
constexpr std::array kControllerFiles = {AttributeMetric{"ce_count", &kEdacMetrics[0]},
                                         AttributeMetric{"ue_count", &kEdacMetrics[1]}};
// Errors whose row the controller does not know.
constexpr std::array kUnknownFiles = {AttributeMetric{"ce_noinfo_count", kRowCorrected},
                                      AttributeMetric{"ue_noinfo_count", kRowUncorrected}};
constexpr std::array kRowFiles = {AttributeMetric{"ce_count", kRowCorrected},
                                  AttributeMetric{"ue_count", kRowUncorrected}};
constexpr std::array kModuleFiles = {AttributeMetric{"dimm_ce_count", &kEdacMetrics[4]},
                                     AttributeMetric{"dimm_ue_count", &kEdacMetrics[5]}};

constexpr std::string_view kController = "mc";
constexpr std::string_view kRow = "csrow";
constexpr std::string_view kModule = "dimm";

// "mc3" of "mc" -> "3"; "" for what is none.
std::string_view number_after(std::string_view prefix, std::string_view name) {
  if (!name.starts_with(prefix)) return {};
  name.remove_prefix(prefix.size());
  return parse_number<std::uint32_t>(name) ? name : std::string_view();
}

class EdacCollector final : public Collector {
 public:
  explicit EdacCollector(const SystemRoot& root)
      : controllers_(root.sys + "/devices/system/edac/mc") {}

  [[nodiscard]] std::string_view name() const override { return "edac"; }
  [[nodiscard]] Tier tier() const override { return Tier::slow; }

  [[nodiscard]] Status collect(Samples& out) override {
    const Status listed = controllers_.visit(
        [&](std::string_view name) { return make(name); },
        [&](std::string_view name, Controller& controller) { emit(name, controller, out); },
        [&](Controller& gone) {
          gone.series.close(out);
          gone.unknown_row.close(out);
          for (Part& part : gone.parts) part.series.close(out);
        });
    if (!listed) return listed;
    if (controllers_.count() > 0) return {};
    return fail(ErrorKind::unavailable, "no memory controller in " + controllers_.path() +
                                            ": its driver is not loaded, or the host is virtual");
  }

 private:
  struct Part {  // a row or a module
    std::string entry;
    bool is_module = false;
    std::string label;
    AttributeSeries<2> series;
  };
  struct Controller {
    std::string number;
    AttributeSeries<2> series;
    AttributeSeries<2> unknown_row;
    std::vector<Part> parts;
  };

  std::optional<Controller> make(std::string_view name) {
    Controller controller;
    controller.number = number_after(kController, name);
    if (controller.number.empty()) return std::nullopt;
    KeptDirectory directory(controllers_.path() + "/" + std::string(name));
    if (!directory.rewind()) return controller;
    while (const char* entry = directory.next()) {
      const bool is_module = !number_after(kModule, entry).empty();
      if (!is_module && number_after(kRow, entry).empty()) continue;
      Part& part = controller.parts.emplace_back();
      part.entry = entry;
      part.is_module = is_module;
      if (is_module) {
        part.label = controllers_.files().read({name, entry, "dimm_label"}).value_or("");
      }
    }
    return controller;
  }

  void emit(std::string_view name, Controller& controller, Samples& out) {
    AttributeReader& files = controllers_.files();
    const std::string_view number = controller.number;
    for (std::size_t i = 0; i < kControllerFiles.size(); ++i) {
      controller.series.set(i, kControllerFiles[i], std::array{number},
                            files.number({name, kControllerFiles[i].file}), out);
      controller.unknown_row.set(i, kUnknownFiles[i],
                                 std::array{number, std::string_view("unknown")},
                                 files.number({name, kUnknownFiles[i].file}), out);
    }
    for (Part& part : controller.parts) emit_part(name, number, part, out);
  }

  void emit_part(std::string_view name, std::string_view number, Part& part, Samples& out) {
    const auto& wanted = part.is_module ? kModuleFiles : kRowFiles;
    const std::array<std::string_view, 3> labels = {
        number, number_after(part.is_module ? kModule : kRow, part.entry), part.label};
    const auto used = std::span(labels).first(part.is_module ? 3 : 2);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      part.series.set(i, wanted[i], used,
                      controllers_.files().number({name, part.entry, wanted[i].file}), out);
    }
  }

  ClassDevices<Controller> controllers_;
};

}  // namespace

std::unique_ptr<Collector> make_edac_collector(const SystemRoot& root) {
  return std::make_unique<EdacCollector>(root);
}

}  // namespace dynolog
