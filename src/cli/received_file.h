// A file that dyno writes on its user's side, piece by piece: under a name that nobody knows until
// it is whole, then under its own.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/error.h"

namespace dynolog {

// `name`, or `name` with ".gz".
[[nodiscard]] std::string stored_name(const std::string& name, bool gzip);

// One component of a path that a file may be given: not "", ".", "..", and short enough for the
// name of its temporary. An error (invalid) says what is wrong.
[[nodiscard]] Status check_file_name(std::string_view name);

class ReceivedFile {
 public:
  // `name` is one component; `gzip` compresses into one gzip member. The directory is held from
  // here on, whatever happens to its path.
  [[nodiscard]] static Result<std::unique_ptr<ReceivedFile>> create(const std::string& directory,
                                                                    const std::string& name,
                                                                    bool gzip);
  virtual ~ReceivedFile() = default;  // removes what was not finished

  // Errors tell no room (exhausted), a quota or a limit apart from each other, in sentences.
  [[nodiscard]] virtual Status write(std::string_view plain) = 0;
  // What was written so far is void: another file begins.
  [[nodiscard]] virtual Status restart() = 0;
  // On the disk, and under its name. Once; nothing may follow but side_car().
  [[nodiscard]] virtual Status finish() = 0;
  // .dynolog/<name>.json beside it: the JSON object in the text, with the file's name as "file".
  [[nodiscard]] virtual Status side_car(std::string_view json) = 0;

  [[nodiscard]] virtual const std::string& path() const = 0;  // the final one
  [[nodiscard]] virtual std::uint64_t bytes() const = 0;      // of the file as it is stored
  [[nodiscard]] virtual bool replaced() const = 0;            // an older one, by finish()
};

}  // namespace dynolog
