// Collectors `cpufreq` and `cpuinfo`. Asking for a frequency may interrupt the CPU that is asked
// about, so it is done once a minute.
#include "collectors/cpu_hardware.h"

#include <cerrno>
#include <charconv>
#include <string>

#include "base/file.h"
#include "base/number.h"
#include "collectors/known_entries.h"
#include "kernel/cpu_list.h"
#include "kernel/cpuinfo.h"
#include "kernel/sysfs.h"

namespace dynolog {
namespace {

constexpr std::string_view kCpuPrefix = "cpu";

// "cpu12" -> "12"; "" for cpufreq, cpuidle and their kind.
std::string_view cpu_number(std::string_view name) {
  if (!name.starts_with(kCpuPrefix)) return {};
  name.remove_prefix(kCpuPrefix.size());
  return parse_number<std::uint32_t>(name) ? name : std::string_view();
}

class CpufreqCollector final : public Collector {
 public:
  explicit CpufreqCollector(const SystemRoot& root)
      : directory_(root.sys + "/devices/system/cpu"), files_(directory_.path()) {}

  [[nodiscard]] std::string_view name() const override { return "cpufreq"; }
  [[nodiscard]] Tier tier() const override { return Tier::slow; }

  [[nodiscard]] Status collect(Samples& out) override {
    if (!directory_.rewind()) return fail_errno(errno, directory_.path());
    bool any = false;
    cpus_.begin();
    while (const char* name = directory_.next()) {
      // Looked at each time: a CPU that comes online gets one.
      if (cpu_number(name).empty() || !files_.exists({name, "cpufreq"})) continue;
      Cpu* cpu = cpus_.next(name, [] { return std::optional(Cpu{}); });
      any = true;
      emit(name, *cpu, out);
    }
    cpus_.finish([&](Cpu& gone) {
      for (SeriesHandle& series : gone) out.close(series);
    });
    if (any) return {};
    return fail(ErrorKind::unavailable,
                "no CPU has a cpufreq directory: the host, often a virtual "
                "machine, does not control its frequencies");
  }

 private:
  static constexpr std::array<std::string_view, kCpufreqMetrics.size()> kFiles = {
      "scaling_cur_freq", "scaling_min_freq", "scaling_max_freq",
      "cpuinfo_cur_freq", "cpuinfo_min_freq", "cpuinfo_max_freq"};
  static constexpr double kKilohertz = 1000;
  using Cpu = std::array<SeriesHandle, kCpufreqMetrics.size()>;

  void emit(std::string_view name, Cpu& cpu, Samples& out) {
    for (std::size_t i = 0; i < kFiles.size(); ++i) {
      const auto value = files_.number({name, "cpufreq", kFiles[i]});
      if (!value) continue;  // drivers differ in what they offer; some say "<unknown>"
      if (!cpu[i].valid()) cpu[i] = out.open(kCpufreqMetrics[i], {cpu_number(name)});
      out.set(cpu[i], *value * kKilohertz);
    }
  }

  KeptDirectory directory_;
  AttributeReader files_;
  KnownEntries<Cpu> cpus_;
};

class CpuinfoCollector final : public Collector {
 public:
  explicit CpuinfoCollector(const SystemRoot& root)
      : cpuinfo_(root.proc + "/cpuinfo"),
        directory_(root.sys + "/devices/system/cpu"),
        files_(directory_.path()) {}

  [[nodiscard]] std::string_view name() const override { return "cpuinfo"; }
  [[nodiscard]] Tier tier() const override { return Tier::slow; }

  [[nodiscard]] Status collect(Samples& out) override {
    if (!directory_.rewind()) return fail_errno(errno, directory_.path());
    const auto text = cpuinfo_.read_if_there();
    infos_.begin();
    if (text) {
      for_each_cpuinfo(*text, [&](const CpuinfoEntry& cpu) {
        const SeriesHandle* series = infos_.next(EntryKey{cpu.microcode, cpu.cpu},
                                                 [&] { return std::optional(open(cpu, out)); });
        out.set(*series, 1);
      });
    }
    infos_.finish([&](SeriesHandle& gone) { out.close(gone); });
    cpus_.begin();
    online_.begin();
    while (const char* name = directory_.next()) {
      if (cpu_number(name).empty()) continue;
      // A CPU without topology is offline. One that cannot be taken offline has no file `online`.
      const bool has_topology = files_.exists({name, "topology"});
      out.set(*open_for(online_, cpu_number(name), kCpuinfoMetrics[4], out),
              files_.number({name, "online"}).value_or(has_topology ? 1 : 0));
      if (!has_topology) continue;
      emit(name, *cpus_.next(name, [&] { return std::optional(make(name, out)); }), out);
    }
    online_.finish([&](SeriesHandle& gone) { out.close(gone); });
    emit_isolated(out);
    cpus_.finish([&](Cpu& gone) {
      out.close(gone.topology);
      out.close(gone.core_throttles);
      out.close(gone.package_throttles);
    });
    return {};
  }

 private:
  struct Cpu {
    SeriesHandle topology;
    SeriesHandle core_throttles;     // of the first CPU of a core
    SeriesHandle package_throttles;  // of the first CPU of a package
  };

  static SeriesHandle* open_for(KnownSeries& known, std::string_view number,
                                const MetricDescriptor& metric, Samples& out) {
    return known.next(number, [&] { return std::optional(out.open(metric, {number})); });
  }

  void emit_isolated(Samples& out) {
    isolated_.begin();
    for_each_in_cpu_list(files_.read({"isolated"}).value_or(""), [&](std::uint32_t cpu) {
      char digits[16];
      const auto end = std::to_chars(std::begin(digits), std::end(digits), cpu).ptr;
      out.set(*open_for(isolated_, std::string_view(digits, end), kCpuinfoMetrics[5], out), 1);
    });
    isolated_.finish([&](SeriesHandle& gone) { out.close(gone); });
  }

  // The microcode's version may change while the host runs: it is part of the entry's name.
  static SeriesHandle open(const CpuinfoEntry& cpu, Samples& out) {
    return out.open(kCpuinfoMetrics[0],
                    {cpu.package, cpu.core, cpu.cpu, cpu.vendor, cpu.family, cpu.model,
                     cpu.model_name, cpu.microcode, cpu.stepping, cpu.cache_size});
  }

  Cpu make(std::string_view name, Samples& out) {
    const std::string_view number = cpu_number(name);
    const std::string package = text_of(name, "physical_package_id");
    const std::string core = text_of(name, "core_id");
    Cpu cpu;
    cpu.topology = out.open(kCpuinfoMetrics[1], {number, package, core, node_of(name)});
    if (!files_.exists({name, "thermal_throttle"})) return cpu;
    if (is_first_of(name, number, "core_cpus_list", "thread_siblings_list")) {
      cpu.core_throttles = out.open(kCpuinfoMetrics[2], {package, core});
    }
    if (is_first_of(name, number, "package_cpus_list", "core_siblings_list")) {
      cpu.package_throttles = out.open(kCpuinfoMetrics[3], {package});
    }
    return cpu;
  }

  void emit(std::string_view name, Cpu& cpu, Samples& out) {
    out.set(cpu.topology, 1);
    const auto set = [&](SeriesHandle series, std::string_view file) {
      if (!series.valid()) return;
      if (const auto value = files_.number({name, "thermal_throttle", file})) {
        out.set(series, *value);
      }
    };
    set(cpu.core_throttles, "core_throttle_count");
    set(cpu.package_throttles, "package_throttle_count");
  }

  std::string text_of(std::string_view name, std::string_view file) {
    return std::string(files_.read({name, "topology", file}).value_or(""));
  }

  // The CPU's directory has a link to its node: cpu3/node1.
  std::string node_of(std::string_view name) {
    KeptDirectory links(directory_.path() + "/" + std::string(name));
    if (!links.rewind()) return "";
    constexpr std::string_view kNode = "node";
    while (const char* link = links.next()) {
      const std::string_view text(link);
      if (!text.starts_with(kNode)) continue;
      if (parse_number<std::uint32_t>(text.substr(kNode.size()))) {
        return std::string(text.substr(kNode.size()));
      }
    }
    return "";
  }

  // `older`: the file's name on kernels before 5.2.
  bool is_first_of(std::string_view name, std::string_view number, std::string_view file,
                   std::string_view older) {
    std::string list = text_of(name, file);
    if (list.empty()) list = text_of(name, older);
    std::optional<std::uint32_t> first;
    for_each_in_cpu_list(list, [&](std::uint32_t cpu) {
      if (!first) first = cpu;
    });
    return first && parse_number<std::uint32_t>(number) == *first;
  }

  KeptFile cpuinfo_;
  KeptDirectory directory_;
  AttributeReader files_;
  KnownSeries infos_;
  KnownSeries online_;
  KnownSeries isolated_;
  KnownEntries<Cpu> cpus_;
};

}  // namespace

std::unique_ptr<Collector> make_cpufreq_collector(const SystemRoot& root) {
  return std::make_unique<CpufreqCollector>(root);
}

std::unique_ptr<Collector> make_cpuinfo_collector(const SystemRoot& root) {
  return std::make_unique<CpuinfoCollector>(root);
}

}  // namespace dynolog
