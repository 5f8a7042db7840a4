// Collector `netstat`.
#include "collectors/netstat.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/file.h"
#include "collectors/known_entries.h"
#include "kernel/net_snmp.h"

namespace dynolog {
namespace {

// Constants of the protocol stack among its counters: offered to nobody.
constexpr std::array<std::string_view, 5> kSettings = {"Ip_DefaultTTL", "Tcp_RtoAlgorithm",
                                                       "Tcp_RtoMin", "Tcp_RtoMax", "Tcp_MaxConn"};

class NetstatCollector final : public Collector {
 public:
  NetstatCollector(const SystemRoot& root, NamePattern wanted)
      : netstat_(root.proc + "/net/netstat", Records::one_piece),
        snmp_(root.proc + "/net/snmp", Records::one_piece),
        snmp6_(root.proc + "/net/snmp6", Records::one_piece),
        wanted_(std::move(wanted)) {}

  [[nodiscard]] std::string_view name() const override { return "netstat"; }
  [[nodiscard]] Tier tier() const override { return Tier::fast; }

  [[nodiscard]] Status collect(Samples& out) override {
    const auto netstat = netstat_.read();
    if (!netstat) return std::unexpected(netstat.error());
    const auto snmp = snmp_.read();
    if (!snmp) return std::unexpected(snmp.error());
    const auto snmp6 = snmp6_.read_if_there();  // not without IPv6
    fields_.begin();
    const auto visit = [&](std::string_view protocol, std::string_view field,
                           std::optional<double> value) {
      const SeriesHandle* series =
          fields_.next(EntryKey{protocol, field}, [&] { return open(protocol, field, out); });
      if (series != nullptr) set_or_malformed(out, *series, value);
    };
    for_each_snmp_field(*netstat, visit);
    for_each_snmp_field(*snmp, visit);
    if (snmp6) for_each_snmp6_field(*snmp6, visit);
    fields_.finish([&](SeriesHandle& gone) { out.close(gone); });
    return {};
  }

 private:
  std::optional<SeriesHandle> open(std::string_view protocol, std::string_view field,
                                   Samples& out) const {
    const std::string name = fmt::format("{}_{}", protocol, field);
    if (!wanted_.found_in(name)) return std::nullopt;
    if (std::ranges::find(kSettings, name) != kSettings.end()) return std::nullopt;
    if (name == "Tcp_CurrEstab") return out.open(kNetstatMetrics[1], {});
    if (name == "Ip_Forwarding") return out.open(kNetstatMetrics[2], {});
    return out.open(kNetstatMetrics[0], {protocol, field});
  }

  KeptFile netstat_;
  KeptFile snmp_;
  KeptFile snmp6_;
  NamePattern wanted_;
  KnownSeries fields_;
};

}  // namespace

Result<std::unique_ptr<Collector>> make_netstat_collector(
    const SystemRoot& root, const CollectorOptions::Netstat& options) {
  auto wanted = NamePattern::compile(options.fields);
  if (!wanted) return with_context(std::move(wanted.error()), "netstat_fields");
  return std::make_unique<NetstatCollector>(root, std::move(*wanted));
}

}  // namespace dynolog
