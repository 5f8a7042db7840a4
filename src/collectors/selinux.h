// Collector `selinux`: /sys/fs/selinux and /etc/selinux/config. Whether SELinux enforces its rules.
#pragma once

#include <array>
#include <memory>

#include "base/system_root.h"
#include "metrics/collector.h"
#include "metrics/descriptor.h"

namespace dynolog {

namespace selinux_metrics {

constexpr MetricDescriptor mode(std::string_view id, std::string_view help,
                                std::string_view prometheus, std::string_view otlp) {
  return {.id = id,
          .kind = MetricKind::gauge,
          .help = help,
          .source = "/sys/fs/selinux, /etc/selinux/config",
          .prometheus = {.name = prometheus},
          .otlp = {.name = otlp}};
}

}  // namespace selinux_metrics

inline constexpr std::array kSelinuxMetrics = {
    selinux_metrics::mode("selinux.enabled", "Whether SELinux is on (1) or off (0)",
                          "node_selinux_enabled", "dynolog.selinux.enabled"),
    selinux_metrics::mode("selinux.current_mode",
                          "What SELinux does now: it enforces (1) or warns (0)",
                          "node_selinux_current_mode", "dynolog.selinux.current_mode"),
    selinux_metrics::mode("selinux.config_mode",
                          "What SELinux does after the next boot: it enforces (1), warns (0) or "
                          "is off (-1)",
                          "node_selinux_config_mode", "dynolog.selinux.config_mode"),
};

[[nodiscard]] std::unique_ptr<Collector> make_selinux_collector(const SystemRoot& root);

}  // namespace dynolog
