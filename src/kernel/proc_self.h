// What this process itself uses: CPU time, memory, context switches, threads, descriptors.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/system_root.h"

namespace dynolog {

// Of /proc/self/stat, what getrusage(2) does not tell.
struct ProcSelfStat {
  std::uint64_t threads = 0;
  std::uint64_t virtual_bytes = 0;
  std::uint64_t resident_pages = 0;
  std::uint64_t start_ticks = 0;  // after the boot
};
[[nodiscard]] Result<ProcSelfStat> parse_proc_self_stat(std::string_view text);

// Of all threads, ended ones included. A voluntary switch is a thread that went to sleep: each has
// one wake-up.
struct SelfUsage {
  Nanoseconds user{};
  Nanoseconds system{};
  std::uint64_t voluntary_switches = 0;
  std::uint64_t involuntary_switches = 0;
};
[[nodiscard]] SelfUsage read_self_usage();

// /proc/self/smaps_rollup: memory with a share of what others have mapped too.
[[nodiscard]] Result<std::uint64_t> parse_proportional_bytes(std::string_view text);

// RSS.
[[nodiscard]] Result<std::uint64_t> read_self_resident(const SystemRoot& root, long page_size);

struct SelfMemory {
  std::uint64_t bytes = 0;
  bool proportional = false;  // PSS; else RSS, where the kernel refuses the former
};
// It walks the page tables: some tenths of a millisecond.
[[nodiscard]] Result<SelfMemory> read_self_memory(const SystemRoot& root, long page_size);

// How many descriptors this process may have open.
[[nodiscard]] std::uint64_t read_descriptor_limit();

// The number of open descriptors: what stat(2) says of /proc/self/fd (Linux 6.2), or a count.
class SelfDescriptors {
 public:
  explicit SelfDescriptors(const SystemRoot& root) : path_(root.proc + "/self/fd") {}
  [[nodiscard]] Result<std::uint64_t> count() const;

 private:
  std::string path_;
};

}  // namespace dynolog
