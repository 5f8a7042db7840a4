// The warnings and errors that a client writes into its trace (Kineto of PyTorch up to 2.12).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dynolog {

class ClientMessages {
 public:
  enum class Level { warning, error };

  void add(Level level, std::string_view text);

  // Errors first, each once, as "ERROR: ..." and "WARNING: ..."; at most kMaxSummaryWarnings, of
  // which the last then says how many more there were.
  [[nodiscard]] std::vector<std::string> told() const;
  // One of them says that the GPU's buffers were full and the collection was stopped.
  [[nodiscard]] bool stopped_by_gpu() const { return stopped_by_gpu_; }

 private:
  std::vector<std::string> errors_;
  std::vector<std::string> warnings_;
  std::uint64_t more_ = 0;
  bool stopped_by_gpu_ = false;
};

}  // namespace dynolog
