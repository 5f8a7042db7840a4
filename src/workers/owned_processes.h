// The processes that a files worker serves: their roots are opened while it is still root, then it
// becomes their owner.
#pragma once

#include <map>
#include <vector>

#include "base/error.h"
#include "base/ids.h"
#include "base/system_root.h"
#include "base/unique_fd.h"
#include "workers/files_worker.h"

namespace dynolog {

class OwnedProcesses {
 public:
  // Opens every root, then drops privileges for good. An error when there is nothing to serve: no
  // process is left, or their uid cannot be taken.
  [[nodiscard]] static Result<OwnedProcesses> take(const SystemRoot& root,
                                                   const std::vector<FilesIdentity>& identities);

  // The process's root directory; an error says why it has none.
  [[nodiscard]] Result<int> root_of(Pid pid) const;
  [[nodiscard]] Uid uid() const { return uid_; }

 private:
  Uid uid_;
  std::map<Pid, Result<UniqueFd>> roots_;
};

}  // namespace dynolog
