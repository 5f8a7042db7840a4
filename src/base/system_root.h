// Where the kernel's files are. Tests and containers with mounted host trees give other places.
#pragma once

#include <string>

namespace dynolog {

struct SystemRoot {
  std::string proc = "/proc";
  std::string sys = "/sys";
  std::string dev = "/dev";
  std::string etc = "/etc";
  std::string run = "/run";
};

}  // namespace dynolog
