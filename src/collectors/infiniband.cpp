// Collectors `infiniband` and `infiniband_hw`. What the hardware counts is asked of the adapter's
// firmware: once a minute.
#include "collectors/infiniband.h"

#include <algorithm>
#include <vector>

#include "base/number.h"
#include "collectors/attribute_series.h"
#include "collectors/class_devices.h"

namespace dynolog {
namespace {

using infiniband_metrics::kHardwareCounters;
using infiniband_metrics::kPortCounters;

constexpr std::string_view kAmazon = "0x1d0f";

// Amazon's adapter (EFA) counts data in bytes, and among what the hardware counts.
struct EfaCounter {
  std::string_view file;
  std::size_t counter;
};

consteval std::size_t port_counter(std::string_view id) {
  std::size_t i = 0;
  while (kPortCounters.at(i).metric.id != id) ++i;  // one that there is not does not compile
  return i;
}

constexpr std::array kEfaCounters = {
    EfaCounter{"hw_counters/rx_bytes", port_counter("infiniband.bytes_received")},
    EfaCounter{"hw_counters/tx_bytes", port_counter("infiniband.bytes_sent")},
    EfaCounter{"hw_counters/rx_pkts", port_counter("infiniband.packets_received")},
    EfaCounter{"hw_counters/tx_pkts", port_counter("infiniband.packets_sent")}};

constexpr double kGigabit = 1e9 / 8;

// "4: ACTIVE" is 4.
std::optional<double> state_of(std::optional<std::string_view> text) {
  if (!text) return std::nullopt;
  const auto number = parse_number<std::uint32_t>(text->substr(0, text->find(':')));
  return number ? std::optional<double>(*number) : std::nullopt;
}

// "400 Gb/sec (4X NDR)", "2.5 Gb/sec (1X SDR)": in bytes a second.
std::optional<double> rate_of(std::optional<std::string_view> text) {
  if (!text) return std::nullopt;
  const auto number = parse_number<double>(text->substr(0, text->find(' ')));
  return number ? std::optional(*number * kGigabit) : std::nullopt;
}

bool is_efa(AttributeReader& files, std::string_view device) {
  return files.read({device, "device", "vendor"}).value_or("") == kAmazon;
}

std::vector<std::string> names_in(const std::string& path) {
  std::vector<std::string> names;
  KeptDirectory directory(path);
  if (!directory.rewind()) return names;
  while (const char* name = directory.next()) names.emplace_back(name);
  std::ranges::sort(names);
  return names;
}

Status status_of(const Status& listed, std::size_t count, const std::string& path) {
  if (!listed || count > 0) return listed;
  return fail(ErrorKind::unavailable, "no adapter in " + path);
}

class InfinibandCollector final : public Collector {
 public:
  explicit InfinibandCollector(const SystemRoot& root)
      : adapters_(root.sys + "/class/infiniband") {}

  [[nodiscard]] std::string_view name() const override { return "infiniband"; }
  [[nodiscard]] Tier tier() const override { return Tier::medium; }

  [[nodiscard]] Status collect(Samples& out) override {
    const Status listed = adapters_.visit(
        [&](std::string_view device) { return std::optional(make(device)); },
        [&](std::string_view device, Adapter& adapter) { emit(device, adapter, out); },
        [&](Adapter& gone) {
          gone.info.close(out);
          for (Port& port : gone.ports) {
            for (SeriesHandle& series : port.states) out.close(series);
            port.counters.close(out);
          }
        });
    return status_of(listed, adapters_.count(), adapters_.path());
  }

 private:
  struct Port {
    std::string number;
    std::array<SeriesHandle, 3> states;
    AttributeSeries<kPortCounters.size()> counters;
  };
  struct Adapter {
    bool is_efa = false;
    InfoSeries<3> info;
    std::vector<Port> ports;
  };

  Adapter make(std::string_view device) {
    Adapter adapter;
    adapter.is_efa = is_efa(adapters_.files(), device);
    for (std::string& number : names_in(adapters_.path() + "/" + std::string(device) + "/ports")) {
      adapter.ports.emplace_back().number = std::move(number);
    }
    return adapter;
  }

  void emit(std::string_view device, Adapter& adapter, Samples& out) {
    constexpr std::array<std::string_view, 3> kInfoFiles = {"board_id", "fw_ver", "hca_type"};
    for (std::size_t i = 0; i < kInfoFiles.size(); ++i) {
      adapter.info.take(i, adapters_.files().read({device, kInfoFiles[i]}).value_or(""));
    }
    adapter.info.emit(kInfinibandMetrics[0], device, out);
    for (Port& port : adapter.ports) {
      (void)adapters_.files().within({device, "ports", port.number}, [&] {
        emit_states(device, port, out);
        emit_counters(device, port, adapter.is_efa, out);
      });
    }
  }

  void emit_states(std::string_view device, Port& port, Samples& out) {
    const auto read = [&](std::string_view file) { return adapters_.files().read({file}); };
    const auto set = [&](std::size_t state, std::optional<double> value) {
      if (!value) return;
      SeriesHandle& series = port.states[state];
      if (!series.valid()) series = out.open(kInfinibandMetrics[1 + state], {device, port.number});
      out.set(series, *value);
    };
    set(0, state_of(read("state")));
    set(1, state_of(read("phys_state")));
    set(2, rate_of(read("rate")));
  }

  void emit_counters(std::string_view device, Port& port, bool efa, Samples& out) {
    const std::array<std::string_view, 2> labels = {device, port.number};
    const auto set = [&](std::size_t counter, std::string_view file, double divisor) {
      const AttributeMetric attribute{file, &kInfinibandMetrics[kInfinibandStates + counter],
                                      divisor};
      port.counters.set(counter, attribute, labels, adapters_.files().number({file}), out);
    };
    if (efa) {
      for (const EfaCounter& counter : kEfaCounters) set(counter.counter, counter.file, 1);
      return;
    }
    for (std::size_t i = 0; i < kPortCounters.size(); ++i) {
      set(i, kPortCounters[i].file, kPortCounters[i].divisor);
    }
  }

  ClassDevices<Adapter> adapters_;
};

class InfinibandHwCollector final : public Collector {
 public:
  explicit InfinibandHwCollector(const SystemRoot& root)
      : adapters_(root.sys + "/class/infiniband") {}

  [[nodiscard]] std::string_view name() const override { return "infiniband_hw"; }
  [[nodiscard]] Tier tier() const override { return Tier::slow; }

  [[nodiscard]] Status collect(Samples& out) override {
    const Status listed = adapters_.visit(
        [&](std::string_view device) { return std::optional(make(device)); },
        [&](std::string_view device, Adapter& adapter) { emit(device, adapter, out); },
        [&](Adapter& gone) {
          for (Counter& counter : gone) out.close(counter.series);
        });
    return status_of(listed, adapters_.count(), adapters_.path());
  }

 private:
  struct Counter {
    std::string port;
    std::string file;
    std::size_t metric = 0;
    SeriesHandle series;
  };
  using Adapter = std::vector<Counter>;  // what its ports count

  static constexpr std::size_t kLifespan = 0;
  static constexpr std::size_t kOther = 1;

  Adapter make(std::string_view device) {
    const bool efa = is_efa(adapters_.files(), device);
    const std::string ports = adapters_.path() + "/" + std::string(device) + "/ports";
    Adapter adapter;
    for (const std::string& port : names_in(ports)) {
      for (const std::string& file : names_in(ports + "/" + port + "/hw_counters")) {
        adapter.push_back({port, file, metric_of(file, efa), {}});
      }
    }
    return adapter;
  }

  static std::size_t metric_of(std::string_view file, bool efa) {
    if (file == "lifespan") return kLifespan;
    for (std::size_t i = 0; i < kHardwareCounters.size(); ++i) {
      if (kHardwareCounters[i].file == file && (efa || !kHardwareCounters[i].is_efa)) return 2 + i;
    }
    return kOther;
  }

  void emit(std::string_view device, Adapter& adapter, Samples& out) {
    constexpr double kMilliseconds = 1000;
    for (Counter& counter : adapter) {
      const auto number =
          adapters_.files().number({device, "ports", counter.port, "hw_counters", counter.file});
      if (!number) continue;
      if (!counter.series.valid()) counter.series = open(device, counter, out);
      out.set(counter.series, counter.metric == kLifespan ? *number / kMilliseconds : *number);
    }
  }

  static SeriesHandle open(std::string_view device, const Counter& counter, Samples& out) {
    const MetricDescriptor& metric = kInfinibandHwMetrics[counter.metric];
    const std::array<std::string_view, 3> labels = {device, counter.port, counter.file};
    return out.open(metric, std::span(labels).first(label_count(metric)));
  }

  ClassDevices<Adapter> adapters_;
};

}  // namespace

std::unique_ptr<Collector> make_infiniband_collector(const SystemRoot& root) {
  return std::make_unique<InfinibandCollector>(root);
}

std::unique_ptr<Collector> make_infiniband_hw_collector(const SystemRoot& root) {
  return std::make_unique<InfinibandHwCollector>(root);
}

}  // namespace dynolog
