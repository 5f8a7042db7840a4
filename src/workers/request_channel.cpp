// One request at a time over a worker's channel.
#include "workers/request_channel.h"

#include <fmt/format.h>

#include <utility>

#include "base/number.h"

namespace dynolog {

std::string encode_numbered(std::uint64_t number, std::string_view body) {
  return fmt::format("{}\n{}", number, body);
}

std::optional<NumberedFrame> decode_numbered(std::string_view frame) {
  const std::size_t newline = frame.find('\n');
  if (newline == std::string_view::npos) return std::nullopt;
  const auto number = parse_number<std::uint64_t>(frame.substr(0, newline));
  if (!number) return std::nullopt;
  return NumberedFrame{.number = *number, .body = frame.substr(newline + 1)};
}

RequestChannel::RequestChannel(EventLoop& loop, OnEvent on_event, OnEnd on_end)
    : loop_(loop), on_event_(std::move(on_event)), on_end_(std::move(on_end)) {}

Result<std::unique_ptr<RequestChannel>> RequestChannel::start(EventLoop& loop, Log& log,
                                                              const ChildOptions& options,
                                                              OnEvent on_event, OnEnd on_end) {
  std::unique_ptr<RequestChannel> channel(
      new RequestChannel(loop, std::move(on_event), std::move(on_end)));
  RequestChannel* self = channel.get();
  auto child = ChildProcess::start(
      loop, log, options, [self](std::string_view frame) { self->on_frame(frame); },
      [self](ChildProcess::Exit exit) {
        self->end(ErrorKind::failed,
                  exit.signalled ? fmt::format("the worker was ended by signal {}", exit.code)
                                 : fmt::format("the worker ended with status {}", exit.code));
      });
  if (!child) return std::unexpected(std::move(child.error()));
  channel->child_ = std::move(*child);
  return channel;
}

RequestChannel::~RequestChannel() { *alive_ = false; }

void RequestChannel::call(std::string_view body, Nanoseconds deadline, OnReply done,
                          Nanoseconds longest) {
  ++number_;
  done_ = std::move(done);
  allowed_ = deadline;
  deadline_ = late_in(deadline);
  longest_ = late_in(longest);
  auto sent = child_->send(encode_numbered(number_, body));
  if (sent) return;
  loop_.post([this, alive = alive_, why = std::move(sent.error().message)] {
    if (*alive) end(ErrorKind::failed, why);
  });
}

Timer RequestChannel::late_in(Nanoseconds time) {
  return loop_.after(time,
                     [this] { end(ErrorKind::timed_out, "the worker did not answer in time"); });
}

void RequestChannel::extend() {
  if (busy()) deadline_ = late_in(allowed_);
}

void RequestChannel::on_frame(std::string_view frame) {
  const auto numbered = decode_numbered(frame);
  if (numbered && numbered->number == 0) {
    on_event_(numbered->body);
    return;
  }
  if (!numbered || numbered->number != number_ || !done_) {
    end(ErrorKind::failed, "the worker sent a frame that nobody asked for");
    return;
  }
  deadline_.cancel();
  longest_.cancel();
  const OnReply done = std::exchange(done_, nullptr);
  done(numbered->body);
}

void RequestChannel::end(ErrorKind kind, std::string why) {
  if (!child_) return;
  const auto alive = alive_;
  deadline_.cancel();
  longest_.cancel();
  child_.reset();  // kills it; it may be the child's callback that brought us here
  if (const OnReply done = std::exchange(done_, nullptr)) {
    done(fail(kind, why));
    if (!*alive) return;
  }
  const OnEnd on_end = std::exchange(on_end_, nullptr);
  on_end({kind, std::move(why)});
}

}  // namespace dynolog
