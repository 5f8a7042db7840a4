// What happens to names in held directories, told by inotify: no polling, nothing missed between
// looking and watching.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "base/unique_fd.h"

namespace dynolog {

// One thing that happened. `watch` is what add() gave.
struct DirectoryEvent {
  enum class What { created, complete, gone, overflow };
  int watch = -1;  // -1 with overflow: look at everything again
  What what = What::created;
  std::string name;  // of the entry; "" with gone and overflow
};

class DirectoryWatch {
 public:
  [[nodiscard]] static Result<DirectoryWatch> make();

  // Watches the directory behind an O_PATH descriptor. Equal directories give equal numbers. The
  // caller looks at the directory once after this.
  [[nodiscard]] Result<int> add(int directory);
  void remove(int watch);
  // Whatever is there now; empty when nothing is. `created`: the name came to be, by creation or
  // rename. `complete`: it was renamed into place, or its writer closed it. `gone`: the directory
  // was removed, moved away or unmounted; its number is free afterwards.
  [[nodiscard]] std::vector<DirectoryEvent> read();
  // Readable when read() has something.
  [[nodiscard]] int fd() const { return fd_.get(); }

 private:
  explicit DirectoryWatch(UniqueFd fd) : fd_(std::move(fd)) {}
  UniqueFd fd_;
};

}  // namespace dynolog
