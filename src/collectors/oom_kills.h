// The kernel's count of processes that it killed for want of memory, as events.
#pragma once

#include <fmt/format.h>

#include <optional>
#include <string>
#include <string_view>

#include "metrics/samples.h"

namespace dynolog {

class OomKills {
 public:
  // Tells of those since the last call. `subject`: "host", or a control group's name.
  void take(double count, std::string_view subject, Samples& out) {
    const double more = last_ ? count - *last_ : 0;
    last_ = count;
    if (more <= 0) return;
    const auto killed = static_cast<std::uint64_t>(more);
    out.tell({.time = out.wall(),
              .kind = "host.oom_kill",
              .subject = std::string(subject),
              .text = fmt::format("the kernel killed {} process{} for want of memory", killed,
                                  killed == 1 ? "" : "es"),
              .fields = {{"count", fmt::format("{}", killed)}}});
  }

 private:
  std::optional<double> last_;
};

}  // namespace dynolog
