// Reading machine-id(5).
#include "daemon/machine_id.h"

#include <algorithm>

#include "base/file.h"
#include "base/text.h"

namespace dynolog {

std::string machine_id(const std::string& file) {
  constexpr std::size_t kDigits = 32;
  const auto text = read_file(file, 4096);
  if (!text) return "";
  const std::string_view id = trim(*text);
  const bool is_one = id.size() == kDigits && std::ranges::all_of(id, [](char digit) {
                        return (digit >= '0' && digit <= '9') || (digit >= 'a' && digit <= 'f');
                      });
  return is_one ? std::string(id) : "";
}

}  // namespace dynolog
