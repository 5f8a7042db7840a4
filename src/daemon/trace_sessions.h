// The trace sessions: plans them, stages them, follows each process's trace to its end.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "daemon/process_registry.h"
#include "daemon/session_journal.h"
#include "daemon/trace_planner.h"
#include "ipc/kineto_thread.h"
#include "metrics/event.h"
#include "net/event_loop.h"
#include "processes/selection.h"
#include "profiling/session.h"
#include "rpc/services.h"

namespace dynolog {

// On the loop's thread only.
class TraceSessions final : public rpc::TraceService {
 public:
  struct World {
    EventLoop& loop;
    const Clock& clock;
    Log& log;
    std::string executable;  // of the files workers
    SystemRoot root;
    ProcessRegistry& registry;
    KinetoThread& kineto;
    std::string journal_directory;
    ProcessTrace::Timeouts timeouts;
    std::function<void(Event)> publish;
  };
  explicit TraceSessions(World world);
  ~TraceSessions() override;

  // Sessions of an earlier daemon: followed on, and what was never handed over is staged anew.
  void restore_journal();

  // What the Kineto thread saw.
  void on_polled(const KinetoPolled& polled);
  void on_ended(const KinetoEnded& ended);
  void on_handed_over(const KinetoHandedOver& event);
  void on_receipt(const KinetoReceipt& event);
  void on_not_handed_over(const KinetoNotHandedOver& event);
  void on_withdrawn(const KinetoWithdrawn& event);

  // The trace under way in a process, or nullopt.
  [[nodiscard]] std::optional<TraceState> state_of(Pid pid) const;
  // Committed and not ended.
  [[nodiscard]] std::size_t active() const;

  void prepare(const Caller& caller, rpc::PrepareRequest request,
               rpc::Done<rpc::PrepareReply> done) override;
  void commit(const Caller& caller, rpc::CommitRequest request,
              rpc::Done<rpc::CommitReply> done) override;
  [[nodiscard]] Result<std::unique_ptr<Following>> follow(
      const Caller& caller, const rpc::SessionRequest& request,
      std::function<void(const rpc::FollowFrame&)> on_frame) override;
  void cancel(const Caller& caller, rpc::SessionRequest request,
              rpc::Done<rpc::CancelReply> done) override;
  void legacy_trace(const Caller& caller, rpc::LegacyTraceRequest request,
                    rpc::Done<rpc::LegacyTraceReply> done) override;

 private:
  class Follower;
  struct Live;
  struct Cancelling;
  using LivePlace = std::map<SessionId, std::unique_ptr<Live>>::iterator;

  // prepare
  [[nodiscard]] Result<Selection> selection_of(const rpc::SelectionSpec& spec) const;
  [[nodiscard]] Status check_start(const rpc::TraceSpec& spec) const;
  void prepare_known(const Caller& caller, const Selection& selection, TraceOptions options,
                     rpc::Done<rpc::PrepareReply> done);
  void legacy_known(const Caller& caller, rpc::LegacyTraceRequest request,
                    rpc::Done<rpc::LegacyTraceReply> done);
  [[nodiscard]] std::string under_way(const Caller& caller, Pid pid) const;
  [[nodiscard]] Status may_plan(const Caller& caller);
  void plan(const Caller& caller, std::vector<ProcessKey> chosen, TracePlanner::Build build,
            std::function<void(Live&, Plan)> done);
  [[nodiscard]] rpc::PlannedTrace planned_row(const PlanItem& item) const;
  [[nodiscard]] double expected_wait(const PlanItem& item) const;
  void finish_prepare(Live& live, Plan plan, rpc::PrepareReply reply,
                      const rpc::Done<rpc::PrepareReply>& done);
  // commit
  std::size_t stage_all(Live& live);
  void stage(Live& live, PlanItem item);
  [[nodiscard]] bool ends_unstaged(ProcessTrace& trace, const PlanItem& item, MonotonicTime now);
  void audit_start(const Live& live);
  // the course of a session
  void with_trace(const ProcessKey& key, const std::string& trace_id,
                  const std::function<bool(ProcessTrace&)>& input);
  void changed(Live& live, const ProcessTrace& trace);
  void on_file(const SessionId& id, const Tenant& from, FileEvent event);
  void on_worker_end(const SessionId& id, const Tenant& tenant, const std::string& why);
  // Takes a staged configuration back; what happens then is decided by the mailbox's answer, since
  // it may just have been handed over.
  enum class Withdrawal { expiry, deadline, cancel };
  void withdraw(const ProcessTrace& trace, Withdrawal why);
  bool take_back(ProcessTrace& trace, Withdrawal why, bool withdrawn);
  void on_due(const SessionId& id);
  void on_session_deadline(const SessionId& id);
  void arm(Live& live);
  void end_if_done(Live& live);
  void forget_later(Live& live);
  void forget_old();
  void forget(const SessionId& id);
  void write_journal(const Live& live);
  void write_journal_soon(Live& live);
  void restore(Session session);
  void watch_restored(Live& live);
  [[nodiscard]] Live* find_for(const Caller& caller, const SessionId& id, Error& error);

  World world_;
  std::map<SessionId, std::unique_ptr<Live>> sessions_;
  // Which session's trace is under way in a process: at most one.
  std::map<Pid, SessionId> active_;
  struct Withdrawing {
    std::string trace_id;
    Withdrawal why;
  };
  std::map<Pid, Withdrawing> withdrawing_;
  std::vector<std::unique_ptr<Cancelling>> cancelling_;
  SessionJournal journal_;
};

}  // namespace dynolog
