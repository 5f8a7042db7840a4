// Parser of /proc/stat: CPU time by mode, and the kernel's few global counters.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace dynolog {

// In the kernel's column order. `guest` and `guest_nice` are contained in `user` and `nice`: a sum
// over all ten counts them twice.
enum class CpuMode : std::uint8_t {
  user,
  nice,
  system,
  idle,
  iowait,
  irq,
  softirq,
  steal,
  guest,
  guest_nice,
};
inline constexpr std::size_t kCpuModes = 10;

// Kinds of soft interrupts, in the kernel's order.
inline constexpr std::array<std::string_view, 10> kSoftirqs = {
    "hi",           "timer",   "net_tx", "net_rx",  "block",
    "block_iopoll", "tasklet", "sched",  "hrtimer", "rcu"};

struct CpuTimes {
  std::array<std::uint64_t, kCpuModes> ticks{};  // of USER_HZ
  std::size_t count = 0;                         // columns that this kernel prints, at least 4
  [[nodiscard]] std::optional<std::uint64_t> of(CpuMode mode) const {
    const auto index = static_cast<std::size_t>(mode);
    return index < count ? std::optional(ticks[index]) : std::nullopt;
  }
};

struct ProcStat {
  struct Cpu {
    std::uint32_t number = 0;
    CpuTimes times;
  };
  CpuTimes total;
  std::vector<Cpu> cpus;  // online ones, in the file's order
  std::optional<std::uint64_t> interrupts;
  std::optional<std::uint64_t> context_switches;
  std::optional<std::uint64_t> forks;
  std::optional<std::uint64_t> boot_time_s;  // since the epoch
  std::optional<std::uint64_t> running;
  std::optional<std::uint64_t> blocked;
  std::array<std::optional<std::uint64_t>, kSoftirqs.size()> softirqs;
};

// Overwrites `into`, whose memory is used again: the steady state allocates nothing. On an error
// `into` holds nothing of use.
[[nodiscard]] Status parse_proc_stat(std::string_view text, ProcStat& into);

}  // namespace dynolog
