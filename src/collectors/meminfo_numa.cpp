// Collector `meminfo_numa`.
#include "collectors/meminfo_numa.h"

#include <cerrno>
#include <string>

#include "base/file.h"
#include "base/number.h"
#include "collectors/known_entries.h"
#include "kernel/key_values.h"
#include "kernel/meminfo.h"
#include "kernel/sysfs.h"

namespace dynolog {
namespace {

constexpr std::string_view kNode = "node";

class MeminfoNumaCollector final : public Collector {
 public:
  explicit MeminfoNumaCollector(const SystemRoot& root)
      : directory_(root.sys + "/devices/system/node") {}

  [[nodiscard]] std::string_view name() const override { return "meminfo_numa"; }
  [[nodiscard]] Tier tier() const override { return Tier::medium; }

  [[nodiscard]] Status collect(Samples& out) override {
    if (!directory_.rewind()) return fail_errno(errno, directory_.path());
    nodes_.begin();
    while (const char* name = directory_.next()) {
      Node* node = nodes_.next(name, [&] { return make(name); });
      if (node != nullptr) emit(*node, out);
    }
    nodes_.finish([&](Node& gone) { close(gone, out); });
    return {};
  }

 private:
  struct Node {
    std::string number;
    KeptFile meminfo;
    KeptFile numastat;
    KnownSeries fields;
    KnownSeries events;
  };

  std::optional<Node> make(std::string_view name) const {
    if (!name.starts_with(kNode)) return std::nullopt;
    const std::string_view number = name.substr(kNode.size());
    if (!parse_number<std::uint32_t>(number)) return std::nullopt;
    const std::string path = directory_.path() + "/" + std::string(name);
    return Node{
        std::string(number), KeptFile(path + "/meminfo"), KeptFile(path + "/numastat"), {}, {}};
  }

  // A node without memory may lack a file: it has no such series.
  static void emit(Node& node, Samples& out) {
    node.fields.begin();
    if (const auto text = node.meminfo.read_if_there()) {
      for_each_meminfo_field(*text, [&](const MeminfoField& field) {
        const SeriesHandle* series = node.fields.next(field.name, [&] {
          return std::optional(
              out.open(kMeminfoNumaMetrics[0], {node.number, meminfo_field_name(field.name)}));
        });
        set_or_malformed(out, *series, field.value);
      });
    }
    node.fields.finish([&](SeriesHandle& gone) { out.close(gone); });
    node.events.begin();
    if (const auto text = node.numastat.read_if_there()) {
      for_each_key_value(*text, [&](std::string_view event, std::optional<double> value) {
        const SeriesHandle* series = node.events.next(event, [&] {
          return std::optional(out.open(kMeminfoNumaMetrics[1], {node.number, event}));
        });
        set_or_malformed(out, *series, value);
      });
    }
    node.events.finish([&](SeriesHandle& gone) { out.close(gone); });
  }

  static void close(Node& node, Samples& out) {
    const auto close_one = [&](SeriesHandle& gone) { out.close(gone); };
    node.fields.begin();
    node.fields.finish(close_one);
    node.events.begin();
    node.events.finish(close_one);
  }

  KeptDirectory directory_;
  KnownEntries<Node> nodes_;
};

}  // namespace

std::unique_ptr<Collector> make_meminfo_numa_collector(const SystemRoot& root) {
  return std::make_unique<MeminfoNumaCollector>(root);
}

}  // namespace dynolog
