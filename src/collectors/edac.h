// Collector `edac`: /sys/devices/system/edac/mc. Errors of memory by controller, row and module.
#pragma once

#include <array>
#include <memory>

#include "base/system_root.h"
#include "metrics/collector.h"
#include "metrics/descriptor.h"

namespace dynolog {

namespace edac_metrics {

inline constexpr LabelKey kController{"controller", "dynolog.edac.controller"};
inline constexpr LabelKeys kOfRow = {kController, LabelKey{"csrow", "dynolog.edac.csrow"}};
inline constexpr LabelKeys kOfModule = {kController, LabelKey{"dimm", "dynolog.edac.dimm"},
                                        LabelKey{"label", "dynolog.edac.label"}};

constexpr MetricDescriptor errors(std::string_view id, LabelKeys labels, std::string_view help,
                                  std::string_view prometheus, std::string_view otlp,
                                  std::string_view json = "") {
  return {.id = id,
          .kind = MetricKind::counter,
          .help = help,
          .source = "/sys/devices/system/edac/mc",
          .labels = labels,
          .prometheus = {.name = prometheus},
          .otlp = {.name = otlp},
          .json = {.name = json}};
}

}  // namespace edac_metrics

inline constexpr std::array kEdacMetrics = [] {
  using namespace edac_metrics;
  return std::array{
      errors("edac.corrected", {kController}, "Memory errors that were corrected",
             "node_edac_correctable_errors_total", "dynolog.edac.corrected",
             "edac_correctable_errors.{controller}"),
      errors("edac.uncorrected", {kController}, "Memory errors that could not be corrected",
             "node_edac_uncorrectable_errors_total", "dynolog.edac.uncorrected",
             "edac_uncorrectable_errors.{controller}"),
      errors("edac.row.corrected", kOfRow, "Memory errors of a row that were corrected",
             "node_edac_csrow_correctable_errors_total", "dynolog.edac.row.corrected"),
      errors("edac.row.uncorrected", kOfRow, "Memory errors of a row that could not be corrected",
             "node_edac_csrow_uncorrectable_errors_total", "dynolog.edac.row.uncorrected"),
      errors("edac.module.corrected", kOfModule,
             "Memory errors of a module that were corrected; its label says where it sits",
             "dynolog_edac_dimm_correctable_errors_total", "dynolog.edac.module.corrected"),
      errors("edac.module.uncorrected", kOfModule,
             "Memory errors of a module that could not be corrected",
             "dynolog_edac_dimm_uncorrectable_errors_total", "dynolog.edac.module.uncorrected"),
  };
}();

[[nodiscard]] std::unique_ptr<Collector> make_edac_collector(const SystemRoot& root);

}  // namespace dynolog
