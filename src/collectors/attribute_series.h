// Series of a device whose values are attribute files, one a file, or whose labels are.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "metrics/descriptor.h"
#include "metrics/samples.h"

namespace dynolog {

// A number of a file, and the series that it is.
struct AttributeMetric {
  std::string_view file;
  const MetricDescriptor* metric;
  double divisor = 1;        // the file's number by this is the value
  std::string_view field{};  // the last label, where one metric is of several files
};

// The series of `N` files of one device. A series is opened at its file's first value: devices
// differ in what they offer.
template <std::size_t N>
class AttributeSeries {
 public:
  // `device`: the labels that all of them share.
  void set(std::size_t file, const AttributeMetric& attribute,
           std::span<const std::string_view> device, std::optional<double> number, Samples& out) {
    if (!number) return;
    SeriesHandle& series = series_[file];
    if (!series.valid()) series = open(attribute, device, out);
    out.set(series, *number / attribute.divisor);
  }
  void close(Samples& out) {
    for (SeriesHandle& series : series_) out.close(series);
  }

 private:
  static constexpr std::size_t kMostLabels = 4;

  static SeriesHandle open(const AttributeMetric& attribute,
                           std::span<const std::string_view> device, Samples& out) {
    std::array<std::string_view, kMostLabels> labels{};
    std::size_t count = std::min(device.size(), kMostLabels - 1);
    std::copy_n(device.begin(), count, labels.begin());
    if (!attribute.field.empty()) labels[count++] = attribute.field;
    return out.open(*attribute.metric, std::span(labels).first(count));
  }

  std::array<SeriesHandle, N> series_;
};

// One series of value 1 whose last `N` labels are texts: when one changes, it is another series.
template <std::size_t N>
class InfoSeries {
 public:
  // The text of one label; call for each of them, then emit().
  void take(std::size_t label, std::string_view text) {
    if (texts_[label] == text) return;
    texts_[label] = text;
    changed_ = true;
  }
  void emit(const MetricDescriptor& metric, std::string_view device, Samples& out) {
    if (changed_ || !series_.valid()) {
      out.close(series_);
      std::array<std::string_view, N + 1> labels{device};
      std::ranges::copy(texts_, labels.begin() + 1);
      series_ = out.open(metric, labels);
      changed_ = false;
    }
    out.set(series_, 1);
  }
  void close(Samples& out) { out.close(series_); }

 private:
  std::array<std::string, N> texts_;
  SeriesHandle series_;
  bool changed_ = true;
};

}  // namespace dynolog
