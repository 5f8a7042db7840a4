// Requests to one worker and their replies: one request under way at a time, each with a deadline.
// What the worker sends counts as hostile: anything out of turn ends it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "net/child_process.h"
#include "net/event_loop.h"

namespace dynolog {

// A frame: the request's number in decimal, a newline, the body. 0 is an event, which answers
// nothing.
struct NumberedFrame {
  std::uint64_t number = 0;
  std::string_view body;
};
[[nodiscard]] std::string encode_numbered(std::uint64_t number, std::string_view body);
// nullopt when it is none.
[[nodiscard]] std::optional<NumberedFrame> decode_numbered(std::string_view frame);

// However busy a worker says it is: no request takes longer.
inline constexpr Nanoseconds kLongestRequest = std::chrono::hours(2);

// On the loop's thread only. No callback runs inside a call of this class, nor after its end; each
// may destroy it.
class RequestChannel {
 public:
  using OnReply = std::function<void(Result<std::string_view>)>;
  using OnEvent = std::function<void(std::string_view body)>;
  // The worker ended, was late (timed_out) or broke the protocol; it is of no use any more. The
  // request under way has failed before.
  using OnEnd = std::function<void(Error why)>;

  [[nodiscard]] static Result<std::unique_ptr<RequestChannel>> start(EventLoop& loop, Log& log,
                                                                     const ChildOptions& options,
                                                                     OnEvent on_event,
                                                                     OnEnd on_end);
  ~RequestChannel();
  RequestChannel(const RequestChannel&) = delete;
  RequestChannel& operator=(const RequestChannel&) = delete;

  // Only while not busy(), and not after the end was told.
  void call(std::string_view body, Nanoseconds deadline, OnReply done,
            Nanoseconds longest = kLongestRequest);
  // Gives the request under way its whole deadline again, within the longest: the worker shows that
  // it is at work.
  void extend();
  [[nodiscard]] bool busy() const { return static_cast<bool>(done_); }

 private:
  RequestChannel(EventLoop& loop, OnEvent on_event, OnEnd on_end);
  void on_frame(std::string_view frame);
  Timer late_in(Nanoseconds time);
  void end(ErrorKind kind, std::string why);

  EventLoop& loop_;
  OnEvent on_event_;
  OnEnd on_end_;
  std::unique_ptr<ChildProcess> child_;
  std::uint64_t number_ = 0;
  OnReply done_;  // set while a request is under way
  Nanoseconds allowed_{};
  Timer deadline_;
  Timer longest_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace dynolog
