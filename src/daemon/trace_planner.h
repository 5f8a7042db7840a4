// From chosen processes to a plan: what each will be handed, where its file will lie, what stands
// in the way. All that can hang (directories) is asked of files workers, with a deadline.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "daemon/place_choice.h"
#include "net/event_loop.h"
#include "processes/identity.h"
#include "processes/process_table.h"
#include "profiling/trace_config.h"
#include "workers/files_worker.h"

namespace dynolog {

// Starts the files worker of one tenant's processes: FilesWorker::start() with the daemon's own
// program.
using StartFilesWorker = std::function<Result<std::unique_ptr<FilesWorker>>(
    std::vector<FilesIdentity> identities, FilesWorker::OnEvent on_event,
    std::function<void(std::string why)> on_end)>;

struct PlanItem {
  ProcessKey key;
  Tenant tenant;
  TraceRequest request;
  std::vector<std::string> notes;
  std::string problem;  // not "": cannot be traced, and why
  ErrorKind problem_kind = ErrorKind::failed;
  std::string files_unknown;  // not "": nobody can look at its directory, and why
};

struct Plan {
  std::vector<PlanItem> items;
  // They hold the directories from now on; one per tenant.
  std::map<Tenant, std::unique_ptr<FilesWorker>> workers;
};

// How one process's file is placed.
enum class PlaceKind {
  asked,    // at the path that was named
  brought,  // nowhere on the host in the end
  itself,   // Kineto writes to the path that was named
};

class TracePlanner {
 public:
  // What the planner knows better than the request: `unique` of its own making, `unique_suffix` set
  // when its file would be another's.
  struct Naming {
    PlaceKind kind = PlaceKind::asked;
    std::string trace_id;
    std::string unique;
    std::string unique_suffix;
  };
  // Builds one process's request.
  using Build = std::function<Result<TraceRequest>(const ProcessFacts& facts,
                                                   const TorchFacts& torch, const Naming& naming)>;
  struct World {
    EventLoop& loop;
    StartFilesWorker start_worker;
    std::function<void(const Tenant&, FileEvent)> on_file;
    std::function<void(const Tenant&, std::string why)> on_worker_end;
  };

  // `entries` are copies: the table may change meanwhile. `done` is called once, on the loop's
  // thread, never after the planner's end.
  [[nodiscard]] static std::unique_ptr<TracePlanner> start(World world,
                                                           std::vector<ProcessEntry> entries,
                                                           PlaceWishes wishes, Build build,
                                                           std::function<void(Plan)> done);
  virtual ~TracePlanner() = default;
};

}  // namespace dynolog
