// Names in a directory that is held by descriptor, where others may put something else under a name
// at any moment: who stands there, and how a new file gets its name. Nothing is ever followed.
#pragma once

#include <sys/types.h>

#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include "base/unique_fd.h"

namespace dynolog {

struct FileId {
  dev_t device = 0;
  ino_t inode = 0;
  bool operator==(const FileId&) const = default;
};
[[nodiscard]] std::string to_string(FileId id);  // "dev:inode"

// nullopt when there is none, or it cannot be looked at.
[[nodiscard]] std::optional<FileId> id_behind(int fd);
[[nodiscard]] std::optional<FileId> id_under(int directory, const std::string& name);

// "a symbolic link", "a FIFO", ...; "a plain file" too.
[[nodiscard]] std::string_view kind_of_file(mode_t mode);

// "/d/t.json"; for sentences.
[[nodiscard]] std::string joined(std::string_view directory, std::string_view name);

// Mode 0755, whatever the process's umask is (the caller's is the only thread). 0, or an errno.
[[nodiscard]] int make_directory(int parent, const std::string& name);

// A file that gets its name when it is whole. Until then it has none at all where the file system
// can do that (what a killed worker leaves behind is gone then), or one with 64 random bits.
class NewFile {
 public:
  // With mode 0600. The errno when it does not work.
  [[nodiscard]] static std::expected<NewFile, int> make(int directory);
  NewFile(NewFile&& other) noexcept;
  NewFile& operator=(NewFile&&) = delete;
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;
  ~NewFile();  // removes what was not published

  [[nodiscard]] int fd() const { return fd_.get(); }
  // Puts the file under `name`, in the place of what stands there. 0, or an errno. Whether it is
  // this file that stands there afterwards is for the caller to see.
  [[nodiscard]] int publish(const std::string& name);

 private:
  NewFile(int directory, UniqueFd fd, std::string temporary)
      : directory_(directory), fd_(std::move(fd)), temporary_(std::move(temporary)) {}
  [[nodiscard]] int link_as(const std::string& name) const;

  int directory_ = -1;     // not owned: the caller's
  UniqueFd fd_;            // for reading and writing
  std::string temporary_;  // the name that it has now; "" without one
};

}  // namespace dynolog
