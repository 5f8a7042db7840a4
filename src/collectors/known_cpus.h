// The CPUs of a kernel file, remembered in its order, with their series.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "metrics/samples.h"

namespace dynolog {

// `kSeries`: how many each CPU has; the caller opens those that are not valid yet.
template <std::size_t kSeries>
class KnownCpus {
 public:
  using Series = std::array<SeriesHandle, kSeries>;

  // Begins a pass: call next() for each CPU of the text, in its order, then finish().
  void begin() { next_ = 0; }

  [[nodiscard]] Series& next(std::uint64_t number) {
    if (next_ == cpus_.size() || cpus_[next_].number != number) find_or_add(number);
    return cpus_[next_++].series;
  }

  // Closes what this pass has not seen: those CPUs are offline.
  void finish(Samples& out) {
    for (std::size_t i = next_; i < cpus_.size(); ++i) {
      for (SeriesHandle& series : cpus_[i].series) out.close(series);
    }
    cpus_.resize(next_);
  }

 private:
  struct Cpu {
    std::uint64_t number = 0;
    Series series;
  };
  void find_or_add(std::uint64_t number) {
    const auto here = cpus_.begin() + static_cast<std::ptrdiff_t>(next_);
    const auto known =
        std::find_if(here, cpus_.end(), [number](const Cpu& cpu) { return cpu.number == number; });
    if (known != cpus_.end()) {
      std::rotate(here, known, known + 1);
    } else {
      cpus_.insert(here, Cpu{number, {}});
    }
  }

  std::vector<Cpu> cpus_;
  std::size_t next_ = 0;
};

}  // namespace dynolog
