// Reads passwd(5) when it has changed: a list of processes asks once for each of them.
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

bool same_file(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino && a.st_size == b.st_size &&
         a.st_mtim.tv_sec == b.st_mtim.tv_sec && a.st_mtim.tv_nsec == b.st_mtim.tv_nsec;
}

}  // namespace

const std::map<std::uint32_t, std::string>& Users::names() const {
  struct stat now{};
  if (::stat(passwd_file_.c_str(), &now) != 0) now = {};
  if (now.st_ino != 0 && same_file(now, known_.file)) return known_.names;
  known_ = {.file = now, .names = {}};
  each_user(passwd_file_, [&](std::string_view name, std::uint32_t number) {
    known_.names.try_emplace(number, clean_text(name, kMaxName));  // the first of several counts
    return false;
  });
  return known_.names;
}

std::string Users::name(Uid uid) const {
  const auto& known = names();
  const auto found = known.find(uid.value);
  return found == known.end() ? std::to_string(uid.value) : found->second;
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
