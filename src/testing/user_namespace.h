// A test's process with subordinate uids, as newuidmap gives them to a user's rootless containers.
#pragma once

#include <fcntl.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <string>
#include <string_view>

#include "base/unique_fd.h"

namespace dynolog {

namespace user_namespace_detail {

inline bool write_map(pid_t pid, const char* name, std::string_view map) {
  const std::string path = "/proc/" + std::to_string(pid) + "/" + name;
  const UniqueFd file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  return ::write(file.get(), map.data(), map.size()) == static_cast<ssize_t>(map.size());
}

}  // namespace user_namespace_detail

// The calling process becomes `owner`, enters a user namespace of its own and is root in it, where
// 0, 1, ... stand for the uids `first`, `first` + 1, ... outside. Needs root and one thread only.
inline bool enter_user_namespace(uid_t owner, uid_t first, int count) {
  std::array<int, 2> entered{};
  if (::pipe2(entered.data(), O_CLOEXEC) != 0) return false;
  const pid_t self = ::getpid();
  const pid_t helper = ::fork();  // which stays root, as newuidmap is
  if (helper == 0) {
    char byte = 0;
    ::close(entered[1]);
    const std::string map = "0 " + std::to_string(first) + " " + std::to_string(count) + "\n";
    const bool done = ::read(entered[0], &byte, 1) == 1 &&
                      user_namespace_detail::write_map(self, "uid_map", map) &&
                      user_namespace_detail::write_map(self, "gid_map", map);
    ::_exit(done ? 0 : 1);
  }
  const UniqueFd waits(entered[0]);
  UniqueFd tells(entered[1]);
  const bool made = ::setresgid(owner, owner, owner) == 0 &&
                    ::setresuid(owner, owner, owner) == 0 && ::unshare(CLONE_NEWUSER) == 0 &&
                    ::write(tells.get(), "x", 1) == 1;
  tells.reset();
  int status = -1;
  ::waitpid(helper, &status, 0);
  return made && status == 0 && ::setresgid(0, 0, 0) == 0 && ::setresuid(0, 0, 0) == 0;
}

// Whether this kernel, and whoever runs the test, can do that at all.
inline bool can_enter_user_namespace() {
  const pid_t pid = ::fork();
  if (pid == 0) ::_exit(enter_user_namespace(4321, 100000, 1) ? 0 : 1);
  int status = -1;
  ::waitpid(pid, &status, 0);
  return status == 0;
}

}  // namespace dynolog
