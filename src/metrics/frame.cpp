// Words for absent values.
#include "metrics/frame.h"

namespace dynolog {

std::string_view to_string(AbsentReason reason) {
  switch (reason) {
    case AbsentReason::not_reported:
      return "not_reported";
    case AbsentReason::unavailable:
      return "unavailable";
    case AbsentReason::unreadable:
      return "unreadable";
    case AbsentReason::malformed:
      return "malformed";
    case AbsentReason::implausible:
      return "implausible";
    case AbsentReason::stale:
      return "stale";
    case AbsentReason::limit:
      return "limit";
  }
  return "";
}

}  // namespace dynolog
