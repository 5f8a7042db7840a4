// A state machine over one connection: ask, take, ask again; then release, then the next file.
#include "cli/trace_fetcher.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/render.h"
#include "rpc/protocol/codec.h"

namespace dynolog {
namespace {

constexpr Nanoseconds kFirstPause = Milliseconds(100);
constexpr Nanoseconds kLongestPause = Milliseconds(2000);
// The daemon's worker may be checking another file of gigabytes first.
constexpr Nanoseconds kPatience = std::chrono::seconds(60);
constexpr int kMostRestarts = 2;

// A daemon that is not there, or cannot now, is asked again; one that says no is not.
bool may_pass(const CallFailure& failure) {
  switch (failure.kind) {
    case CallFailureKind::no_daemon:
    case CallFailureKind::closed:
    case CallFailureKind::late:
      return true;
    case CallFailureKind::from_daemon:
      return failure.error.kind == ErrorKind::unavailable ||
             failure.error.kind == ErrorKind::timed_out ||
             failure.error.kind == ErrorKind::exhausted;
    case CallFailureKind::garbled:
    case CallFailureKind::interrupted:
      break;
  }
  return false;
}

bool at_end(const Fetched& result) {
  return result.state == Fetched::State::saved || result.state == Fetched::State::failed;
}

}  // namespace

TraceFetcher::TraceFetcher(const World& world, const GlobalOptions& options, std::string session,
                           int interrupt_fd)
    : world_(world), client_(world, options), session_(std::move(session)) {
  client_.interrupted_by(interrupt_fd);
}

bool TraceFetcher::knows(std::int64_t pid) const {
  return std::ranges::any_of(files_, [pid](const File& each) { return each.place.pid == pid; });
}

void TraceFetcher::want(Place place) {
  if (knows(place.pid)) return;
  File& each = files_.emplace_back();
  each.result.pid = place.pid;
  each.place = std::move(place);
}

void TraceFetcher::set_ready(std::int64_t pid, bool ready) {
  for (File& each : files_) {
    if (each.place.pid != pid || each.ready == ready) continue;
    each.ready = ready;
    if (busy() && &each == &file()) give_up_at_.reset();
  }
}

bool TraceFetcher::waits() const {
  const File& each = files_[current_];
  return !each.ready && each.result.state != Fetched::State::saved;
}

void TraceFetcher::refuse(std::int64_t pid, const std::string& problem) {
  if (knows(pid)) return;
  want({.pid = pid, .directory = "", .name = ""});
  give_up(files_.back(), problem);
  skip_ended();
}

bool TraceFetcher::step() {
  if (!busy()) return false;
  const MonotonicTime now = world_.clock.monotonic();
  if (!asked_) return now >= try_at_ && !waits() && ask();
  auto frame = client_.try_frame();
  if (!frame) return trouble(frame.error());
  if (*frame) return take(**frame);
  if (now < answer_by_) return false;
  client_.disconnect();
  return trouble({CallFailureKind::late,
                  {ErrorKind::timed_out, "the daemon does not answer while a file is fetched"}});
}

// True when that was the end of a file.
bool TraceFetcher::ask() {
  File& each = file();
  if (each.result.state == Fetched::State::waiting) {
    each.begun = world_.clock.monotonic();
    each.result.state = Fetched::State::running;
    auto received = ReceivedFile::create(each.place.directory, each.place.name, each.place.gzip);
    if (!received) {
      give_up(each, received.error().message);
      next();
      return true;
    }
    each.received = std::move(*received);
  }
  const auto request =
      each.reader.whole()
          ? rpc::encode(rpc::ReleaseRequest{session_, each.place.pid, each.received->path()})
          : rpc::encode(rpc::FetchRequest{session_, each.place.pid, each.reader.offset()});
  if (const auto sent = client_.send(request); !sent) return trouble(sent.error());
  asked_ = true;
  answer_by_ = world_.clock.monotonic() + kPatience;
  return false;
}

bool TraceFetcher::take(const std::string& text) {
  asked_ = false;
  File& each = file();
  if (each.reader.whole()) {
    const auto reply = client_.decoded<rpc::ReleaseReply>(text, rpc::decode_release_reply);
    if (!reply) return trouble(reply.error());
    next();
    return true;
  }
  const auto piece = client_.decoded<rpc::FetchReply>(text, rpc::decode_fetch_reply);
  if (!piece) return trouble(piece.error());
  pause_ = {};
  give_up_at_.reset();
  if (const Status taken = take_piece(*piece); !taken) {
    give_up(each, taken.error().message);
    next();
  }
  return true;
}

Status TraceFetcher::take_piece(const rpc::FetchReply& piece) {
  File& each = file();
  if (each.reader.is_other_file(piece) && each.restarts < kMostRestarts) {
    ++each.restarts;
    each.reader.begin();
    each.result.have = 0;
    return each.received->restart();
  }
  const auto plain = each.reader.take(piece);
  if (!plain) {
    return fail(ErrorKind::failed,
                "what the daemon sends cannot be used: " + plain.error().message);
  }
  each.result.total = each.reader.total();
  if (Status written = each.received->write(*plain); !written) {
    return fail(
        written.error().kind,
        fmt::format("{} ({} of {} had come, and were removed again)", written.error().message,
                    bytes_text(each.result.have), bytes_text(each.result.total)));
  }
  each.result.have = each.reader.offset();
  const std::chrono::duration<double> passed = world_.clock.monotonic() - each.begun;
  each.result.seconds = passed.count();
  return each.reader.whole() ? save(each, piece) : Status{};
}

Status TraceFetcher::save(File& each, const rpc::FetchReply& last) {
  if (Status finished = each.received->finish(); !finished) return finished;
  each.result.state = Fetched::State::saved;
  each.result.path = each.received->path();
  each.result.stored = each.received->bytes();
  if (each.received->replaced()) {
    each.result.notes.emplace_back("it took the place of an older file of that name");
  }
  if (last.side_car.empty()) return {};
  if (const Status put = each.received->side_car(last.side_car); !put) {
    each.result.notes.push_back("no record of it lies in .dynolog/: " + put.error().message);
  }
  return {};
}

// True when that was the end of a file.
bool TraceFetcher::trouble(const CallFailure& failure) {
  asked_ = false;
  if (failure.kind == CallFailureKind::interrupted) return false;  // its owner knows what to do
  const MonotonicTime now = world_.clock.monotonic();
  if (!give_up_at_) give_up_at_ = now + world_.reconnect_for;
  if (may_pass(failure) && now < *give_up_at_) {
    pause_ = std::clamp(pause_ * 2, kFirstPause, kLongestPause);
    try_at_ = now + pause_;
    return false;
  }
  File& each = file();
  const bool gone =
      failure.kind == CallFailureKind::from_daemon && failure.error.kind == ErrorKind::not_found;
  if (each.result.state != Fetched::State::saved) {
    give_up(each, failure.error.message);
  } else if (!gone) {  // an answer that got lost had released it
    each.result.notes.push_back("the daemon may keep a copy: " + failure.error.message);
  }
  next();
  return true;
}

void TraceFetcher::give_up(File& each, const std::string& problem) {
  each.received.reset();
  each.result.state = Fetched::State::failed;
  each.result.problem = problem;
}

// The current one is at its end.
void TraceFetcher::next() {
  asked_ = false;
  pause_ = {};
  try_at_ = {};
  give_up_at_.reset();
  file().received.reset();
  skip_ended();
}

void TraceFetcher::skip_ended() {
  while (busy() && at_end(file().result)) ++current_;
}

std::optional<MonotonicTime> TraceFetcher::wakes_at() const {
  if (!busy() || (!asked_ && waits())) return std::nullopt;
  return asked_ ? answer_by_ : try_at_;
}

void TraceFetcher::stop(const std::string& why) {
  for (File& each : files_) {
    if (!at_end(each.result)) give_up(each, why);
  }
  skip_ended();
  client_.disconnect();
}

std::vector<Fetched> TraceFetcher::results() const {
  std::vector<Fetched> results;
  for (const File& each : files_) results.push_back(each.result);
  return results;
}

}  // namespace dynolog
