// Asks systemd how units are, over the system's bus. For worker processes: a bus may keep its
// caller waiting, and libsystemd is loaded here and nowhere else.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "metrics/unit_state.h"

namespace dynolog {

class SystemdUnits {
 public:
  // libsystemd is loaded with the first question, and stays.
  [[nodiscard]] static std::shared_ptr<SystemdUnits> make();
  virtual ~SystemdUnits() = default;

  // At most kMaxUnits, in systemd's order; those that there are not too. From one thread at a time.
  // Answers within seconds once the bus has greeted; until then it may wait for ever.
  [[nodiscard]] virtual Result<std::vector<UnitState>> read(
      const std::vector<std::string>& names) = 0;
};

}  // namespace dynolog
