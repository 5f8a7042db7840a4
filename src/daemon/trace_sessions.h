// The trace sessions: plans them, stages them, follows each process's trace to its end, and brings
// its file to where it was asked for.
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
#include "daemon/trace_store.h"
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
    StartFilesWorker start_worker;
    std::string host;
    SystemRoot root;
    ProcessRegistry& registry;
    KinetoThread& kineto;
    std::string journal_directory;
    TraceStore* store;  // nullptr: the daemon keeps no traces
    ProcessTrace::Timeouts timeouts;
    Nanoseconds fetch_patience;  // what waits so long for who asked is taken into the store
    std::function<void(Event)> publish;
  };
  explicit TraceSessions(World world);
  ~TraceSessions() override;

  // Sessions of an earlier daemon: followed on, and what was never handed over is staged anew.
  void restore_journal();

  // Of traces that are started from now on, and of what begins to wait.
  void set_timeouts(ProcessTrace::Timeouts timeouts, Nanoseconds fetch_patience);

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
  void fetch(const Caller& caller, rpc::FetchRequest request,
             rpc::Done<rpc::FetchReply> done) override;
  void release(const Caller& caller, rpc::ReleaseRequest request,
               rpc::Done<rpc::ReleaseReply> done) override;
  [[nodiscard]] rpc::ListTracesReply list_traces(const Caller& caller) override;
  [[nodiscard]] Result<rpc::DeleteTraceReply> delete_trace(
      const Caller& caller, const rpc::SessionRequest& request) override;
  void legacy_trace(const Caller& caller, rpc::LegacyTraceRequest request,
                    rpc::Done<rpc::LegacyTraceReply> done) override;

 private:
  class Follower;
  struct Live;
  struct Bringing;
  struct Cancelling;
  struct Asked;

  // Preparing: trace_sessions_prepare.cpp
  [[nodiscard]] Result<Asked> asked_of(rpc::PrepareRequest request) const;
  [[nodiscard]] Result<Selection> selection_of(const rpc::SelectionSpec& spec) const;
  [[nodiscard]] Status check_start(const rpc::TraceSpec& spec) const;
  void prepare_known(const Caller& caller, Asked asked, rpc::Done<rpc::PrepareReply> done);
  [[nodiscard]] std::string under_way(const Caller& caller, Pid pid) const;
  [[nodiscard]] Status may_plan(const Caller& caller);
  void plan(const Caller& caller, std::vector<ProcessKey> chosen, PlaceWishes wishes,
            TracePlanner::Build build, std::function<void(Live&, Plan)> done);
  void finish_prepare(Live& live, Plan plan, rpc::PrepareReply reply,
                      const rpc::Done<rpc::PrepareReply>& done);

  // What is shown of the plan: trace_sessions_planned.cpp
  [[nodiscard]] std::optional<Error> too_soon(const std::vector<PlanItem>& items,
                                              Nanoseconds start_in) const;
  [[nodiscard]] rpc::PlannedTrace planned_row(const Live& live, const PlanItem& item) const;
  void show_expected_wait(const Live& live, const PlanItem& item, rpc::PlannedTrace& row) const;
  [[nodiscard]] rpc::SkippedProcess skipped_row(const Skipped& skipped) const;

  // Committing: trace_sessions_commit.cpp
  std::size_t stage_all(Live& live);
  void stage(Live& live, PlanItem item);
  [[nodiscard]] bool ends_unstaged(ProcessTrace& trace, const PlanItem& item, MonotonicTime now);
  void audit_start(const Live& live);

  // The existing clients' call: trace_sessions_legacy.cpp
  void legacy_known(const Caller& caller, rpc::LegacyTraceRequest request,
                    rpc::Done<rpc::LegacyTraceReply> done);

  // The course of a session: trace_sessions_course.cpp
  using Input = std::function<bool(ProcessTrace&)>;
  void with_trace(const ProcessKey& key, const std::string& trace_id, const Input& input);
  void input_to(Live& live, ProcessTrace& trace, const Input& input);
  void changed(Live& live, ProcessTrace& trace);
  // Given up on, but its process went on: what it may yet write is brought to its place as well.
  void expect_late(Live& live, Pid pid);
  [[nodiscard]] Timer late_timer(const SessionId& id, Pid pid, Nanoseconds wait);
  void on_late_file(Live& live, ProcessTrace& trace, FileEvent event);
  void end_late(const SessionId& id, Pid pid);
  void note_end(Live& live, const ProcessTrace& trace);
  void on_file(const SessionId& id, const Tenant& from, FileEvent event);
  void on_worker_end(const SessionId& id, const Tenant& tenant, const std::string& why);
  void replace_worker(const SessionId& id, const Tenant& tenant);
  void on_due(const SessionId& id);
  void on_session_deadline(const SessionId& id);
  void arm(Live& live);
  void end_if_done(Live& live);

  // Taking back: trace_sessions_cancel.cpp. A staged configuration is taken back by the mailbox's
  // answer, since it may just have been handed over.
  enum class Withdrawal { expiry, deadline, cancel };
  void withdraw(const ProcessTrace& trace, Withdrawal why);
  bool take_back(ProcessTrace& trace, Withdrawal why, bool withdrawn);

  // Bringing a written file to its place: trace_sessions_deliver.cpp
  void bring(Live& live, ProcessTrace& trace);
  void deliver(Live& live, ProcessTrace& trace, FilesWorker& worker);
  void make_fetchable(Live& live, ProcessTrace& trace, FilesWorker& worker);
  void settle(Live& live, ProcessTrace& trace, Result<TraceDelivery> outcome);
  void note_news(Live& live, const ProcessKey& key);
  void audit_delivery(const Live& live, Pid pid, const TraceDelivery& delivery);
  void discard_rest(Live& live, const ProcessTrace& trace);
  [[nodiscard]] static ProcessFacts facts_of(const Live& live, const ProcessTrace& trace);
  [[nodiscard]] std::string distributed_info_of(const Live& live, const ProcessTrace& trace) const;
  [[nodiscard]] std::string side_car_of(const Live& live, const ProcessTrace& trace) const;
  // Wraps what is done with a worker's answer: the worker stays until all of them have come.
  template <class T>
  [[nodiscard]] std::function<void(T)> awaited(Live& live, Pid pid,
                                               std::function<void(Live&, ProcessTrace&, T)> then);
  void drop_workers_if_idle(const SessionId& id);

  // Fetching, and what nobody fetches: trace_sessions_fetch.cpp, trace_sessions_keep.cpp
  void audit_fetch(const Caller& caller, const Live& live, Pid pid, std::string_view what,
                   const std::string& file);
  void arm_keeping(Live& live, Pid pid);
  void reconsider_keeping(const SessionId& id);
  void keep(Live& live, ProcessTrace& trace);
  void keep_next(Live& live, ProcessTrace& trace);
  void keep_piece(Live& live, ProcessTrace& trace, Result<FileChunk> piece);
  void keep_failed(Live& live, ProcessTrace& trace, Error why);
  void keep_whole(Live& live, ProcessTrace& trace);
  void arm_store();

  // Looking: trace_sessions.cpp
  [[nodiscard]] Live* find(const SessionId& id);
  [[nodiscard]] Live* find_for(const Caller& caller, const SessionId& id, Error& error);
  struct OneTrace {
    Live& live;
    Pid pid;
    ProcessTrace& trace;
  };
  [[nodiscard]] Result<OneTrace> find_trace(const Caller& caller, const std::string& session,
                                            std::int64_t pid);
  [[nodiscard]] std::vector<std::string> notes_of(const Live& live,
                                                  const ProcessTrace& trace) const;
  [[nodiscard]] bool is_removed(const Live& live, const ProcessTrace& trace) const;
  [[nodiscard]] rpc::TraceUpdate update_of(const Live& live, const ProcessTrace& trace) const;
  void tell(Live& live, const ProcessTrace& trace);

  // Remembering and forgetting: trace_sessions_list.cpp, trace_sessions_restore.cpp
  [[nodiscard]] rpc::SessionRow row_of(const Live& live, std::size_t& summaries) const;
  void forget_later(Live& live);
  void forget_old();
  void forget(const SessionId& id);
  void write_journal(Live& live);
  void write_journal_soon(Live& live);
  void restore_kept();
  void restore(SessionRecord record);
  void restore_trace(Live& live, ProcessTrace& trace);
  void watch_again(Live& live, const std::optional<Tenant>& only);

  World world_;
  std::map<SessionId, std::unique_ptr<Live>> sessions_;
  // Which session's trace is under way in a process, its file not yet written: at most one.
  std::map<Pid, SessionId> active_;
  struct Withdrawing {
    std::string trace_id;
    Withdrawal why;
  };
  std::map<Pid, Withdrawing> withdrawing_;
  std::vector<std::unique_ptr<Cancelling>> cancelling_;
  SessionJournal journal_;
  Timer store_timer_;
};

}  // namespace dynolog
