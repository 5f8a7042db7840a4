// From a checked file under a name of ours to the file that was asked for: completed, compressed,
// renamed or copied, with a side-car. All by held descriptors: what stands under a name in a
// directory of its user may change at any moment. Called as the process's owner, from the worker's
// only thread; whatever thread is started here has ended on return.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "artifacts/trace_directory.h"
#include "artifacts/trace_file.h"
#include "base/error.h"
#include "base/ids.h"
#include "base/unique_fd.h"

namespace dynolog {

// A file that was written and checked.
struct StagedFile {
  TraceDirectory directory;                    // with the name that it has now
  UniqueFd fd;                                 // for reading: the very file that was checked
  FileStamp stamp;                             // as it was checked
  std::optional<std::uint64_t> closing_brace;  // of a trace that is whole and not compressed
};

// Whether the name still leads to the file that was checked, and nobody wrote to it, gave it
// another name or another owner. An error (denied; not_found when it was removed) says what
// happened.
[[nodiscard]] Status still_as_checked(const StagedFile& staged, Uid owner);

// Puts `, "distributedInfo": OBJECT}` in the place of the closing brace, and updates the stamp. The
// file keeps its name. `object` is the text of a JSON object of at most 64 KiB. An error leaves the
// file as it was, or says that it did not.
[[nodiscard]] Status add_distributed_info(StagedFile& staged, const std::string& object, Uid owner);

struct DeliverTo {
  const TraceDirectory& directory;  // with the name that the file is to have
  bool gzip = false;                // "<name>.gz" then, unless the name ends in .gz already
  std::string side_car;             // JSON text for .dynolog/<name>.json; "": none
};
struct DeliveredFile {
  std::string path;     // in the process's view
  std::string file_id;  // "dev:inode"
  std::uint64_t bytes = 0;
  std::vector<std::string> notes;  // sentences: copied, and why; what of the rest did not work
};
// A rename where both directories are of one file system and nothing is compressed; otherwise a
// copy into a temporary of a random name (O_EXCL), renamed when it is whole, after which the staged
// file is removed. A partial copy is removed. A plain file of the owner under the target's name is
// replaced, anything else is an error. Errors: exhausted "no room: SAVED of TOTAL bytes ...", or
// "over the disk quota of uid ...", with where the file still is; denied when the file is not
// the one that was checked. Compression runs at nice 10 on a thread of its own, whatever the
// calling thread's priority is. `meanwhile` is called every 16 MiB or so, from the calling thread;
// it may be empty.
[[nodiscard]] Result<DeliveredFile> deliver_file(const StagedFile& staged, const DeliverTo& to,
                                                 Uid owner, const std::function<void()>& meanwhile);

// Removes the staged file if it is still the one that was checked, unchanged. One that is gone
// already is no error.
[[nodiscard]] Status remove_staged(const StagedFile& staged);

}  // namespace dynolog
