// Collector `interrupts`. The kernel writes a number for each interrupt and CPU: 400 KiB on a host
// of 192 CPUs, so not each second.
#include "collectors/interrupts.h"

#include <fmt/format.h>

#include <cstdint>
#include <vector>

#include "base/file.h"
#include "collectors/known_entries.h"
#include "kernel/interrupts.h"

namespace dynolog {
namespace {

// Counts of the interrupt controller's own, with one number for all CPUs: not among node_exporter's
// families.
bool is_of_controller(std::string_view type) { return type == "ERR" || type == "MIS"; }

class InterruptsCollector final : public Collector {
 public:
  InterruptsCollector(const SystemRoot& root, bool per_cpu)
      : file_(root.proc + "/interrupts"), per_cpu_(per_cpu) {}

  [[nodiscard]] std::string_view name() const override { return "interrupts"; }
  [[nodiscard]] Tier tier() const override { return Tier::medium; }

  [[nodiscard]] Status collect(Samples& out) override {
    const auto text = file_.read();
    if (!text) return std::unexpected(text.error());
    std::string_view rest = *text;
    previous_cpus_.swap(cpus_);
    if (!take_interrupt_cpus(rest, cpus_)) {
      return fail(ErrorKind::invalid, "/proc/interrupts: no heading of CPUs");
    }
    // A column is another CPU's now: the series begin anew, and so do sums, whose parts are others.
    if (cpus_ != previous_cpus_) close_all(out);
    std::uint32_t of_devices = 0;
    kinds_.begin();
    lines_.begin();
    InterruptLine line;
    while (take_interrupt_line(rest, line)) {
      const std::uint32_t sum = read_line(line, out);
      if (line.is_numbered()) {
        of_devices += sum;
      } else {
        set_kind(line.type, sum, out);
      }
    }
    set_kind("device", of_devices, out);
    kinds_.finish([&](SeriesHandle& gone) { out.close(gone); });
    lines_.finish([&](Line& gone) { close(gone, out); });
    return {};
  }

 private:
  using Line = std::vector<SeriesHandle>;  // one for each CPU

  // The sum over the CPUs, in as many bits as each of its parts has: when one of them wraps, the
  // sum stays true to within that. A wider sum would fall by 2^32, from a value that may be far
  // higher: whoever takes that for a reset would take what is left for an increase.
  std::uint32_t read_line(const InterruptLine& line, Samples& out) {
    Line* series = nullptr;
    if (per_cpu_ && !is_of_controller(line.type)) {
      series = lines_.next(line.type, [&] { return open(line, out); });
    }
    std::uint32_t sum = 0;
    std::string_view rest = line.rest;
    for (std::size_t i = 0; i < cpus_.size(); ++i) {
      const auto count = take_count(rest);
      if (!count) break;  // some lines have fewer
      sum += static_cast<std::uint32_t>(*count);
      if (series != nullptr && i < series->size()) {
        out.set((*series)[i], static_cast<double>(*count));
      }
    }
    return sum;
  }

  std::optional<Line> open(const InterruptLine& line, Samples& out) const {
    std::string_view rest = line.rest;
    std::size_t columns = 0;
    for (std::string_view ahead = rest; columns < cpus_.size() && take_count(ahead); ++columns) {
      rest = ahead;
    }
    const InterruptWords words = describe_interrupt(line, rest);
    Line series;
    for (std::size_t i = 0; i < columns; ++i) {
      series.push_back(out.open(kInterruptsMetrics[1],
                                {fmt::to_string(cpus_[i]), line.type, words.info, words.devices}));
    }
    return series;
  }

  void set_kind(std::string_view kind, double value, Samples& out) {
    const SeriesHandle* series =
        kinds_.next(kind, [&] { return std::optional(out.open(kInterruptsMetrics[0], {kind})); });
    out.set(*series, value);
  }

  static void close(Line& line, Samples& out) {
    for (SeriesHandle& series : line) out.close(series);
  }

  void close_all(Samples& out) {
    kinds_.begin();
    kinds_.finish([&](SeriesHandle& gone) { out.close(gone); });
    lines_.begin();
    lines_.finish([&](Line& gone) { close(gone, out); });
  }

  KeptFile file_;
  bool per_cpu_;
  std::vector<std::uint32_t> cpus_;
  std::vector<std::uint32_t> previous_cpus_;
  KnownSeries kinds_;
  KnownEntries<Line> lines_;
};

}  // namespace

std::unique_ptr<Collector> make_interrupts_collector(const SystemRoot& root,
                                                     const CollectorOptions::Interrupts& options) {
  return std::make_unique<InterruptsCollector>(root, options.per_cpu);
}

}  // namespace dynolog
