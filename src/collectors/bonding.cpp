// Collector `bonding`.
#include "collectors/bonding.h"

#include <string>

#include "collectors/known_entries.h"
#include "kernel/scan.h"
#include "kernel/sysfs.h"

namespace dynolog {
namespace {

class BondingCollector final : public Collector {
 public:
  explicit BondingCollector(const SystemRoot& root) : files_(root.sys + "/class/net") {}

  [[nodiscard]] std::string_view name() const override { return "bonding"; }
  [[nodiscard]] Tier tier() const override { return Tier::medium; }

  [[nodiscard]] Status collect(Samples& out) override {
    const auto text = files_.read({"bonding_masters"});
    const int error = files_.error();
    masters_ = text.value_or("");
    bonds_.begin();
    std::string_view rest = masters_;
    for (std::string_view master = take_word(rest); !master.empty(); master = take_word(rest)) {
      emit(master, *bonds_.next(master, [&] { return std::optional(open(master, out)); }), out);
    }
    bonds_.finish([&](Bond& gone) {
      for (SeriesHandle& series : gone) out.close(series);
    });
    if (text) return {};
    return fail_errno(error, "bonding_masters: the bonding driver is not loaded");
  }

 private:
  using Bond = std::array<SeriesHandle, kBondingMetrics.size()>;

  static Bond open(std::string_view master, Samples& out) {
    return {out.open(kBondingMetrics[0], {master}), out.open(kBondingMetrics[1], {master})};
  }

  void emit(std::string_view master, const Bond& bond, Samples& out) {
    const auto text = files_.read({master, "bonding", "slaves"});
    if (!text) return;  // it went since the list was read
    slaves_ = *text;
    double slaves = 0;
    double active = 0;
    std::string_view rest = slaves_;
    for (std::string_view slave = take_word(rest); !slave.empty(); slave = take_word(rest)) {
      ++slaves;
      if (files_.read({slave, "bonding_slave", "mii_status"}).value_or("") == "up") ++active;
    }
    out.set(bond[0], slaves);
    out.set(bond[1], active);
  }

  AttributeReader files_;
  std::string masters_;
  std::string slaves_;
  KnownEntries<Bond> bonds_;
};

}  // namespace

std::unique_ptr<Collector> make_bonding_collector(const SystemRoot& root) {
  return std::make_unique<BondingCollector>(root);
}

}  // namespace dynolog
