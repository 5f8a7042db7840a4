// Collector `systemd`. A unit that is not loaded has no series, as with node_exporter; here it was
// asked for by name, so that it is a problem besides.
#include "collectors/systemd.h"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "collectors/known_entries.h"

namespace dynolog {
namespace {

constexpr std::array<std::string_view, 5> kStates = {"active", "activating", "deactivating",
                                                     "inactive", "failed"};

class SystemdCollector final : public Collector {
 public:
  explicit SystemdCollector(std::shared_ptr<AskedUnits> asked)
      : has_units_(asked != nullptr), answers_(std::move(asked)) {}

  [[nodiscard]] std::string_view name() const override { return "systemd"; }
  // Each question wakes the bus and process 1.
  [[nodiscard]] Tier tier() const override { return Tier::slow; }
  [[nodiscard]] bool has_news() const override { return answers_.has_news(); }
  [[nodiscard]] std::string_view problem() const override { return problem_; }

  [[nodiscard]] Status collect(Samples& out) override {
    if (!has_units_) return fail(ErrorKind::unavailable, "no unit is named by --systemd_units");
    const auto answer = answers_.take();
    if (!answer) return std::unexpected(answer.error());
    if (*answer == nullptr) return {};  // asked for a moment ago
    out.read_at((*answer)->time);
    problem_.clear();
    units_.begin();
    for (const UnitState& unit : *(*answer)->value) emit(unit, out);
    units_.finish([&](Series& gone) {
      for (SeriesHandle& series : gone) out.close(series);
    });
    return {};
  }

 private:
  using Series = std::array<SeriesHandle, kStates.size()>;

  void emit(const UnitState& unit, Samples& out) {
    if (unit.load != "loaded") {
      problem_ += fmt::format("{}{} is {}", problem_.empty() ? "" : ", ", unit.name, unit.load);
      return;
    }
    const Series* series =
        units_.next(EntryKey{unit.type, unit.name}, [&] { return open(unit, out); });
    if (series == nullptr) return;
    for (std::size_t i = 0; i < kStates.size(); ++i) {
      out.set((*series)[i], unit.state == kStates[i] ? 1 : 0);
    }
  }

  static std::optional<Series> open(const UnitState& unit, Samples& out) {
    Series series;
    for (std::size_t i = 0; i < kStates.size(); ++i) {
      series[i] = out.open(kSystemdMetrics[0], {unit.name, kStates[i], unit.type});
    }
    return series;
  }

  bool has_units_;
  AnswersTaken<std::vector<UnitState>> answers_;
  KnownEntries<Series> units_;
  std::string problem_;
};

}  // namespace

std::unique_ptr<Collector> make_systemd_collector(std::shared_ptr<AskedUnits> asked) {
  return std::make_unique<SystemdCollector>(std::move(asked));
}

}  // namespace dynolog
