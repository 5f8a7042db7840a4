// What a files worker holds and does for its processes, once it has become their owner: one answer
// to one request, events in between.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "workers/files_frames.h"
#include "workers/files_worker.h"
#include "workers/owned_processes.h"
#include "workers/trace_watcher.h"

namespace dynolog {

class FilesSession {
 public:
  using Tell = std::function<void(const FileEvent&)>;
  // Without `directories` nothing can be watched, and their error says why.
  FilesSession(OwnedProcesses owned, Result<DirectoryWatch> directories, const Clock& clock,
               Tell tell);
  FilesSession(const FilesSession&) = delete;
  FilesSession& operator=(const FilesSession&) = delete;

  // -1, which poll() passes over, when nothing can be watched.
  [[nodiscard]] int fd() const { return watcher_ ? watcher_->fd() : -1; }
  // What has come to the watched directories: when fd() is readable and after each answer, which
  // may have taken such news aside.
  void look_around() {
    if (watcher_) watcher_->on_readable();
  }
  // The reply's body. Tells events meanwhile.
  [[nodiscard]] std::string answer(const FilesRequest& request);

 private:
  struct Places {
    std::vector<HeldDirectory> watched;  // of the file, then elsewhere; empty: cannot be held
    std::string file_problem;            // then
    std::optional<TraceDirectory> target;
    std::string target_problem;  // without a target: why
    std::optional<WrittenTrace> written;
  };

  [[nodiscard]] Result<PreparedPlaces> prepare(Pid pid, const PlacesAsked& asked);
  [[nodiscard]] Status hold_target(int root, const PlacesAsked& asked, Places& places,
                                   DirectoryAnswer& answer) const;
  [[nodiscard]] Status hold_file(int root, const PlacesAsked& asked, Places& places,
                                 DirectoryAnswer& answer) const;
  void hold_elsewhere(int root, const PlacesAsked& asked, Places& places) const;
  [[nodiscard]] Status watch(const FilesRequest& request);
  [[nodiscard]] Result<DeliveredFile> deliver(Pid pid, const DeliveryOrder& order);
  [[nodiscard]] Status complete(Pid pid, const std::string& distributed_info);
  [[nodiscard]] Result<FileChunk> read_piece(Pid pid, std::uint64_t offset);
  [[nodiscard]] Status release(Pid pid);
  [[nodiscard]] Result<bool> discard(Pid pid, FilesWorker::Discard when);
  [[nodiscard]] Status add_info(WrittenTrace& written, const std::string& distributed_info) const;
  [[nodiscard]] Result<WrittenTrace*> written_of(Pid pid);

  OwnedProcesses owned_;
  std::map<Pid, Places> places_;
  std::optional<TraceWatcher> watcher_;
  Error unwatchable_;  // without a watcher: why
};

}  // namespace dynolog
