// Collector `rapl`. Reading a counter may ask another CPU for a register: once a minute.
#include "collectors/rapl.h"

#include <algorithm>
#include <cerrno>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/ascii.h"
#include "base/number.h"
#include "kernel/sysfs.h"

namespace dynolog {
namespace {

constexpr double kMicro = 1e6;

struct ZoneName {
  std::string name;
  std::string index;
};

// "package-1" is package 1; of those without a number ("dram") it is how many came before.
ZoneName zone_name(std::string_view text, std::map<std::string, int>& uses) {
  ZoneName zone{std::string(text), ""};
  const std::size_t dash = text.find('-');
  if (dash != std::string_view::npos && parse_number<std::uint32_t>(text.substr(dash + 1))) {
    zone = {std::string(text.substr(0, dash)), std::string(text.substr(dash + 1))};
  } else {
    zone.index = std::to_string(uses[zone.name]++);
  }
  std::ranges::replace_if(zone.name, std::not_fn(is_alnum), '_');
  return zone;
}

class RaplCollector final : public Collector {
 public:
  explicit RaplCollector(const SystemRoot& root)
      : directory_(root.sys + "/class/powercap"), files_(directory_.path()) {}

  [[nodiscard]] std::string_view name() const override { return "rapl"; }
  [[nodiscard]] Tier tier() const override { return Tier::slow; }

  [[nodiscard]] Status collect(Samples& out) override {
    if (auto found = find_zones(out); !found) return found;
    if (zones_.empty()) {
      return fail(ErrorKind::unavailable,
                  "no zone of energy in " + directory_.path() + ": a virtual machine has none");
    }
    int error = 0;
    bool any = false;
    for (Zone& zone : zones_) {
      any = emit(zone, out) || any;
      error = std::max(error, files_.error());
    }
    if (any) return {};
    if (error == EACCES) {
      return fail(ErrorKind::denied, "counters of energy in " + directory_.path() +
                                         " are readable by root only: they tell what others "
                                         "compute");
    }
    if (error != 0) return fail_errno(error, directory_.path());
    return fail(ErrorKind::failed, "no counter in " + directory_.path() + " is a number");
  }

 private:
  struct Zone {
    std::string entry;
    std::optional<double> range;  // the largest count; after it the counter begins anew
    std::optional<double> last;
    double before = 0;  // microjoules of the counter's rounds before this one
    SeriesHandle series;
  };

  // Which zones there are changes with drivers only, and then their indices do.
  Status find_zones(Samples& out) {
    if (!directory_.rewind()) {
      const int error = errno;
      forget(out);
      return fail_errno(error, directory_.path());
    }
    std::size_t known = 0;
    bool changed = false;
    while (const char* entry = directory_.next()) {
      if (std::ranges::find(entries_, entry) == entries_.end()) changed = true;
      ++known;
    }
    if (known == 0) directory_.close();
    if (!changed && known == entries_.size()) return {};
    forget(out);
    if (directory_.rewind()) {
      while (const char* entry = directory_.next()) entries_.emplace_back(entry);
    }
    std::ranges::sort(entries_);
    std::map<std::string, int> uses;
    for (const std::string& entry : entries_) {
      const auto text = files_.read({entry, "name"});
      if (!text) continue;  // a type of control, not a zone
      const ZoneName zone = zone_name(*text, uses);
      const std::string path = "/sys/class/powercap/" + entry;
      Zone& added = zones_.emplace_back();
      added.entry = entry;
      added.range = files_.number({entry, "max_energy_range_uj"});
      added.series = out.open(kRaplMetrics[0], {zone.name, zone.index, path});
    }
    return {};
  }

  void forget(Samples& out) {
    for (Zone& zone : zones_) out.close(zone.series);
    zones_.clear();
    entries_.clear();
  }

  // False: it cannot be read, and files_ knows why.
  bool emit(Zone& zone, Samples& out) {
    const auto count = files_.number({zone.entry, "energy_uj"});
    if (!count) return false;
    if (zone.last && *count < *zone.last && zone.range) zone.before += *zone.range;
    zone.last = count;
    out.set(zone.series, (zone.before + *count) / kMicro);
    return true;
  }

  KeptDirectory directory_;
  AttributeReader files_;
  std::vector<std::string> entries_;  // what the directory holds, sorted
  std::vector<Zone> zones_;           // those of them that are zones
};

}  // namespace

std::unique_ptr<Collector> make_rapl_collector(const SystemRoot& root) {
  return std::make_unique<RaplCollector>(root);
}

}  // namespace dynolog
