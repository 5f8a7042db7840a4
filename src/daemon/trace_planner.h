// From chosen processes to a plan: what each will be handed, where its file will lie, what stands
// in the way. All that can hang (directories) is asked of files workers, with a deadline.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/log.h"
#include "net/event_loop.h"
#include "processes/identity.h"
#include "processes/process_table.h"
#include "profiling/trace_config.h"
#include "workers/files_worker.h"

namespace dynolog {

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

class TracePlanner {
 public:
  // Builds one process's request; `suffix` is set when its file would be another's.
  using Build =
      std::function<Result<TraceRequest>(const ProcessFacts& facts, const TorchFacts& torch,
                                         std::string trace_id, std::string_view suffix)>;
  struct World {
    EventLoop& loop;
    Log& log;
    std::string executable;
    std::function<void(const Tenant&, FileEvent)> on_file;
    std::function<void(const Tenant&, std::string why)> on_worker_end;
  };

  // `entries` are copies: the table may change meanwhile. `done` is called once, on the loop's
  // thread, never after the planner's end.
  [[nodiscard]] static std::unique_ptr<TracePlanner> start(World world,
                                                           std::vector<ProcessEntry> entries,
                                                           Build build,
                                                           std::function<void(Plan)> done);
  virtual ~TracePlanner() = default;
};

}  // namespace dynolog
