// What the RPC methods call. Implemented by the daemon; rpc knows neither workers nor ipc. All on
// the loop's thread; `done` may be called later, but only once, also on the loop's thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "processes/identity.h"
#include "rpc/protocol/legacy.h"
#include "rpc/protocol/messages.h"

namespace dynolog::rpc {

template <class T>
using Done = std::function<void(Result<T>)>;

class StatusService {
 public:
  virtual ~StatusService() = default;
  [[nodiscard]] virtual StatusReply status() = 0;
  [[nodiscard]] virtual std::string version() const = 0;
};

class ProcessService {
 public:
  virtual ~ProcessService() = default;
  [[nodiscard]] virtual ListProcessesReply list(const Caller& caller) = 0;
  virtual void socket_directory(const Caller& caller, Done<SocketDirectoryReply> done) = 0;
};

class TraceService {
 public:
  // Ends the following when destroyed.
  class Following {
   public:
    virtual ~Following() = default;
  };

  virtual ~TraceService() = default;
  virtual void prepare(const Caller& caller, PrepareRequest request, Done<PrepareReply> done) = 0;
  virtual void commit(const Caller& caller, CommitRequest request, Done<CommitReply> done) = 0;
  // `on_frame` is called at once with the present states, then for each change; the last frame has
  // done = true.
  [[nodiscard]] virtual Result<std::unique_ptr<Following>> follow(
      const Caller& caller, const SessionRequest& request,
      std::function<void(const FollowFrame&)> on_frame) = 0;
  virtual void cancel(const Caller& caller, SessionRequest request, Done<CancelReply> done) = 0;
  // What is to be brought, or is kept: piece by piece. Written files only.
  virtual void fetch(const Caller& caller, FetchRequest request, Done<FetchReply> done) = 0;
  virtual void release(const Caller& caller, ReleaseRequest request, Done<ReleaseReply> done) = 0;
  [[nodiscard]] virtual ListTracesReply list_traces(const Caller& caller) = 0;
  [[nodiscard]] virtual Result<DeleteTraceReply> delete_trace(const Caller& caller,
                                                              const SessionRequest& request) = 0;
  // The existing client's call: stages at once, waits for nothing.
  virtual void legacy_trace(const Caller& caller, LegacyTraceRequest request,
                            Done<LegacyTraceReply> done) = 0;
};

// Why a process can or cannot be traced, and what is wrong with the daemon and the host.
class DiagnosisService {
 public:
  virtual ~DiagnosisService() = default;
  virtual void diagnose(const Caller& caller, DiagnoseRequest request,
                        Done<DiagnoseReply> done) = 0;
};

// The daemon's log. Its level is told to everybody, and changed by root and the daemon's own user.
class LogService {
 public:
  virtual ~LogService() = default;
  [[nodiscard]] virtual LogLevelReply log_level() const = 0;
  [[nodiscard]] virtual Result<LogLevelReply> set_log_level(const Caller& caller,
                                                            const SetLogLevelRequest& request) = 0;
};

struct Services {
  StatusService& status;
  ProcessService& processes;
  TraceService& traces;
  DiagnosisService& diagnosis;
  LogService& log;
};

}  // namespace dynolog::rpc
