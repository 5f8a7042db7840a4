// The layout of a portable installation, read from the path of what runs.
#include "base/portable_layout.h"

namespace dynolog {
namespace {

// "/opt/d" of "/opt/d/lib/dynolog/glibc/ld.so" and directory "/lib/dynolog/glibc"; else "".
std::string_view prefix_of(std::string_view executable, std::string_view directory) {
  const std::size_t slash = executable.rfind('/');
  if (slash == std::string_view::npos) return "";
  const std::string_view folder = executable.substr(0, slash);
  if (!folder.ends_with(directory)) return "";
  return folder.substr(0, folder.size() - directory.size());
}

}  // namespace

bool is_portable_loader(std::string_view executable) {
  return !prefix_of(executable, kPortableLibc).empty();
}

std::string portable_launcher(std::string_view executable, std::string_view name) {
  std::string_view prefix = prefix_of(executable, kPortableLibc);
  if (prefix.empty()) prefix = prefix_of(executable, kPortablePrograms);
  if (prefix.empty()) return "";
  return std::string(prefix) + "/bin/" + std::string(name);
}

}  // namespace dynolog
