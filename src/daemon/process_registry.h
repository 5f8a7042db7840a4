// The processes that have spoken to the daemon, and the reading of who they are.
#pragma once

#include <functional>
#include <list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "base/system_root.h"
#include "daemon/run_directory.h"
#include "daemon/torch_facts_reader.h"
#include "daemon/users.h"
#include "ipc/kineto_thread.h"
#include "metrics/event.h"
#include "net/event_loop.h"
#include "processes/process_table.h"
#include "processes/role.h"
#include "profiling/process_trace.h"
#include "rpc/services.h"
#include "workers/procs_worker.h"

namespace dynolog {

// On the loop's thread only.
class ProcessRegistry final : public rpc::ProcessService {
 public:
  struct World {
    EventLoop& loop;
    const Clock& clock;
    Log& log;
    SystemRoot root;
    ProcsWorker& procs;
    TorchFactsReader& torch;
    const Users& users;
    const RunDirectory& run_directory;
    std::function<void(Event)> publish;
    // Whether users get directories of their own.
    std::function<bool()> user_directories;
    // Calls back once the daemon listens there, or cannot.
    std::function<void(std::string directory, std::function<void(Status)>)> add_socket_directory;
    // The state of a trace under way, for `dyno ps`.
    std::function<std::optional<TraceState>(Pid)> trace_state;
    // What when_known() waits at most: anybody's process may hang while it is read.
    Nanoseconds patience;
  };
  explicit ProcessRegistry(World world);

  // What the Kineto thread saw. True when the process was not known before.
  bool on_polled(const KinetoPolled& polled);
  void on_ended(const KinetoEnded& ended);

  [[nodiscard]] const ProcessTable& table() const { return table_; }
  // Calls back once everything that will be known about these processes is known, or patience has
  // an end. At once when nothing is open.
  void when_known(const std::vector<ProcessKey>& keys, std::function<void()> done);
  // The same, and what was read longer than `max_age` ago is read again: a process registers before
  // it opens its GPU or gives itself a title.
  void when_fresh(const std::vector<ProcessKey>& keys, Nanoseconds max_age,
                  std::function<void()> done);
  [[nodiscard]] std::optional<Uid> find_user(const std::string& name_or_number) const;
  [[nodiscard]] std::string user_name(Uid uid) const;

  [[nodiscard]] rpc::ListProcessesReply list(const Caller& caller) override;
  void socket_directory(const Caller& caller, rpc::Done<rpc::SocketDirectoryReply> done) override;

 private:
  struct Waiter {
    std::set<ProcessKey> open;
    std::function<void()> done;
    Timer patience;
  };

  void read_facts(const ProcessKey& key);
  // Now and then, more seldom the longer it lives.
  void read_again_if_due(const ProcessKey& key, MonotonicTime now);
  void on_facts(const ProcessKey& key, Result<ProcessFacts> facts);
  void on_torch(const ProcessKey& key, Result<TorchFacts> facts);
  void settle(const ProcessKey& key);
  [[nodiscard]] rpc::ProcessRow row(const ProcessEntry& entry, const Part& part,
                                    MonotonicTime now) const;

  World world_;
  ProcessTable table_;
  std::set<ProcessKey> reading_;
  std::map<ProcessKey, MonotonicTime> read_at_;  // of those in the table
  std::list<Waiter> waiters_;
  WallTime boot_;
};

}  // namespace dynolog
