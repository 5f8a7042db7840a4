// What nobody comes to fetch is taken into the daemon's store, piece by piece.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "daemon/trace_sessions.h"
#include "daemon/trace_sessions_live.h"

namespace dynolog {
namespace {

// Whoever asked has gone; but a connection may only have broken.
constexpr Nanoseconds kUnfollowed = std::chrono::seconds(10);
constexpr Nanoseconds kStoreLooks = std::chrono::hours(1);

}  // namespace

void TraceSessions::arm_keeping(Live& live, Pid pid) {
  Bringing& bringing = live.bringing[pid];
  if (world_.store == nullptr || !bringing.fetchable || bringing.intake) return;
  Nanoseconds patience{};
  if (live.facts.attended) {
    patience = live.followers->by_token.empty() ? std::min(kUnfollowed, world_.fetch_patience)
                                                : world_.fetch_patience;
  }
  const Nanoseconds gone = world_.clock.monotonic() - bringing.last_fetch;
  bringing.patience = world_.loop.after(std::max(Nanoseconds(0), patience - gone),
                                        [this, id = live.session.id, pid] {
                                          Live* const mine = find(id);
                                          if (mine == nullptr) return;
                                          const auto trace = mine->session.traces.find(pid);
                                          if (trace != mine->session.traces.end())
                                            keep(*mine, trace->second);
                                        });
}

void TraceSessions::reconsider_keeping(const SessionId& id) {
  Live* const live = find(id);
  if (live == nullptr) return;
  for (const auto& [pid, bringing] : live->bringing) arm_keeping(*live, pid);
}

void TraceSessions::keep(Live& live, ProcessTrace& trace) {
  const Pid pid = trace.key().pid;
  Bringing& bringing = live.bringing[pid];
  if (!bringing.fetchable || bringing.intake) return;
  if (world_.store == nullptr) {
    // Written, it waits to be fetched; after the trace's end nobody knows that it could be.
    if (trace.state() != TraceState::written) {
      settle(live, trace,
             fail(ErrorKind::unavailable, "the daemon keeps no traces (trace-store is off)"));
    }
    return;
  }
  auto intake = world_.store->take_in(live.session.id, pid, live.session.owner.tenant,
                                      trace.request().memory_snapshot);
  if (!intake) {
    keep_failed(live, trace, std::move(intake.error()));
    return;
  }
  bringing.intake = std::move(*intake);
  bringing.kept_bytes = 0;
  keep_next(live, trace);
}

void TraceSessions::keep_next(Live& live, ProcessTrace& trace) {
  const Pid pid = trace.key().pid;
  FilesWorker* const worker = live.worker_of(pid);
  if (worker == nullptr) {
    settle(live, trace, fail(ErrorKind::unavailable, "its files worker ended"));
    return;
  }
  worker->read_chunk(pid, live.bringing[pid].kept_bytes,
                     awaited<Result<FileChunk>>(
                         live, pid, [this](Live& mine, ProcessTrace& its, Result<FileChunk> piece) {
                           keep_piece(mine, its, std::move(piece));
                         }));
}

void TraceSessions::keep_piece(Live& live, ProcessTrace& trace, Result<FileChunk> piece) {
  Bringing& bringing = live.bringing[trace.key().pid];
  if (!bringing.intake) return;  // the caller has it meanwhile
  if (!piece) {
    settle(live, trace, std::unexpected(std::move(piece.error())));
    return;
  }
  if (auto taken = bringing.intake->append(*piece); !taken) {
    keep_failed(live, trace, std::move(taken.error()));
    return;
  }
  bringing.kept_bytes = piece->offset + piece->plain_bytes;
  if (!piece->last) {
    keep_next(live, trace);
    return;
  }
  auto kept = bringing.intake->keep(side_car_of(live, trace), world_.clock.wall());
  if (!kept) {
    keep_failed(live, trace, std::move(kept.error()));
    return;
  }
  keep_whole(live, trace);
}

// Whoever follows the session may still fetch it; else it stays where Kineto wrote it.
void TraceSessions::keep_failed(Live& live, ProcessTrace& trace, Error why) {
  Bringing& bringing = live.bringing[trace.key().pid];
  if (!live.facts.attended || live.followers->by_token.empty()) {
    settle(live, trace, std::unexpected(std::move(why)));
    return;
  }
  world_.log.warning("trace {} of process {} waits to be fetched, and cannot be kept: {}",
                     live.session.id.value, trace.key().pid.value, why.message);
  bringing.intake.reset();
  bringing.last_fetch = world_.clock.monotonic();
  arm_keeping(live, trace.key().pid);
}

// It is in the store: the file that Kineto wrote can go.
void TraceSessions::keep_whole(Live& live, ProcessTrace& trace) {
  const Pid pid = trace.key().pid;
  live.bringing[pid].fetchable = false;  // the store is, from now on
  live.bringing[pid].intake.reset();
  write_journal(live);
  arm_store();
  TraceDelivery delivery{
      .location = TraceDelivery::Location::daemon, .path = "", .file_id = "", .notes = {}};
  FilesWorker* const worker = live.worker_of(pid);
  if (worker == nullptr) {
    delivery.notes.push_back("the file is still there too: " + trace.written_path());
    settle(live, trace, std::move(delivery));
    return;
  }
  worker->release(pid, awaited<Status>(live, pid,
                                       [this, delivery = std::move(delivery)](
                                           Live& mine, ProcessTrace& its, Status removed) mutable {
                                         if (!removed) {
                                           delivery.notes.push_back(removed.error().message);
                                         }
                                         settle(mine, its, std::move(delivery));
                                         write_journal(mine);
                                       }));
}

// Removes what is too old, when it is.
void TraceSessions::arm_store() {
  if (world_.store == nullptr) return;
  const auto next = world_.store->next_removal();
  if (!next) {
    store_timer_.cancel();
    return;
  }
  // Wall time may be set: looked at again from time to time.
  const Nanoseconds wait = *next - world_.clock.wall();
  store_timer_ = world_.loop.after(std::clamp(wait, Nanoseconds(0), kStoreLooks), [this] {
    world_.store->remove_older(world_.clock.wall());
    arm_store();
  });
}

}  // namespace dynolog
