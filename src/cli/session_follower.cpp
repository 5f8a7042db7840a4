// The stream of a session's states, over broken connections, to its end or to Ctrl-C.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>
#include <unordered_map>

#include "cli/hint.h"
#include "cli/rank_order.h"
#include "cli/render.h"
#include "cli/trace_run.h"
#include "rpc/protocol/codec.h"

namespace dynolog {
namespace {

constexpr Nanoseconds kFirstPause = Milliseconds(100);
constexpr Nanoseconds kLongestPause = Milliseconds(2000);

auto seen_of(const rpc::TraceUpdate& update) {
  return std::tie(update.state, update.sentence, update.file, update.ended, update.checked);
}

// The changed ones, in the order of the tables.
std::vector<rpc::TraceUpdate> merge(const std::vector<rpc::TraceUpdate>& from,
                                    std::vector<rpc::TraceUpdate>& into) {
  std::unordered_map<std::int64_t, std::size_t> places;
  for (std::size_t i = 0; i < into.size(); ++i) places.emplace(into[i].pid, i);
  std::vector<rpc::TraceUpdate> changed;
  for (const rpc::TraceUpdate& update : from) {
    const auto [place, is_new] = places.emplace(update.pid, into.size());
    if (is_new) into.emplace_back();
    rpc::TraceUpdate& known = into[place->second];
    if (is_new || seen_of(known) != seen_of(update)) changed.push_back(update);
    known = update;
  }
  sort_by_rank(into);
  sort_by_rank(changed);
  return changed;
}

void drain(int fd) {
  std::array<char, 128> one;  // a signalfd_siginfo
  (void)!::read(fd, one.data(), one.size());
}

// What a cancellation's answer alone says of the states.
void apply(const rpc::CancelReply& reply, TraceOutcome& outcome) {
  for (rpc::TraceUpdate& update : outcome.updates) {
    if (update.ended) continue;
    if (std::ranges::find(reply.beyond_recall, update.pid) != reply.beyond_recall.end()) {
      if (update.sentence.contains("recalled")) continue;
      update.sentence = "cannot be recalled: the process has it, runs on and writes its file";
    } else {
      update.state = "cancelled";
      update.sentence = "cancelled before the process took it";
      update.ended = true;
    }
  }
}

}  // namespace

bool may_still_write(const rpc::TraceUpdate& update) {
  return !update.ended || update.may_still_write;
}

CallResult<rpc::CancelReply> cancel_session(Client& client, const std::string& session,
                                            TraceOutcome& outcome) {
  auto reply = client.ask<rpc::CancelReply>(
      rpc::encode_request("cancelTrace", rpc::SessionRequest{session}), rpc::decode_cancel_reply);
  if (!reply) return reply;
  // What came of it belongs to the result: the first frame has the states as they are now.
  const auto states = client.ask<rpc::FollowFrame>(
      rpc::encode_request("followTrace", rpc::SessionRequest{session}), rpc::decode_follow_frame);
  if (states) (void)merge(states->updates, outcome.updates);
  apply(*reply, outcome);
  return reply;
}

SessionFollower::SessionFollower(Client& client, std::string session, MonotonicTime committed,
                                 double deadline_s, int interrupt_fd, OnInterrupt on_interrupt)
    : client_(client),
      session_(std::move(session)),
      committed_(committed),
      deadline_s_(deadline_s),
      interrupt_fd_(interrupt_fd),
      on_interrupt_(on_interrupt),
      screen_(client.world()) {
  client_.interrupted_by(interrupt_fd);
}

bool SessionFollower::past_deadline() const {
  const auto passed = client_.world().clock.monotonic() - committed_;
  return deadline_s_ > 0 && passed >= Milliseconds(std::llround(deadline_s_ * 1000));
}

CallResult<void> SessionFollower::follow(TraceOutcome& outcome) {
  std::optional<MonotonicTime> until;  // the daemon keeps the deadline; this is for one that hangs
  if (deadline_s_ > 0) {
    until =
        committed_ + Milliseconds(std::llround((deadline_s_ + client_.options().timeout_s) * 1000));
  }
  auto text = client_.call(rpc::encode_request("followTrace", rpc::SessionRequest{session_}));
  while (true) {
    if (!text) {
      CallFailure failure = std::move(text.error());
      if (failure.kind == CallFailureKind::interrupted) {
        outcome.interrupted = true;
        if (on_interrupt_ == OnInterrupt::cancel) {
          cancel(outcome);
        } else {
          screen_.say("left; the session goes on. To withdraw it: " +
                      same_daemon(client_.options(), "gputrace --cancel " + session_));
        }
        return {};
      }
      if (past_deadline() && failure.kind != CallFailureKind::from_daemon) {
        outcome.deadline_passed = true;
        return {};
      }
      if (failure.kind != CallFailureKind::closed) return std::unexpected(std::move(failure));
      text = follow_again(failure);
      if (!text && text.error().kind != CallFailureKind::interrupted) {
        return std::unexpected(std::move(text.error()));
      }
      continue;
    }
    const auto done = take(*text, outcome);
    if (!done) return std::unexpected(done.error());
    if (*done) return {};
    text = client_.next_frame(until);
  }
}

// True when that was the last frame.
CallResult<bool> SessionFollower::take(const std::string& text, TraceOutcome& outcome) {
  const auto frame = client_.decoded<rpc::FollowFrame>(text, rpc::decode_follow_frame);
  if (!frame) return std::unexpected(frame.error());
  const auto changed = merge(frame->updates, outcome.updates);
  if (!changed.empty()) screen_.show(outcome, changed);
  for (const rpc::TraceUpdate& update : changed) {
    outcome.deadline_passed |= update.state == "timed_out" && past_deadline();
  }
  return frame->done;
}

// The daemon may have been restarted: it knows its sessions from its journal.
CallResult<std::string> SessionFollower::follow_again(const CallFailure& failure) {
  const World& world = client_.world();
  screen_.say(failure.error.message + "; trying to follow the session again");
  const MonotonicTime give_up = world.clock.monotonic() + world.reconnect_for;
  Nanoseconds pause = kFirstPause;
  while (true) {
    client_.disconnect();
    auto text = client_.call(rpc::encode_request("followTrace", rpc::SessionRequest{session_}));
    const bool again = !text && (text.error().kind == CallFailureKind::no_daemon ||
                                 text.error().kind == CallFailureKind::closed);
    if (text) screen_.say("following session " + session_ + " again");
    if (!again || world.clock.monotonic() >= give_up) return text;
    if (wait_interruptibly(interrupt_fd_, world.clock,
                           std::min(give_up, world.clock.monotonic() + pause))) {
      return std::unexpected(
          CallFailure{CallFailureKind::interrupted, {ErrorKind::failed, "interrupted"}});
    }
    pause = std::min(pause * 2, kLongestPause);
  }
}

// On a connection of its own, since the first one streams. A second Ctrl-C ends the waiting.
void SessionFollower::cancel(TraceOutcome& outcome) {
  drain(interrupt_fd_);
  screen_.say("interrupted: cancelling (once more to leave at once)");
  Client second(client_.world(), client_.options());
  second.interrupted_by(interrupt_fd_);
  const std::vector<rpc::TraceUpdate> before = outcome.updates;
  const auto reply = cancel_session(second, session_, outcome);
  if (!reply) {
    screen_.say("not cancelled: " + reply.error().error.message);
    screen_.say("later: " + same_daemon(client_.options(), "gputrace --cancel " + session_));
    return;
  }
  std::vector<rpc::TraceUpdate> known = before;
  const auto changed = merge(outcome.updates, known);
  if (!changed.empty()) screen_.show(outcome, changed);
  screen_.say(cancel_text(*reply));
}

}  // namespace dynolog
