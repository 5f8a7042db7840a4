// The stream of a session's states, over broken connections, to its end or to Ctrl-C.
#include "cli/session_follower.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "cli/hint.h"
#include "cli/rank_order.h"
#include "cli/render_trace.h"
#include "rpc/protocol/codec.h"

namespace dynolog {
namespace {

constexpr Nanoseconds kFirstPause = Milliseconds(100);
constexpr Nanoseconds kLongestPause = Milliseconds(2000);

auto seen_of(const rpc::TraceUpdate& update) {
  return std::tie(update.state, update.sentence, update.file, update.ended, update.checked);
}

bool is_saved(const TraceOutcome& outcome, std::int64_t pid) {
  const Fetched* fetched = fetched_of(outcome, pid);
  return fetched != nullptr && fetched->state == Fetched::State::saved;
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
    // What is written is past cancelling.
    if (update.ended || update.state == "written") continue;
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

void tell_where_files_are(TraceOutcome& outcome) {
  for (rpc::TraceUpdate& update : outcome.updates) {
    const Fetched* fetched = fetched_of(outcome, update.pid);
    if (fetched == nullptr || fetched->state != Fetched::State::saved) continue;
    update.file = fetched->path;
    update.location = "caller";
    update.state = "delivered";
    update.sentence.clear();
    update.ended = true;
  }
}

bool may_still_write(const rpc::TraceUpdate& update) {
  return !update.ended || update.may_still_write;
}

CallResult<rpc::CancelReply> cancel_session(Client& client, const std::string& session) {
  return client.ask<rpc::CancelReply>(
      rpc::encode_request("cancelTrace", rpc::SessionRequest{session}), rpc::decode_cancel_reply);
}

CallResult<rpc::CancelReply> cancel_session(Client& client, const std::string& session,
                                            TraceOutcome& outcome) {
  auto reply = cancel_session(client, session);
  if (!reply) return reply;
  // What came of it belongs to the result: the first frame has the states as they are now.
  const auto states = client.ask<rpc::FollowFrame>(
      rpc::encode_request("followTrace", rpc::SessionRequest{session}), rpc::decode_follow_frame);
  if (states) (void)merge(states->updates, outcome.updates);
  apply(*reply, outcome);
  return reply;
}

SessionFollower::SessionFollower(Client& client, TracePlaces& places, Following following)
    : client_(client),
      places_(places),
      following_(std::move(following)),
      fetcher_(client.world(), client.options(), following_.session, following_.interrupt_fd),
      screen_(client.world()) {
  client_.interrupted_by(following_.interrupt_fd);
  if (following_.deadline_s <= 0) return;
  const double seconds = following_.deadline_s + client_.options().timeout_s;
  until_ = following_.committed + Milliseconds(std::llround(seconds * 1000));
}

bool SessionFollower::past_deadline() const {
  const auto passed = client_.world().clock.monotonic() - following_.committed;
  return following_.deadline_s > 0 &&
         passed >= Milliseconds(std::llround(following_.deadline_s * 1000));
}

CallResult<void> SessionFollower::follow(TraceOutcome& outcome) {
  auto text =
      client_.call(rpc::encode_request("followTrace", rpc::SessionRequest{following_.session}));
  while (true) {
    if (!text) {
      CallFailure failure = std::move(text.error());
      if (auto end = handle(std::move(failure), text, outcome)) return *end;
      continue;
    }
    const auto done = take(*text, outcome);
    if (!done) return std::unexpected(done.error());
    done_ = *done;
    auto frame = next(outcome);
    if (frame && !frame->has_value()) return {};
    if (frame) {
      text = std::move(**frame);
    } else {
      text = std::unexpected(std::move(frame.error()));
    }
  }
}

std::optional<CallResult<void>> SessionFollower::handle(CallFailure failure,
                                                        CallResult<std::string>& text,
                                                        TraceOutcome& outcome) {
  if (failure.kind == CallFailureKind::interrupted) {
    interrupted(outcome);
    return CallResult<void>();
  }
  if (past_deadline() && failure.kind != CallFailureKind::from_daemon) {
    stop_fetching("the deadline passed", outcome);
    outcome.deadline_passed = true;
    return CallResult<void>();
  }
  if (failure.kind == CallFailureKind::closed) {
    text = follow_again(failure);
    if (text || text.error().kind == CallFailureKind::interrupted) return std::nullopt;
    failure = std::move(text.error());
  }
  stop_fetching("the daemon is gone", outcome);
  return std::unexpected(std::move(failure));
}

// The next frame, while files are fetched; nullopt when there is nothing left to wait for.
CallResult<std::optional<std::string>> SessionFollower::next(TraceOutcome& outcome) {
  const Clock& clock = client_.world().clock;
  while (true) {
    fetch(outcome);
    if (is_over(outcome)) return std::nullopt;
    if (!done_) {
      auto frame = client_.try_frame();
      if (!frame || *frame) return frame;
    }
    std::optional<MonotonicTime> wake = until_;
    if (const auto at = fetcher_.wakes_at()) wake = wake ? std::min(*wake, *at) : *at;
    const std::array fds{done_ ? -1 : client_.fd(), fetcher_.fd()};
    if (wait_for_any(fds, following_.interrupt_fd, clock, wake) == Waited::interrupted) {
      return std::unexpected(
          CallFailure{CallFailureKind::interrupted, {ErrorKind::failed, "interrupted"}});
    }
    if (until_ && clock.monotonic() >= *until_) {
      return std::unexpected(
          CallFailure{CallFailureKind::late, {ErrorKind::timed_out, "the deadline passed"}});
    }
  }
}

// Those that could not be brought are not waited for: they stay with the daemon.
bool SessionFollower::is_over(const TraceOutcome& outcome) const {
  if (fetcher_.busy()) return false;
  return done_ || std::ranges::all_of(outcome.updates, [&](const rpc::TraceUpdate& update) {
           const Fetched* fetched = fetched_of(outcome, update.pid);
           return update.ended || (fetched != nullptr && fetched->state == Fetched::State::failed);
         });
}

// True when that was the last frame.
CallResult<bool> SessionFollower::take(const std::string& text, TraceOutcome& outcome) {
  const auto frame = client_.decoded<rpc::FollowFrame>(text, rpc::decode_follow_frame);
  if (!frame) return std::unexpected(frame.error());
  outcome.host = frame->host;
  auto changed = merge(frame->updates, outcome.updates);
  for (const rpc::TraceUpdate& update : changed) {
    outcome.deadline_passed |= update.state == "timed_out" && past_deadline();
  }
  want_files(outcome);
  if (outcome.deadline_passed && frame->done) fetcher_.stop("the deadline passed");
  take_results(outcome);
  // It was told when the file was there.
  std::erase_if(changed, [&](const auto& update) { return is_saved(outcome, update.pid); });
  if (!changed.empty()) screen_.show(outcome, changed);
  return frame->done;
}

void SessionFollower::take_results(TraceOutcome& outcome) {
  outcome.fetched = fetcher_.results();
  tell_where_files_are(outcome);
}

void SessionFollower::want_files(const TraceOutcome& outcome) {
  for (const rpc::TraceUpdate& update : outcome.updates) {
    fetcher_.set_ready(update.pid, update.fetchable || update.ended);
    if (!update.fetchable || fetcher_.knows(update.pid)) continue;
    if (!named_ && outcome.planned.empty()) {
      const auto named = places_.name_updates(outcome.host, outcome.updates);
      if (!named) {
        fetcher_.refuse(update.pid, named.error().message);
        continue;
      }
    }
    named_ = true;
    auto place = places_.place_of(update.pid);
    if (place) {
      fetcher_.want({update.pid, place->directory, place->name, place->gzip});
    } else {
      fetcher_.refuse(update.pid, place.error().message);
    }
  }
}

void SessionFollower::fetch(TraceOutcome& outcome) {
  if (!fetcher_.step()) return;
  std::vector<rpc::TraceUpdate> changed;
  const std::vector<Fetched> before = std::exchange(outcome.fetched, {});
  take_results(outcome);
  for (const rpc::TraceUpdate& update : outcome.updates) {
    const Fetched* now = fetched_of(outcome, update.pid);
    const auto then = std::ranges::find(before, update.pid, &Fetched::pid);
    if (now == nullptr || (then != before.end() && then->state == now->state)) continue;
    if (now->state != Fetched::State::running) changed.push_back(update);
  }
  if (changed.empty()) {
    screen_.show_fetching(outcome);
  } else {
    screen_.show(outcome, changed);
  }
}

void SessionFollower::stop_fetching(const std::string& why, TraceOutcome& outcome) {
  fetcher_.stop(why);
  take_results(outcome);
}

void SessionFollower::interrupted(TraceOutcome& outcome) {
  outcome.interrupted = true;
  stop_fetching("interrupted", outcome);
  if (following_.on_interrupt == OnInterrupt::cancel) return cancel(outcome);
  screen_.say("left; the session goes on. To withdraw it: " +
              same_daemon(client_.options(), "gputrace --cancel " + following_.session));
}

// The daemon may have been restarted: it knows its sessions from its journal.
CallResult<std::string> SessionFollower::follow_again(const CallFailure& failure) {
  const World& world = client_.world();
  screen_.say(failure.error.message + "; trying to follow the session again");
  const MonotonicTime give_up = world.clock.monotonic() + world.reconnect_for;
  Nanoseconds pause = kFirstPause;
  while (true) {
    client_.disconnect();
    auto text =
        client_.call(rpc::encode_request("followTrace", rpc::SessionRequest{following_.session}));
    const bool again = !text && (text.error().kind == CallFailureKind::no_daemon ||
                                 text.error().kind == CallFailureKind::closed);
    if (text) screen_.say("following session " + following_.session + " again");
    if (!again || world.clock.monotonic() >= give_up) return text;
    if (wait_interruptibly(following_.interrupt_fd, world.clock,
                           std::min(give_up, world.clock.monotonic() + pause))) {
      return std::unexpected(
          CallFailure{CallFailureKind::interrupted, {ErrorKind::failed, "interrupted"}});
    }
    pause = std::min(pause * 2, kLongestPause);
  }
}

// On a connection of its own, since the first one streams. A second Ctrl-C ends the waiting.
void SessionFollower::cancel(TraceOutcome& outcome) {
  drain(following_.interrupt_fd);
  screen_.say("interrupted: cancelling (once more to leave at once)");
  Client second(client_.world(), client_.options());
  second.interrupted_by(following_.interrupt_fd);
  const std::vector<rpc::TraceUpdate> before = outcome.updates;
  const auto reply = cancel_session(second, following_.session, outcome);
  if (!reply) {
    screen_.say("not cancelled: " + reply.error().error.message);
    screen_.say("later: " +
                same_daemon(client_.options(), "gputrace --cancel " + following_.session));
    return;
  }
  std::vector<rpc::TraceUpdate> known = before;
  const auto changed = merge(outcome.updates, known);
  if (!changed.empty()) screen_.show(outcome, changed);
  screen_.say(cancel_text(*reply));
}

}  // namespace dynolog
