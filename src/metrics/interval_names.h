// Names of JSON lines and the relay that are sums or shares of several series, as existing users of
// dynolog know them. Names of single series stand in their descriptors.
#pragma once

#include <array>
#include <string_view>

namespace dynolog {

enum class IntervalForm {
  share,         // percent: the part's increase of the whole's
  rest_share,    // percent: 100 less that
  milliseconds,  // the part's increase, of seconds
  age,           // seconds from the part's value (a time since the epoch) to the frame
};

struct IntervalName {
  // "cpu_u_node{node}": one for each value of that label, which is the first of part and whole.
  std::string_view name;
  IntervalForm form;
  std::string_view part;        // a descriptor's id
  std::string_view part_value;  // of its only label, or of its second one; "": it has none
  std::string_view whole;       // shares: the descriptor whose series are summed up
  std::string_view help;
  [[nodiscard]] constexpr bool is_per_label() const {
    return name.find('{') != std::string_view::npos;
  }
};

// The label that `part_value` is of.
inline constexpr std::string_view kIntervalPartKey = "mode";
inline constexpr std::string_view kAllCpus = "cpu.time.all";
inline constexpr std::string_view kAllGuests = "cpu.guest_time.all";
inline constexpr std::string_view kNodeCpus = "cpu.time.node";

inline constexpr std::array kIntervalNames = {
    IntervalName{"uptime", IntervalForm::age, "host.boot_time", "", "", "Seconds since the boot"},
    IntervalName{"cpu_u", IntervalForm::share, kAllCpus, "user", kAllCpus,
                 "User time, guests included, in percent of all CPU time"},
    IntervalName{"cpu_s", IntervalForm::share, kAllCpus, "system", kAllCpus,
                 "System time in percent of all CPU time"},
    IntervalName{"cpu_i", IntervalForm::share, kAllCpus, "idle", kAllCpus,
                 "Idle time in percent of all CPU time"},
    IntervalName{"cpu_util", IntervalForm::rest_share, kAllCpus, "idle", kAllCpus,
                 "All time that is not idle, in percent; waiting for I/O counts as busy"},
    IntervalName{"cpu_guest", IntervalForm::share, kAllGuests, "user", kAllCpus,
                 "Time of guests in percent of all CPU time; contained in cpu_u"},
    IntervalName{"cpu_guest_nice", IntervalForm::share, kAllGuests, "nice", kAllCpus,
                 "Time of niced guests in percent of all CPU time; contained in nice time"},
    IntervalName{"cpu_u_node{node}", IntervalForm::share, kNodeCpus, "user", kNodeCpus,
                 "User time of a NUMA node's CPUs in percent of all their time"},
    IntervalName{"cpu_s_node{node}", IntervalForm::share, kNodeCpus, "system", kNodeCpus,
                 "System time of a NUMA node's CPUs in percent of all their time"},
    IntervalName{"cpu_i_node{node}", IntervalForm::share, kNodeCpus, "idle", kNodeCpus,
                 "Idle time of a NUMA node's CPUs in percent of all their time"},
    IntervalName{"cpu_u_ms", IntervalForm::milliseconds, kAllCpus, "user", "", "User time"},
    IntervalName{"cpu_s_ms", IntervalForm::milliseconds, kAllCpus, "system", "", "System time"},
    IntervalName{"cpu_w_ms", IntervalForm::milliseconds, kAllCpus, "iowait", "",
                 "Time waiting for I/O"},
    IntervalName{"cpu_n_ms", IntervalForm::milliseconds, kAllCpus, "nice", "", "Niced user time"},
    IntervalName{"cpu_x_ms", IntervalForm::milliseconds, kAllCpus, "irq", "", "Time in interrupts"},
    IntervalName{"cpu_y_ms", IntervalForm::milliseconds, kAllCpus, "softirq", "",
                 "Time in soft interrupts"},
    IntervalName{"cpu_z_ms", IntervalForm::milliseconds, kAllCpus, "steal", "",
                 "Time stolen by the hypervisor"},
    IntervalName{"cpu_guest_ms", IntervalForm::milliseconds, kAllGuests, "user", "",
                 "Time of guests; contained in cpu_u_ms"},
    IntervalName{"cpu_guest_nice_ms", IntervalForm::milliseconds, kAllGuests, "nice", "",
                 "Time of niced guests; contained in cpu_n_ms"},
};

}  // namespace dynolog
