// One trace in the daemon's keeping, as three files of one directory that is the daemon's alone:
//   <pid>.json.gz    (or .pickle.gz) the pieces as they came, each a gzip member: a gzip file
//   <pid>.index      where each piece begins, so that it can be read from anywhere
//   <pid>.kept.json  what is known of it; written last: without it the rest is no whole trace
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/clock.h"
#include "base/error.h"
#include "base/ids.h"
#include "base/unique_fd.h"
#include "processes/identity.h"
#include "workers/files_worker.h"

namespace dynolog {

struct KeptFacts {
  Pid pid;
  Tenant owner;  // whose quota it counts against
  WallTime kept_at;
  bool snapshot = false;          // a memory snapshot's pickle, not JSON
  std::string stamp;              // of the file that it is a copy of
  std::uint64_t plain_bytes = 0;  // of that file
  std::uint64_t data_bytes = 0;   // here
  std::uint64_t pieces = 0;
  std::string side_car;  // JSON text, at most kMaxSideCar
  bool operator==(const KeptFacts&) const = default;
};

// Takes pieces in order, from offset 0 on. Destroyed before keep(), it leaves nothing.
class KeptFileWriter {
 public:
  // `directory` has to outlive the writer. Replaces what is there of the same pid.
  [[nodiscard]] static Result<KeptFileWriter> create(int directory, Pid pid, bool snapshot);
  KeptFileWriter(KeptFileWriter&& other) noexcept;
  KeptFileWriter& operator=(KeptFileWriter&&) = delete;
  ~KeptFileWriter();

  // Errors: invalid for a piece that does not follow the last one, or is of another file; what the
  // file system says.
  [[nodiscard]] Status append(const FileChunk& chunk);
  // After the last piece. Fills in what the pieces told.
  [[nodiscard]] Result<KeptFacts> keep(KeptFacts facts);

  [[nodiscard]] std::uint64_t data_bytes() const { return facts_.data_bytes; }
  [[nodiscard]] std::uint64_t plain_bytes() const { return facts_.plain_bytes; }

 private:
  KeptFileWriter(int directory, Pid pid, bool snapshot, UniqueFd data, UniqueFd index);

  int directory_;
  UniqueFd data_;
  UniqueFd index_;
  KeptFacts facts_;  // so far
  bool last_seen_ = false;
  bool kept_ = false;
};

// What an earlier daemon kept, if it is whole: errors (invalid) say what is not.
[[nodiscard]] Result<KeptFacts> read_kept_facts(int directory, Pid pid);

// The piece that holds the byte at `offset`: it may begin before it. At or beyond the end an empty
// last one.
[[nodiscard]] Result<FileChunk> read_kept_piece(int directory, const KeptFacts& facts,
                                                std::uint64_t offset);

void remove_kept_file(int directory, Pid pid);

// The pid in the name of one of the three files, or 0.
[[nodiscard]] Pid kept_file_pid(std::string_view name);

}  // namespace dynolog
