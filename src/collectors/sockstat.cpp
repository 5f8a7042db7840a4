// Collector `sockstat`.
#include "collectors/sockstat.h"

#include "base/file.h"
#include "collectors/known_entries.h"
#include "kernel/net_snmp.h"

namespace dynolog {
namespace {

class SockstatCollector final : public Collector {
 public:
  SockstatCollector(const SystemRoot& root, long page_size)
      : ipv4_(root.proc + "/net/sockstat", Records::one_piece),
        ipv6_(root.proc + "/net/sockstat6", Records::one_piece),
        page_size_(static_cast<double>(page_size)) {}

  [[nodiscard]] std::string_view name() const override { return "sockstat"; }
  [[nodiscard]] Tier tier() const override { return Tier::fast; }

  [[nodiscard]] Status collect(Samples& out) override {
    const auto ipv4 = ipv4_.read();
    if (!ipv4) return std::unexpected(ipv4.error());
    const auto ipv6 = ipv6_.read_if_there();  // not without IPv6
    fields_.begin();
    const auto visit = [&](std::string_view protocol, std::string_view field,
                           std::optional<double> value) {
      const Field* known =
          fields_.next(EntryKey{protocol, field}, [&] { return open(protocol, field, out); });
      set_or_malformed(out, known->series, value);
      if (known->bytes.valid() && value) out.set(known->bytes, *value * page_size_);
    };
    for_each_sockstat_field(*ipv4, visit);
    if (ipv6) for_each_sockstat_field(*ipv6, visit);
    fields_.finish([&](Field& gone) {
      out.close(gone.series);
      out.close(gone.bytes);
    });
    return {};
  }

 private:
  struct Field {
    SeriesHandle series;
    SeriesHandle bytes;  // of fields that count pages
  };

  static std::optional<Field> open(std::string_view protocol, std::string_view field,
                                   Samples& out) {
    Field opened{out.open(kSockstatMetrics[0], {protocol, field}), {}};
    if (field == "mem") opened.bytes = out.open(kSockstatMetrics[1], {protocol});
    return opened;
  }

  KeptFile ipv4_;
  KeptFile ipv6_;
  double page_size_;
  KnownEntries<Field> fields_;
};

}  // namespace

std::unique_ptr<Collector> make_sockstat_collector(const SystemRoot& root, long page_size) {
  return std::make_unique<SockstatCollector>(root, page_size);
}

}  // namespace dynolog
