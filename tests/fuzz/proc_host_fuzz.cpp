// /proc files of the host: stat, loadavg, net/unix, and the daemon's own stat and smaps_rollup.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/text.h"
#include "kernel/proc_loadavg.h"
#include "kernel/proc_self.h"
#include "kernel/proc_stat.h"
#include "net/unix_table.h"

namespace {

using namespace dynolog;

void require(bool holds) {
  if (!holds) std::abort();
}

void check_stat(std::string_view text) {
  // Reused, as the collector does: what one file held must not be seen in the next.
  static ProcStat stat;
  if (!parse_proc_stat(text, stat)) return;
  ProcStat fresh;
  require(parse_proc_stat(text, fresh).has_value());
  require(stat.cpus.size() == fresh.cpus.size() && stat.interrupts == fresh.interrupts &&
          stat.boot_time_s == fresh.boot_time_s && stat.running == fresh.running);
  require(stat.total.count >= 4 && stat.total.count <= kCpuModes);
  for (const ProcStat::Cpu& cpu : stat.cpus) {
    require(cpu.times.count >= 4 && cpu.times.count <= kCpuModes);
  }
}

void check_unix_table(std::string_view text) {
  for (const std::string_view line : split(text, '\n')) {
    const auto socket = parse_unix_table_line(line);
    if (socket) require(line.ends_with(socket->path) && socket->path.size() < line.size());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check_stat(text);
  if (const auto load = parse_proc_loadavg(text)) {
    require(std::isfinite(load->one) && std::isfinite(load->fifteen) && load->five >= 0);
  }
  (void)parse_proc_self_stat(text);
  if (const auto bytes = parse_proportional_bytes(text)) require(*bytes % 1024 == 0);
  check_unix_table(text);
  return 0;
}
