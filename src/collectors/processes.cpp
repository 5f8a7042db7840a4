// Collector `processes`. It looks at each process, at some 10 us: once a minute.
#include "collectors/processes.h"

#include "base/file.h"
#include "kernel/process_census.h"
#include "kernel/scan.h"

namespace dynolog {
namespace {

constexpr const MetricDescriptor& kState = kProcessesMetrics[0];
constexpr std::string_view kUsualStates = "RSDTtZI";

class ProcessesCollector final : public Collector {
 public:
  explicit ProcessesCollector(const SystemRoot& root)
      : taker_(root.proc),
        limit_(root.proc + "/sys/kernel/pid_max"),
        threads_limit_(root.proc + "/sys/kernel/threads-max") {}

  [[nodiscard]] std::string_view name() const override { return "processes"; }
  [[nodiscard]] Tier tier() const override { return Tier::slow; }

  [[nodiscard]] Status collect(Samples& out) override {
    const auto census = taker_.take();
    if (!census) return std::unexpected(census.error());
    if (!census->has_init) {
      return fail(ErrorKind::unavailable,
                  "/proc hides other users' processes (hidepid): run the daemon as root or as a "
                  "member of the group that may see them");
    }
    emit_states(*census, out);
    set(1, static_cast<double>(census->processes), out);
    set(2, static_cast<double>(census->threads), out);
    set(3, number_in(limit_), out);
    set(4, number_in(threads_limit_), out);
    return {};
  }

 private:
  // That nothing is in a state is news, if it is a usual one; others begin when first seen.
  void emit_states(const ProcessCensus& census, Samples& out) {
    for (std::size_t i = 0; i < states_.size(); ++i) {
      if (!states_[i].valid()) {
        const char letter = static_cast<char>(i);
        if (census.by_state[i] == 0 && !kUsualStates.contains(letter)) continue;
        states_[i] = out.open(kState, {std::string_view(&letter, 1)});
      }
      out.set(states_[i], census.by_state[i]);
    }
  }

  static std::optional<double> number_in(KeptFile& file) {
    const auto text = file.read_if_there();
    return text ? single_value(*text) : std::nullopt;
  }

  void set(std::size_t metric, std::optional<double> value, Samples& out) {
    if (!value) return;
    if (!series_[metric].valid()) series_[metric] = out.open(kProcessesMetrics[metric], {});
    out.set(series_[metric], *value);
  }

  CensusTaker taker_;
  KeptFile limit_;
  KeptFile threads_limit_;
  std::array<SeriesHandle, 128> states_;
  std::array<SeriesHandle, kProcessesMetrics.size()> series_;
};

}  // namespace

std::unique_ptr<Collector> make_processes_collector(const SystemRoot& root) {
  return std::make_unique<ProcessesCollector>(root);
}

}  // namespace dynolog
