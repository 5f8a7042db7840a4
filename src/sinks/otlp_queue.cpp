// Sending, and what each answer means.
#include "sinks/otlp_queue.h"

#include <fmt/format.h>

#include <utility>

#include "base/random.h"
#include "sinks/otlp_response.h"

namespace dynolog {
namespace {

using std::chrono::milliseconds;

// Those of the specification that are worth another attempt.
bool is_passing(unsigned status) {
  return status == 429 || status == 502 || status == 503 || status == 504;
}

std::string_view hint(unsigned status) {
  switch (status) {
    case 401:
    case 403:
      return "; --otlp_headers may hold what lets this host in";
    case 404:
    case 405:
      return "; the path of --otlp_endpoint may be another one";
    case 413:
      return "; its limit on requests may be raised";
    case 415:
      return "; it may not take protobuf, or not compressed (--otlp_compression=none)";
    default:
      return "";
  }
}

std::int64_t random_share() {
  constexpr std::uint64_t kShares = RetryPause::kGreatestShare - RetryPause::kLeastShare + 1;
  return RetryPause::kLeastShare + static_cast<std::int64_t>(random_u64() % kShares);
}

}  // namespace

OtlpQueue::OtlpQueue(World world, OtlpQueueOptions options)
    : world_(world),
      options_(std::move(options)),
      pause_(options_.first_pause, options_.last_pause, options_.longest_pause) {}

void OtlpQueue::put(OtlpParcel parcel) {
  bytes_ += parcel.bytes->size();
  waiting_.push_back(std::move(parcel));
  while (waiting_.size() > 1 &&
         (waiting_.size() > options_.max_batches || bytes_ > options_.max_bytes)) {
    drop_oldest();
  }
  count();
  if (!busy_) send();
}

// The first one stays while it is on its way: its answer must not be taken for another's.
void OtlpQueue::drop_oldest() {
  const auto oldest = waiting_.begin() + (busy_ && waiting_.size() > 1 ? 1 : 0);
  bytes_ -= oldest->bytes->size();
  waiting_.erase(oldest);
  ++dropped_;
}

void OtlpQueue::send() {
  if (waiting_.empty()) {
    busy_ = false;
    if (const auto call = std::exchange(when_empty_, nullptr)) call();
    return;
  }
  busy_ = true;
  world_.client.post(
      {.target = options_.target, .fields = options_.fields, .body = waiting_.front().bytes},
      options_.timeout, [this](Result<HttpReply> reply) { answered(std::move(reply)); });
}

void OtlpQueue::answered(Result<HttpReply> reply) {
  if (!reply) return try_again(std::move(reply.error()), std::nullopt);
  if (reply->status / 100 == 2) return accepted(*reply);
  refused(*reply);
}

void OtlpQueue::accepted(const HttpReply& reply) {
  const std::size_t points = waiting_.front().points;
  const bool is_protobuf = reply.content_type.starts_with("application/x-protobuf");
  const auto partial =
      is_protobuf ? decode_otlp_response(reply.body) : Result<OtlpPartialSuccess>({});
  if (!partial) {
    say("answer", "", "OTLP: " + partial.error().message);
  } else if (partial->rejected > 0) {
    say("partial success", partial->message,
        fmt::format("OTLP: the receiver rejected {} of {} data points: {}", partial->rejected,
                    points, partial->message.empty() ? "it does not say why" : partial->message));
    failed(fail(ErrorKind::invalid, fmt::format("the receiver rejected {} of {} data points: {}",
                                                partial->rejected, points, partial->message))
               .error());
    pause_.restart();
    return settle();
  } else if (!partial->message.empty()) {
    say("remark", partial->message, "OTLP: the receiver took all and says: " + partial->message);
  }
  pause_.restart();
  {
    const std::scoped_lock lock(counted_.mutex);
    counted_.problem.reset();
  }
  settle();
}

void OtlpQueue::refused(const HttpReply& reply) {
  const std::string text = otlp_error_text(reply.content_type, reply.body);
  Error error =
      fail(ErrorKind::failed, fmt::format("the receiver answers {}{}{}{}", reply.status,
                                          text.empty() ? "" : ": ", text, hint(reply.status)))
          .error();
  if (is_passing(reply.status)) {
    const auto asked = parse_retry_after(reply.retry_after, world_.clock.wall());
    return try_again(std::move(error), asked);
  }
  say(std::to_string(reply.status), text, "OTLP: " + error.message + "; such requests are dropped");
  ++dropped_;
  failed(std::move(error));
  settle();
}

void OtlpQueue::try_again(Error error, std::optional<milliseconds> asked) {
  failed(std::move(error));
  retry_ = world_.loop.after(pause_.next(asked, random_share()), [this] { send(); });
}

// The first one is done with, for good or ill.
void OtlpQueue::settle() {
  bytes_ -= waiting_.front().bytes->size();
  waiting_.pop_front();
  count();
  send();
}

void OtlpQueue::count() {
  const std::scoped_lock lock(counted_.mutex);
  counted_.queue.length = waiting_.size();
  counted_.queue.dropped = dropped_;
}

void OtlpQueue::failed(Error error) {
  const std::scoped_lock lock(counted_.mutex);
  ++counted_.queue.delivery_failures;
  counted_.problem = std::move(error);
}

// A receiver that rejects says so each time: the log has it when it says something else, and of one
// that always does, now and then.
void OtlpQueue::say(const std::string& about, const std::string& what,
                    const std::string& sentence) {
  constexpr auto kAtMostEvery = std::chrono::minutes(10);
  const MonotonicTime now = world_.clock.monotonic();
  const auto [known, first] = said_.try_emplace(about, Said{what, now});
  if (!first && (known->second.what == what || now - known->second.at < kAtMostEvery)) return;
  known->second = {what, now};
  world_.log.warning("{}", sentence);
}

SinkQueue OtlpQueue::counts() const {
  const std::scoped_lock lock(counted_.mutex);
  return counted_.queue;
}

std::optional<Error> OtlpQueue::problem() const {
  const std::scoped_lock lock(counted_.mutex);
  return counted_.problem;
}

void OtlpQueue::when_empty(std::function<void()> call) {
  if (waiting_.empty()) return call();
  when_empty_ = std::move(call);
}

}  // namespace dynolog
