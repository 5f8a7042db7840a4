// Parser of /proc/cpuinfo.
#pragma once

#include <string_view>

#include "base/text.h"
#include "kernel/scan.h"

namespace dynolog {

// Views into the text; "" for what the machine's kernel does not say (x86 says all).
struct CpuinfoEntry {
  std::string_view cpu, vendor, family, model, model_name, stepping, microcode, cache_size, package,
      core;
};

// Calls `visit(const CpuinfoEntry&)` for each paragraph that begins with "processor : N".
template <class Visit>
void for_each_cpuinfo(std::string_view text, Visit&& visit) {
  CpuinfoEntry entry;
  const auto finish = [&] {
    if (!entry.cpu.empty()) visit(static_cast<const CpuinfoEntry&>(entry));
    entry = {};
  };
  std::string_view line;
  while (take_line(text, line)) {
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) {
      finish();
      continue;
    }
    const std::string_view key = trim(line.substr(0, colon));
    const std::string_view value = trim(line.substr(colon + 1));
    if (key == "processor") {
      finish();
      entry.cpu = value;
    } else if (key == "vendor_id") {
      entry.vendor = value;
    } else if (key == "cpu family") {
      entry.family = value;
    } else if (key == "model") {
      entry.model = value;
    } else if (key == "model name") {
      entry.model_name = value;
    } else if (key == "stepping") {
      entry.stepping = value;
    } else if (key == "microcode") {
      entry.microcode = value;
    } else if (key == "cache size") {
      entry.cache_size = value;
    } else if (key == "physical id") {
      entry.package = value;
    } else if (key == "core id") {
      entry.core = value;
    }
  }
  finish();
}

}  // namespace dynolog
