// User names for display and selection, from the passwd file alone: a name service may hang.
#pragma once

#include <sys/stat.h>

#include <map>
#include <optional>
#include <string>

#include "base/ids.h"

namespace dynolog {

class Users {
 public:
  explicit Users(std::string passwd_file) : passwd_file_(std::move(passwd_file)) {}

  // The name, or the number as text where the file has none (`dyno` asks its own name service
  // then).
  [[nodiscard]] std::string name(Uid uid) const;
  // A number as it is; a name by the file.
  [[nodiscard]] std::optional<Uid> find(const std::string& name_or_number) const;

  // The file's names, read anew when it has changed.
  [[nodiscard]] const std::map<std::uint32_t, std::string>& names() const;

 private:
  struct Known {
    struct stat file{};
    std::map<std::uint32_t, std::string> names;
  };

  std::string passwd_file_;
  mutable Known known_;
};

}  // namespace dynolog
