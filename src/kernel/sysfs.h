// Reading small attribute files under one directory, and listing directories again and again.
#pragma once

#include <dirent.h>

#include <array>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/unique_fd.h"

namespace dynolog {

// Attributes of sysfs: opened, read and closed each time, as there may be thousands of them, and
// devices come and go. The steady state allocates nothing.
class AttributeReader {
 public:
  explicit AttributeReader(std::string directory) : directory_(std::move(directory)) {}

  // The text of directory/part/part without blanks at its ends, valid until the next read; at most
  // 4096 bytes, as sysfs has it. nullopt when there is no such file or it has no value: drivers
  // answer EINVAL for what they do not know.
  [[nodiscard]] std::optional<std::string_view> read(std::initializer_list<std::string_view> parts);
  // The whole of a longer text, as debugfs has them, at most 256 KiB.
  [[nodiscard]] std::optional<std::string_view> read_long(
      std::initializer_list<std::string_view> parts);
  // read() as a number; nullopt for what is none. "0x" begins a hexadecimal one.
  [[nodiscard]] std::optional<double> number(std::initializer_list<std::string_view> parts);
  [[nodiscard]] bool exists(std::initializer_list<std::string_view> parts);
  // Tells a device from another one that has its name by now; 0: there is none.
  [[nodiscard]] std::uint64_t identity(std::initializer_list<std::string_view> parts);

  // Calls `read()`, for which all parts are below directory/part/part: of many files in one place,
  // the path there is walked once, and what a link names stays one device. False: there is no such
  // directory, and nothing was called.
  template <class Read>
  [[nodiscard]] bool within(std::initializer_list<std::string_view> parts, Read&& read) {
    if (!enter(parts)) return false;
    read();
    inside_.reset();
    return true;
  }

  // Why the last read(), read_long() or number() had nothing: an errno; 0 when it had, or when it
  // was no number.
  [[nodiscard]] int error() const { return error_; }

 private:
  [[nodiscard]] bool enter(std::initializer_list<std::string_view> parts);
  // Sets path_; returns what it is relative to.
  int set_path(std::initializer_list<std::string_view> parts);
  [[nodiscard]] UniqueFd open(std::initializer_list<std::string_view> parts);

  std::string directory_;
  UniqueFd inside_;
  std::string path_;
  int error_ = 0;
  std::array<char, 4096> buffer_{};
  std::string long_buffer_;
};

// A directory that is kept open and listed again from its beginning.
class KeptDirectory {
 public:
  explicit KeptDirectory(std::string path) : path_(std::move(path)) {}

  // False, with errno set, when it cannot be opened.
  [[nodiscard]] bool rewind();
  // Forgets the open directory: one that was removed and made anew lists nothing for ever.
  void close() { stream_.reset(); }
  // The next name but "." and "..", valid until the next call; nullptr at the end.
  [[nodiscard]] const char* next();
  [[nodiscard]] int descriptor() const { return ::dirfd(stream_.get()); }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  struct Closer {
    void operator()(DIR* stream) const { ::closedir(stream); }
  };
  std::string path_;
  std::unique_ptr<DIR, Closer> stream_;
};

}  // namespace dynolog
