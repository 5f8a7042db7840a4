// Collector `tcpstat`. The kernel goes through its whole table of sockets: once a minute.
#include "collectors/tcpstat.h"

namespace dynolog {
namespace {

constexpr std::size_t kStates = kTcpStates.size();
constexpr std::size_t kFirstState = 1;

class TcpstatCollector final : public Collector {
 public:
  explicit TcpstatCollector(std::function<Status(TcpConnections&)> read) : read_(std::move(read)) {}

  [[nodiscard]] std::string_view name() const override { return "tcpstat"; }
  [[nodiscard]] Tier tier() const override { return Tier::slow; }

  [[nodiscard]] Status collect(Samples& out) override {
    TcpConnections connections;
    if (auto read = read_(connections); !read) return read;
    for (std::size_t i = kFirstState; i < kStates; ++i) {
      set(series_[i], kTcpStates[i], connections.by_state[i], out);
    }
    set(received_, "rx_queued_bytes", connections.receive_queue_bytes, out);
    set(sent_, "tx_queued_bytes", connections.send_queue_bytes, out);
    return {};
  }

 private:
  static void set(SeriesHandle& series, std::string_view label, std::uint64_t value, Samples& out) {
    if (!series.valid()) series = out.open(kTcpstatMetrics[0], {label});
    out.set(series, static_cast<double>(value));
  }

  std::function<Status(TcpConnections&)> read_;
  std::array<SeriesHandle, kStates> series_;
  SeriesHandle received_;
  SeriesHandle sent_;
};

}  // namespace

std::unique_ptr<Collector> make_tcpstat_collector(std::function<Status(TcpConnections&)> read) {
  return std::make_unique<TcpstatCollector>(std::move(read));
}

std::unique_ptr<Collector> make_tcpstat_collector() {
  auto diag = std::make_shared<TcpDiag>();
  return make_tcpstat_collector([diag](TcpConnections& into) { return diag->read(into); });
}

}  // namespace dynolog
