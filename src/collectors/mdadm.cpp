// Collector `mdadm`.
#include "collectors/mdadm.h"

#include "base/file.h"
#include "collectors/known_entries.h"
#include "kernel/mdstat.h"

namespace dynolog {
namespace {

// In the order of MdActivity, under node_exporter's names.
constexpr std::array<std::string_view, 5> kStates = {"active", "inactive", "recovering", "resync",
                                                     "check"};
constexpr std::array<std::string_view, 3> kDiskStates = {"active", "failed", "spare"};

class MdadmCollector final : public Collector {
 public:
  explicit MdadmCollector(const SystemRoot& root) : file_(root.proc + "/mdstat") {}

  [[nodiscard]] std::string_view name() const override { return "mdadm"; }
  [[nodiscard]] Tier tier() const override { return Tier::medium; }

  [[nodiscard]] Status collect(Samples& out) override {
    const auto text = file_.read_if_there();
    parse_mdstat(text.value_or(""), arrays_);
    known_.begin();
    for (const MdArray& array : arrays_) {
      emit(array, *known_.next(array.name, [&] { return std::optional(open(array.name, out)); }),
           out);
    }
    known_.finish([&](Known& gone) { close(gone, out); });
    if (!text) return fail_errno(text.error(), file_.path());
    return {};
  }

 private:
  struct Known {
    std::array<SeriesHandle, kStates.size()> states;
    std::array<SeriesHandle, kDiskStates.size()> disks;
    SeriesHandle required, blocks, synced;
  };

  static Known open(std::string_view name, Samples& out) {
    Known known;
    for (std::size_t i = 0; i < kStates.size(); ++i) {
      known.states[i] = out.open(kMdadmMetrics[0], {name, kStates[i]});
    }
    for (std::size_t i = 0; i < kDiskStates.size(); ++i) {
      known.disks[i] = out.open(kMdadmMetrics[1], {name, kDiskStates[i]});
    }
    known.required = out.open(kMdadmMetrics[2], {name});
    known.blocks = out.open(kMdadmMetrics[3], {name});
    known.synced = out.open(kMdadmMetrics[4], {name});
    return known;
  }

  static void emit(const MdArray& array, const Known& known, Samples& out) {
    for (std::size_t i = 0; i < kStates.size(); ++i) {
      out.set(known.states[i], static_cast<std::size_t>(array.activity) == i ? 1 : 0);
    }
    out.set(known.disks[0], array.disks_active);
    out.set(known.disks[1], array.disks_failed);
    out.set(known.disks[2], array.disks_spare);
    out.set(known.required, array.disks_required);
    out.set(known.blocks, static_cast<double>(array.blocks));
    out.set(known.synced, static_cast<double>(array.blocks_synced));
  }

  static void close(Known& gone, Samples& out) {
    for (SeriesHandle& series : gone.states) out.close(series);
    for (SeriesHandle& series : gone.disks) out.close(series);
    out.close(gone.required);
    out.close(gone.blocks);
    out.close(gone.synced);
  }

  KeptFile file_;
  std::vector<MdArray> arrays_;
  KnownEntries<Known> known_;
};

}  // namespace

std::unique_ptr<Collector> make_mdadm_collector(const SystemRoot& root) {
  return std::make_unique<MdadmCollector>(root);
}

}  // namespace dynolog
