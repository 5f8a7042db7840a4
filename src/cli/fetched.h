// What became of a file that dyno brings to its own side.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace dynolog {

struct Fetched {
  enum class State { waiting, running, saved, failed };
  std::int64_t pid = 0;
  State state = State::waiting;
  std::string path;          // where it lies, when saved
  std::uint64_t have = 0;    // plain bytes that came
  std::uint64_t total = 0;   // plain bytes of the file; 0: not known yet
  std::uint64_t stored = 0;  // bytes of the file as it lies there
  double seconds = 0;        // since it was begun
  std::string problem;       // a sentence, when failed
  std::vector<std::string> notes = {};
};

}  // namespace dynolog
