// Files workers and a Kineto thread that do only what a test says. For tests of the planner and of
// the sessions.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "daemon/trace_planner.h"
#include "ipc/kineto_thread.h"
#include "net/event_loop.h"
#include "workers/files_worker.h"

namespace dynolog {

// What was asked of all fake workers, in order, and how it is answered.
struct FakeFiles {
  template <class T>
  using Answer = std::function<void(Result<T>)>;
  template <class Asked, class T>
  struct Open {
    Pid pid;
    Asked asked;
    Answer<T> done;
  };
  std::vector<Open<PlacesAsked, PreparedPlaces>> prepares;
  std::vector<std::pair<Pid, std::string>> watches;  // with the trace id
  std::vector<Pid> unwatches;
  std::vector<Open<DeliveryOrder, DeliveredFile>> deliveries;
  std::vector<Open<std::string, void>> completions;
  std::vector<Open<std::uint64_t, FileChunk>> reads;
  std::vector<Open<bool, void>> releases;
  std::vector<Open<FilesWorker::Discard, bool>> discards;

  struct Started {
    std::vector<FilesIdentity> identities;
    FilesWorker::OnEvent on_event;
    std::function<void(std::string)> on_end;
    bool alive = true;
  };
  std::vector<std::shared_ptr<Started>> started;
  std::string refusal;  // of starts

  [[nodiscard]] StartFilesWorker starter();
  [[nodiscard]] std::size_t alive() const {
    return static_cast<std::size_t>(
        std::ranges::count_if(started, [](const auto& worker) { return worker->alive; }));
  }
};

class FakeFilesWorker final : public FilesWorker {
 public:
  FakeFilesWorker(FakeFiles& files, std::shared_ptr<FakeFiles::Started> self)
      : files_(files), self_(std::move(self)) {}
  ~FakeFilesWorker() override { self_->alive = false; }

  void prepare(Pid pid, PlacesAsked places,
               std::function<void(Result<PreparedPlaces>)> done) override {
    files_.prepares.push_back({pid, std::move(places), std::move(done)});
  }
  void watch(Pid pid, std::string trace_id, Expect /*expect*/) override {
    files_.watches.emplace_back(pid, std::move(trace_id));
  }
  void unwatch(Pid pid) override { files_.unwatches.push_back(pid); }
  void deliver(Pid pid, DeliveryOrder order,
               std::function<void(Result<DeliveredFile>)> done) override {
    files_.deliveries.push_back({pid, std::move(order), std::move(done)});
  }
  void complete(Pid pid, std::string info, std::function<void(Status)> done) override {
    files_.completions.push_back({pid, std::move(info), std::move(done)});
  }
  void read_chunk(Pid pid, std::uint64_t offset,
                  std::function<void(Result<FileChunk>)> done) override {
    files_.reads.push_back({pid, offset, std::move(done)});
  }
  void release(Pid pid, std::function<void(Status)> done) override {
    files_.releases.push_back({pid, true, std::move(done)});
  }
  void discard(Pid pid, Discard when, std::function<void(Result<bool>)> removed) override {
    files_.discards.push_back({pid, when, std::move(removed)});
  }
  void torch_library_id(Pid, std::string, std::function<void(Result<std::string>)>) override {}
  void torch_facts(Pid, std::string, std::string,
                   std::function<void(Result<TorchFacts>)>) override {}

 private:
  FakeFiles& files_;
  std::shared_ptr<FakeFiles::Started> self_;
};

inline StartFilesWorker FakeFiles::starter() {
  return [this](std::vector<FilesIdentity> identities, FilesWorker::OnEvent on_event,
                std::function<void(std::string)> on_end) -> Result<std::unique_ptr<FilesWorker>> {
    if (!refusal.empty()) return fail(ErrorKind::failed, refusal);
    auto made = std::make_shared<Started>(
        Started{std::move(identities), std::move(on_event), std::move(on_end), true});
    started.push_back(made);
    return std::make_unique<FakeFilesWorker>(*this, std::move(made));
  };
}

class FakeKineto final : public KinetoThread {
 public:
  void put(ProcessKey key, Uid uid, TraceRequest request) override {
    puts.push_back({key, uid, std::move(request)});
  }
  void withdraw(ProcessKey key, std::string trace_id) override {
    withdrawals.emplace_back(key, std::move(trace_id));
  }
  void add_directory(std::string /*directory*/) override {}
  void remove_directory(std::string /*directory*/) override {}
  [[nodiscard]] bool alive() override { return true; }
  [[nodiscard]] KinetoCounters counters() const override { return {}; }

  struct Put {
    ProcessKey key;
    Uid uid;
    TraceRequest request;
  };
  std::vector<Put> puts;
  std::vector<std::pair<ProcessKey, std::string>> withdrawals;
};

// Runs what is due and posted by now, and what that posts.
inline void settle(EventLoop& loop) {
  for (int round = 0; round < 5; ++round) {
    const Timer end = loop.after(Nanoseconds(0), [&loop] { loop.stop(); });
    loop.run();
  }
}

inline DirectoryAnswer writable_directory(std::string id) {
  DirectoryAnswer answer;
  answer.usable = true;
  answer.directory_id = std::move(id);
  answer.free_bytes = 1ULL << 40U;
  return answer;
}

inline PreparedPlaces good_places(const std::string& target_id = "1:3") {
  return {.file = writable_directory("1:2"),
          .target = writable_directory(target_id),
          .one_file_system = true};
}

}  // namespace dynolog
