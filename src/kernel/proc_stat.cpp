// /proc/stat, line by line.
#include "kernel/proc_stat.h"

#include <charconv>
#include <string>

#include "base/number.h"
#include "kernel/scan.h"

namespace dynolog {
namespace {

constexpr std::size_t kMaxCpus = 16384;

Status bad_line(std::string_view line) {
  return fail(ErrorKind::invalid,
              "/proc/stat: cannot read the line '" + std::string(line.substr(0, 60)) + "'");
}

// Columns after a cpu line's name. More than we know are a newer kernel's: skipped.
bool parse_times(std::string_view rest, CpuTimes& times) {
  times.count = 0;
  const char* at = rest.data();
  const char* const end = at + rest.size();
  while (times.count < kCpuModes) {
    while (at != end && *at == ' ') ++at;
    if (at == end) break;
    std::uint64_t value = 0;
    const auto [stop, error] = std::from_chars(at, end, value);
    if (error != std::errc{} || (stop != end && *stop != ' ')) return false;
    times.ticks[times.count++] = value;
    at = stop;
  }
  return times.count >= 4;
}

Status parse_cpu_line(std::string_view line, ProcStat& into) {
  const std::size_t space = line.find(' ');
  if (space == std::string_view::npos) return bad_line(line);
  const std::string_view number = line.substr(3, space - 3);
  const std::string_view rest = line.substr(space);
  if (number.empty()) {
    if (!parse_times(rest, into.total)) return bad_line(line);
    return {};
  }
  const auto cpu = parse_number<std::uint32_t>(number);
  if (!cpu || *cpu >= kMaxCpus || into.cpus.size() >= kMaxCpus) return bad_line(line);
  ProcStat::Cpu& entry = into.cpus.emplace_back();
  entry.number = *cpu;
  if (!parse_times(rest, entry.times)) return bad_line(line);
  return {};
}

// "intr" and "softirq" lines go on after the total, for thousands of columns on large hosts.
std::optional<std::uint64_t> first_number(std::string_view rest) {
  return parse_number<std::uint64_t>(rest.substr(0, rest.find(' ')));
}

std::optional<std::uint64_t>* field_of(std::string_view key, ProcStat& into) {
  if (key == "intr") return &into.interrupts;
  if (key == "ctxt") return &into.context_switches;
  if (key == "processes") return &into.forks;
  if (key == "btime") return &into.boot_time_s;
  if (key == "procs_running") return &into.running;
  if (key == "procs_blocked") return &into.blocked;
  return nullptr;
}

void clear(ProcStat& into) {
  into.total.count = 0;
  into.cpus.clear();
  for (auto* field : {&into.interrupts, &into.context_switches, &into.forks, &into.boot_time_s,
                      &into.running, &into.blocked}) {
    field->reset();
  }
  into.softirqs.fill(std::nullopt);
}

// "softirq total hi timer ...": kinds of a newer kernel, after those that we know, are skipped.
void parse_softirqs(std::string_view rest, ProcStat& into) {
  (void)take_word(rest);
  for (auto& count : into.softirqs) count = take_count(rest);
}

}  // namespace

Status parse_proc_stat(std::string_view text, ProcStat& into) {
  clear(into);
  while (!text.empty()) {
    const std::size_t newline = text.find('\n');
    const std::string_view line = text.substr(0, newline);
    text.remove_prefix(newline == std::string_view::npos ? text.size() : newline + 1);
    if (line.starts_with("cpu")) {
      if (auto parsed = parse_cpu_line(line, into); !parsed) return parsed;
      continue;
    }
    const std::size_t space = line.find(' ');
    if (space == std::string_view::npos) continue;
    if (line.starts_with("softirq ")) parse_softirqs(line.substr(space), into);
    if (auto* field = field_of(line.substr(0, space), into)) {
      *field = first_number(line.substr(space + 1));
    }
  }
  if (into.total.count == 0) return fail(ErrorKind::invalid, "/proc/stat: no line 'cpu'");
  return {};
}

}  // namespace dynolog
