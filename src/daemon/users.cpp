// Reads passwd(5) anew at each question: it is small, asked rarely, and may change at any time.
#include "daemon/users.h"

#include <functional>
#include <vector>

#include "base/file.h"
#include "base/number.h"
#include "base/text.h"

namespace dynolog {
namespace {

constexpr std::size_t kMaxPasswd = 4U << 20U;
constexpr std::size_t kMaxName = 64;

// Calls back with name and uid of each line until it answers true.
void each_user(const std::string& file,
               const std::function<bool(std::string_view, std::uint32_t)>& visit) {
  const auto text = read_file(file, kMaxPasswd);
  if (!text) return;
  for (const std::string_view line : split(*text, '\n')) {
    const auto fields = split(line, ':');
    if (fields.size() < 3) continue;
    const auto uid = parse_number<std::uint32_t>(fields[2]);
    if (uid && visit(fields[0], *uid)) return;
  }
}

}  // namespace

std::string Users::name(Uid uid) const {
  std::string found = std::to_string(uid.value);
  each_user(passwd_file_, [&](std::string_view name, std::uint32_t number) {
    if (number != uid.value) return false;
    found = clean_text(name, kMaxName);
    return true;
  });
  return found;
}

std::optional<Uid> Users::find(const std::string& name_or_number) const {
  if (const auto number = parse_number<std::uint32_t>(name_or_number)) return Uid{*number};
  std::optional<Uid> found;
  each_user(passwd_file_, [&](std::string_view name, std::uint32_t number) {
    if (name != name_or_number) return false;
    found = Uid{number};
    return true;
  });
  return found;
}

}  // namespace dynolog
