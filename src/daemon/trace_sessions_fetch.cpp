// A caller takes a file over, piece by piece: from the worker that holds it, or from the store.
#include <fmt/format.h>

#include <memory>
#include <utility>

#include "base/base64.h"
#include "base/text.h"
#include "daemon/trace_sessions.h"
#include "daemon/trace_sessions_live.h"

namespace dynolog {
namespace {

constexpr std::size_t kMaxShownPath = 4096;

rpc::FetchReply reply_of(FileChunk chunk) {
  rpc::FetchReply reply;
  reply.offset = chunk.offset;
  reply.plain_bytes = chunk.plain_bytes;
  reply.total_bytes = chunk.total_bytes;
  reply.crc32 = chunk.crc32;
  reply.stamp = std::move(chunk.stamp);
  reply.data = to_base64(chunk.data);
  reply.last = chunk.last;
  return reply;
}

// `unavailable` where it is going to be: after a restart, say, until the file was looked at anew.
std::unexpected<Error> not_fetchable(const ProcessTrace& trace) {
  const std::string state(to_string(trace.state()));
  if (is_end(trace.state())) {
    return fail(ErrorKind::invalid,
                "there is nothing to fetch: " + state + ", " + trace.sentence());
  }
  if (!trace.request().place.brought()) {
    return fail(ErrorKind::invalid,
                "its file is going to lie on the host: " + trace.request().place.target);
  }
  return fail(ErrorKind::unavailable,
              "its file is not ready (" + state + "): follow the session until it is fetchable");
}

// Says so when nobody else answers: the session may be deleted while its worker is at it, which
// ends with it.
template <class Reply>
rpc::Done<Reply> answered_in_any_case(EventLoop& loop, rpc::Done<Reply> done) {
  struct Owed {
    Owed(EventLoop& its_loop, rpc::Done<Reply> its_done)
        : loop(its_loop), done(std::move(its_done)) {}
    Owed(const Owed&) = delete;
    Owed& operator=(const Owed&) = delete;
    ~Owed() {
      if (answered) return;
      loop.post([done = std::move(done)] {
        done(fail(ErrorKind::not_found, "the session was deleted meanwhile"));
      });
    }
    EventLoop& loop;
    rpc::Done<Reply> done;
    bool answered = false;
  };
  return [owed = std::make_shared<Owed>(loop, std::move(done))](Result<Reply> reply) {
    owed->answered = true;
    owed->done(std::move(reply));
  };
}

}  // namespace

Result<TraceSessions::OneTrace> TraceSessions::find_trace(const Caller& caller,
                                                          const std::string& session,
                                                          std::int64_t pid) {
  Error error;
  Live* const live = find_for(caller, SessionId{session}, error);
  if (live == nullptr) return std::unexpected(std::move(error));
  const Pid wanted{static_cast<std::int32_t>(pid)};
  const auto trace = live->session.traces.find(wanted);
  if (trace == live->session.traces.end() || wanted.value != pid) {
    return fail(ErrorKind::not_found,
                fmt::format("session {} has no trace of process {}", session, pid));
  }
  return OneTrace{*live, wanted, trace->second};
}

void TraceSessions::fetch(const Caller& caller, rpc::FetchRequest request,
                          rpc::Done<rpc::FetchReply> done) {
  auto found = find_trace(caller, request.session, request.pid);
  if (!found) return done(std::unexpected(std::move(found.error())));
  auto& [live, pid, trace] = *found;
  if (world_.store != nullptr && world_.store->holds(live.session.id, pid)) {
    auto piece = world_.store->read(live.session.id, pid, request.offset);
    if (!piece) return done(std::unexpected(std::move(piece.error())));
    if (!std::exchange(live.bringing[pid].fetched, true)) {
      audit_fetch(caller, live, pid, "fetched", "");
    }
    auto reply = reply_of(std::move(*piece));
    if (reply.last) reply.side_car = world_.store->side_car(live.session.id, pid);
    return done(std::move(reply));
  }
  Bringing& bringing = live.bringing[pid];
  FilesWorker* const worker = live.worker_of(pid);
  if (!bringing.fetchable || worker == nullptr) {
    return done(not_fetchable(trace));
  }
  if (std::exchange(bringing.reading, true)) {
    return done(fail(ErrorKind::exhausted,
                     "another piece of this file is being read: ask for one after the other"));
  }
  if (!std::exchange(bringing.fetched, true)) audit_fetch(caller, live, pid, "fetched", "");
  bringing.last_fetch = world_.clock.monotonic();
  worker->read_chunk(
      pid, request.offset,
      awaited<Result<FileChunk>>(live, pid,
                                 [this, done = answered_in_any_case(world_.loop, std::move(done))](
                                     Live& mine, ProcessTrace& its, Result<FileChunk> piece) {
                                   Bringing& its_bringing = mine.bringing[its.key().pid];
                                   its_bringing.reading = false;
                                   its_bringing.last_fetch = world_.clock.monotonic();
                                   arm_keeping(mine, its.key().pid);
                                   if (!piece)
                                     return done(std::unexpected(std::move(piece.error())));
                                   auto reply = reply_of(std::move(*piece));
                                   if (reply.last) reply.side_car = side_car_of(mine, its);
                                   done(std::move(reply));
                                 }));
}

void TraceSessions::release(const Caller& caller, rpc::ReleaseRequest request,
                            rpc::Done<rpc::ReleaseReply> done) {
  auto found = find_trace(caller, request.session, request.pid);
  if (!found) return done(std::unexpected(std::move(found.error())));
  auto& [live, pid, trace] = *found;
  TraceDelivery delivery{.location = TraceDelivery::Location::caller,
                         .path = clean_text(request.file, kMaxShownPath),
                         .file_id = "",
                         .notes = {}};
  if (world_.store != nullptr && world_.store->holds(live.session.id, pid)) {
    world_.store->remove(live.session.id, pid);
    audit_fetch(caller, live, pid, "released", delivery.path);
    settle(live, trace, std::move(delivery));
    return done(rpc::ReleaseReply{.removed = true});
  }
  FilesWorker* const worker = live.worker_of(pid);
  if (!live.bringing[pid].fetchable || worker == nullptr) {
    if (trace.delivery()) return done(rpc::ReleaseReply{.removed = false});
    return done(not_fetchable(trace));
  }
  audit_fetch(caller, live, pid, "released", delivery.path);
  live.bringing[pid].fetchable = false;
  live.bringing[pid].intake.reset();
  live.bringing[pid].patience.cancel();
  worker->release(pid, awaited<Status>(live, pid,
                                       [this, delivery = std::move(delivery),
                                        done = answered_in_any_case(world_.loop, std::move(done))](
                                           Live& mine, ProcessTrace& its, Status removed) mutable {
                                         if (!removed)
                                           delivery.notes.push_back(removed.error().message);
                                         settle(mine, its, std::move(delivery));
                                         done(rpc::ReleaseReply{.removed = removed.has_value()});
                                       }));
}

void TraceSessions::audit_fetch(const Caller& caller, const Live& live, Pid pid,
                                std::string_view what, const std::string& file) {
  const std::string who = audit_name(caller);
  world_.log.info("trace {} of process {} {} by {}{}{}", live.session.id.value, pid.value, what,
                  who, file.empty() ? "" : ": ", file);
  world_.publish({.time = world_.clock.wall(),
                  .kind = fmt::format("audit.trace_{}", what),
                  .subject = live.session.id.value,
                  .text = fmt::format("trace of process {} {} by {}", pid.value, what, who),
                  .fields = {{"process", std::to_string(pid.value)}, {"file", file}}});
}

}  // namespace dynolog
