// By what each option shows of itself.
#include "config/changes.h"

namespace dynolog {

std::vector<const OptionRow*> changed_options(const Options& before, const Options& after,
                                              Reload reload) {
  std::vector<const OptionRow*> changed;
  for (const OptionRow& row : option_rows()) {
    if (row.show == nullptr || row.reload != reload) continue;
    if (row.show(before) != row.show(after)) changed.push_back(&row);
  }
  return changed;
}

}  // namespace dynolog
