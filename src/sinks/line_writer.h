// Lines to a file, pipe, terminal or socket that may stall: a bounded queue and a thread of its
// own.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>

#include "base/error.h"
#include "base/unique_fd.h"
#include "metrics/sink.h"
#include "sinks/options.h"

namespace dynolog {

// The destructor writes what can be written without waiting, and ends at once.
class LineWriter {
 public:
  // Appends, and rotates; see RotatingFile.
  [[nodiscard]] static Result<std::unique_ptr<LineWriter>> to_file(const std::string& path,
                                                                   FileRotation rotation,
                                                                   std::size_t max_queued_bytes);
  // Does not change the flags of the file that `fd` shares with others.
  [[nodiscard]] static Result<std::unique_ptr<LineWriter>> to_descriptor(
      int fd, std::size_t max_queued_bytes);
  virtual ~LineWriter() = default;

  // Never blocks. `line` without its newline. When the queue is full the oldest lines go; one that
  // has begun to be written is completed.
  virtual void put(std::string line) = 0;
  [[nodiscard]] virtual SinkQueue queue() const = 0;
  // What went wrong, until a line gets through again.
  [[nodiscard]] virtual std::optional<Error> problem() const = 0;
};

}  // namespace dynolog
