// Waits for the trace files of several processes in their held directories, and checks each when it
// is there.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "artifacts/directory_watch.h"
#include "artifacts/trace_directory.h"
#include "artifacts/trace_file.h"
#include "base/ids.h"
#include "workers/files_worker.h"

namespace dynolog {

class TraceWatcher {
 public:
  using Tell = std::function<void(const FileEvent&)>;
  TraceWatcher(DirectoryWatch directories, Uid owner, Tell tell)
      : directories_(std::move(directories)), owner_(owner), tell_(std::move(tell)) {}

  // Replaces what is waited for on behalf of `pid`. What does not work is told as unwatchable.
  void watch(Pid pid, TraceDirectory directory, std::string trace_id, bool snapshot);
  void unwatch(Pid pid);
  // When fd() is readable.
  void on_readable();
  [[nodiscard]] int fd() const { return directories_.fd(); }

 private:
  struct Waiting {
    TraceDirectory directory;
    std::string trace_id;
    int watch = -1;
    std::optional<FileStamp> before;  // what stood under the final name at the beginning
    bool snapshot = false;
    bool temporary_told = false;
    bool renamed_told = false;
    bool refused_told = false;
  };

  void take_events();
  void on_event(const DirectoryEvent& event);
  void announce(const DirectoryEvent& event);
  void look(Pid pid, Waiting& waiting);
  void look_at_earlier(Pid pid, Waiting& waiting);
  void check_final(Pid pid, Waiting& waiting);
  void tell_temporary(Pid pid, Waiting& waiting);
  void tell_written(Pid pid, FileCheck check);
  void tell_unwatchable(Pid pid, std::string problem);

  DirectoryWatch directories_;
  Uid owner_;
  Tell tell_;
  std::map<Pid, Waiting> waiting_;
  std::deque<DirectoryEvent> events_;  // not dealt with yet
};

}  // namespace dynolog
