// Answers `diagnose`: has the host looked through, asks about versions and directories as their
// owners, and puts the verdicts together.
#pragma once

#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "base/system_root.h"
#include "daemon/process_registry.h"
#include "daemon/torch_facts_reader.h"
#include "net/event_loop.h"
#include "processes/selection.h"
#include "rpc/services.h"

namespace dynolog {

// On the loop's thread only. A caller gets verdicts on processes that it may reach; those on the
// host are for everybody, and name no other user's process to anybody but root of the host.
class DaemonDiagnosis final : public rpc::DiagnosisService {
 public:
  struct World {
    EventLoop& loop;
    const Clock& clock;
    Log& log;
    SystemRoot root;
    std::string executable;
    const ProcessTable& processes;
    TorchFactsReader& torch;
    bool system_mode = false;
    std::vector<std::string> own_directories;  // run and state directory: room is measured there
    std::function<rpc::StatusReply()> status;
    // Where jobs are served: "abstract" or the directory, and the problem, "" when it is up.
    std::function<std::map<std::string, std::string>()> endpoints;
    std::function<bool(Pid)> traced;  // a trace of ours is under way
    std::function<std::optional<Uid>(const std::string&)> find_user;  // by name or number
  };

  explicit DaemonDiagnosis(World world);
  ~DaemonDiagnosis() override;

  void diagnose(const Caller& caller, rpc::DiagnoseRequest request,
                rpc::Done<rpc::DiagnoseReply> done) override;

  // Each may take seconds of a child's time; root of the host is not held up by others.
  static constexpr std::size_t kMaxOfUser = 2;
  static constexpr std::size_t kMaxOfOthers = 8;
  static constexpr std::size_t kMaxOfAll = 16;

 private:
  class Run;
  [[nodiscard]] Result<Selection> selection_of(const rpc::DiagnoseRequest& request) const;

  World world_;
  std::list<std::unique_ptr<Run>> runs_;
};

}  // namespace dynolog
