// Collectors `uname`, `os` and `dmi`: what the host is, as labels of a constant 1.
#pragma once

#include <array>
#include <memory>

#include "base/system_root.h"
#include "metrics/collector.h"
#include "metrics/descriptor.h"

namespace dynolog {

namespace host_info_metrics {

inline constexpr std::array kUnameLabels = {LabelKey{"domainname", "dynolog.host.domainname"},
                                            LabelKey{"machine", "host.arch"},
                                            LabelKey{"nodename", "host.name"},
                                            LabelKey{"release", "os.version"},
                                            LabelKey{"sysname", "os.name"},
                                            LabelKey{"version", "os.description"}};

inline constexpr std::array kOsLabels = {
    LabelKey{"build_id", "os.build_id"},
    LabelKey{"id", "dynolog.os.id"},
    LabelKey{"id_like", "dynolog.os.id_like"},
    LabelKey{"image_id", "dynolog.os.image_id"},
    LabelKey{"image_version", "dynolog.os.image_version"},
    LabelKey{"name", "os.name"},
    LabelKey{"pretty_name", "os.description"},
    LabelKey{"variant", "dynolog.os.variant"},
    LabelKey{"variant_id", "dynolog.os.variant_id"},
    LabelKey{"version", "dynolog.os.version"},
    LabelKey{"version_codename", "dynolog.os.version_codename"},
    LabelKey{"version_id", "os.version"}};

inline constexpr std::array kDmiLabels = {
    LabelKey{"bios_date", "dynolog.dmi.bios_date"},
    LabelKey{"bios_release", "dynolog.dmi.bios_release"},
    LabelKey{"bios_vendor", "dynolog.dmi.bios_vendor"},
    LabelKey{"bios_version", "dynolog.dmi.bios_version"},
    LabelKey{"board_asset_tag", "dynolog.dmi.board_asset_tag"},
    LabelKey{"board_name", "dynolog.dmi.board_name"},
    LabelKey{"board_serial", "dynolog.dmi.board_serial"},
    LabelKey{"board_vendor", "dynolog.dmi.board_vendor"},
    LabelKey{"board_version", "dynolog.dmi.board_version"},
    LabelKey{"chassis_asset_tag", "dynolog.dmi.chassis_asset_tag"},
    LabelKey{"chassis_serial", "dynolog.dmi.chassis_serial"},
    LabelKey{"chassis_vendor", "dynolog.dmi.chassis_vendor"},
    LabelKey{"chassis_version", "dynolog.dmi.chassis_version"},
    LabelKey{"product_family", "dynolog.dmi.product_family"},
    LabelKey{"product_name", "dynolog.dmi.product_name"},
    LabelKey{"product_serial", "dynolog.dmi.product_serial"},
    LabelKey{"product_sku", "dynolog.dmi.product_sku"},
    LabelKey{"product_uuid", "dynolog.dmi.product_uuid"},
    LabelKey{"product_version", "dynolog.dmi.product_version"},
    LabelKey{"system_vendor", "dynolog.dmi.system_vendor"}};

}  // namespace host_info_metrics

inline constexpr std::array kUnameMetrics = {
    MetricDescriptor{.id = "host.uname",
                     .kind = MetricKind::info,
                     .help = "The kernel's name of itself and of the host, as labels; always 1",
                     .source = "/proc/sys/kernel",
                     .labels = LabelKeys(host_info_metrics::kUnameLabels),
                     .prometheus = {.name = "node_uname_info"},
                     .otlp = {.name = "dynolog.host.uname"}},
};

inline constexpr std::array kOsMetrics = {
    MetricDescriptor{.id = "host.os",
                     .kind = MetricKind::info,
                     .help = "The distribution, as labels; always 1",
                     .source = "/etc/os-release",
                     .labels = LabelKeys(host_info_metrics::kOsLabels),
                     .prometheus = {.name = "node_os_info"},
                     .otlp = {.name = "dynolog.host.os"}},
    MetricDescriptor{
        .id = "host.os_version",
        .kind = MetricKind::gauge,
        .help = "The distribution's version as far as it is a number: 22.04",
        .source = "/etc/os-release",
        .labels = {LabelKey{"id", "dynolog.os.id"}, LabelKey{"id_like", "dynolog.os.id_like"},
                   LabelKey{"name", "os.name"}},
        .prometheus = {.name = "node_os_version"},
        .otlp = {.name = "dynolog.host.os_version"}},
};

inline constexpr std::array kDmiMetrics = {
    MetricDescriptor{.id = "host.dmi",
                     .kind = MetricKind::info,
                     .help = "What the firmware says of the machine, as labels; always 1",
                     .source = "/sys/class/dmi/id",
                     .labels = LabelKeys(host_info_metrics::kDmiLabels),
                     .prometheus = {.name = "node_dmi_info"},
                     .otlp = {.name = "dynolog.host.dmi"}},
};

[[nodiscard]] std::unique_ptr<Collector> make_uname_collector(const SystemRoot& root);
[[nodiscard]] std::unique_ptr<Collector> make_os_collector(const SystemRoot& root);
[[nodiscard]] std::unique_ptr<Collector> make_dmi_collector(const SystemRoot& root);

}  // namespace dynolog
