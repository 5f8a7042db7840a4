// Collector `udp_queues`.
#include "collectors/udp_queues.h"

#include "base/file.h"
#include "kernel/udp_sockets.h"

namespace dynolog {
namespace {

class UdpQueuesCollector final : public Collector {
 public:
  explicit UdpQueuesCollector(const SystemRoot& root)
      : families_{Family{"v4", KeptFile(root.proc + "/net/udp", Records::short_ones)},
                  Family{"v6", KeptFile(root.proc + "/net/udp6", Records::short_ones)}} {}

  [[nodiscard]] std::string_view name() const override { return "udp_queues"; }
  // The kernel walks through all its UDP sockets.
  [[nodiscard]] Tier tier() const override { return Tier::medium; }

  [[nodiscard]] Status collect(Samples& out) override {
    int error = 0;
    bool any = false;
    for (Family& family : families_) {
      const auto text = family.file.read_if_there();
      if (!text) {
        error = text.error();
        continue;
      }
      any = true;
      if (!family.sending.valid()) {
        family.sending = out.open(kUdpQueuesMetrics[0], {"tx", family.name});
        family.received = out.open(kUdpQueuesMetrics[0], {"rx", family.name});
      }
      const UdpQueues queues = sum_udp_queues(*text);
      out.set(family.sending, static_cast<double>(queues.sending));
      out.set(family.received, static_cast<double>(queues.received));
    }
    if (any) return {};
    return fail_errno(error, families_.front().file.path());
  }

 private:
  struct Family {
    std::string_view name;
    KeptFile file;
    SeriesHandle sending{}, received{};
  };
  std::array<Family, 2> families_;
};

}  // namespace

std::unique_ptr<Collector> make_udp_queues_collector(const SystemRoot& root) {
  return std::make_unique<UdpQueuesCollector>(root);
}

}  // namespace dynolog
