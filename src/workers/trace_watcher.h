// Waits for the trace files of several processes in their held directories, and checks each when it
// is there.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "artifacts/delivery.h"
#include "artifacts/directory_watch.h"
#include "artifacts/trace_directory.h"
#include "artifacts/trace_file.h"
#include "base/clock.h"
#include "base/ids.h"
#include "workers/files_worker.h"

namespace dynolog {

using HeldDirectory = std::shared_ptr<const TraceDirectory>;

// A file that was found to be the process's trace, kept open since.
struct WrittenTrace {
  StagedFile file;
  bool compressed = false;
  bool has_distributed_info = false;
};

class TraceWatcher {
 public:
  struct Listener {
    std::function<void(const FileEvent&)> tell;
    // Right before `written` is told of a file that is ours.
    std::function<void(Pid, WrittenTrace)> keep;
  };
  TraceWatcher(DirectoryWatch directories, Uid owner, const Clock& clock, Listener listener)
      : directories_(std::move(directories)),
        owner_(owner),
        clock_(clock),
        listener_(std::move(listener)) {}

  // Replaces what is waited for on behalf of `pid`. The first place is where the file is to be; of
  // the others (files elsewhere) only one that is ours for certain counts. What does not work is
  // told as unwatchable.
  void watch(Pid pid, const std::vector<HeldDirectory>& places, std::string trace_id,
             FilesWorker::Expect expect);
  void unwatch(Pid pid);
  // When fd() is readable, and after work in which during_work() was called.
  void on_readable();
  [[nodiscard]] int fd() const { return directories_.fd(); }
  // To be called now and then during long work for `pid`: tells of progress, at most once a second,
  // and that other processes' files are there.
  void during_work(Pid pid);

 private:
  struct Place {
    HeldDirectory directory;
    int watch = -1;                   // -1: its directory is gone
    std::optional<FileStamp> before;  // what stood under the final name at the beginning
  };
  struct Waiting {
    std::vector<Place> places;
    std::string trace_id;
    bool snapshot = false;
    bool temporary_told = false;
    bool renamed_told = false;
    bool refused_told = false;
  };
  struct Looked {
    UniqueFd fd;
    FileStamp stamp;
    TraceSummary summary;
  };

  [[nodiscard]] bool concerns(const DirectoryEvent& event, const Place& place) const;
  [[nodiscard]] bool concerns_any(const DirectoryEvent& event) const;
  void take_events();
  void announce(const DirectoryEvent& event);
  void on_event(const DirectoryEvent& event);
  void on_place_event(const DirectoryEvent& event, Pid pid, std::size_t index);
  void on_created_temporary(Pid pid, Waiting& waiting, std::size_t index);
  void on_gone(Pid pid, Waiting& waiting, std::size_t index);
  void look(Pid pid);
  void look_at_earlier(Pid pid);
  void check_first(Pid pid);
  void check_elsewhere(Pid pid, std::size_t index);
  [[nodiscard]] Result<UniqueFd> open_if_ours(const Waiting& waiting, const Place& place) const;
  [[nodiscard]] Result<Looked> look_into(Pid pid, UniqueFd fd, bool snapshot);
  void release_watch(int watch);
  void tell(Pid pid, FileEvent::What what);
  void tell_temporary(Pid pid, Waiting& waiting);
  void tell_renamed(Pid pid, Waiting& waiting);
  void tell_written(Pid pid, const Place& place, Looked looked);
  void tell_unwatchable(Pid pid, std::string problem);

  DirectoryWatch directories_;
  Uid owner_;
  const Clock& clock_;
  Listener listener_;
  std::map<Pid, Waiting> waiting_;
  std::deque<DirectoryEvent> events_;  // not dealt with yet
  std::optional<MonotonicTime> progress_told_;
};

}  // namespace dynolog
