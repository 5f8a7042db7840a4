// Names of meminfo's fields.
#include "kernel/meminfo.h"

namespace dynolog {

std::string meminfo_field_name(std::string_view raw) {
  std::string name;
  for (const char letter : raw) {
    if (letter == '(') {
      name += '_';
    } else if (letter != ')') {
      name += letter;
    }
  }
  return name;
}

}  // namespace dynolog
