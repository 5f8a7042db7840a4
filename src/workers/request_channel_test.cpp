// Requests to a worker that says how busy it is.
#include "workers/request_channel.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>

namespace dynolog {
namespace {

class RequestChannelTest : public ::testing::Test {
 protected:
  void start(const char* how) {
    ::setenv("DYNOLOG_TEST_WORKER", how, 1);
    auto channel = RequestChannel::start(
        loop_, *log_,
        {.executable = DYNOLOG_WORKER_CHILD, .arguments = {"--worker=files"}, .nice = 0},
        [this](std::string_view) {
          if (events_++ == 0) loop_.stop();
          channel_->extend();
        },
        [this](Error why) {
          ended_ = std::move(why);
          loop_.stop();
        });
    ::unsetenv("DYNOLOG_TEST_WORKER");
    ASSERT_TRUE(channel.has_value()) << channel.error().message;
    channel_ = std::move(*channel);
  }

  EventLoop loop_;
  std::unique_ptr<Log> log_ = make_silent_log();
  std::unique_ptr<RequestChannel> channel_;
  int events_ = 0;
  std::optional<Error> ended_;
};

TEST_F(RequestChannelTest, NoSignOfProgressKeepsARequestForEver) {
  start("busy");
  loop_.run();  // until it is at it
  const int before = events_;
  std::optional<Error> failed;
  channel_->call(
      "{}", std::chrono::hours(1),
      [&](Result<std::string_view> body) { failed = body ? Error{} : body.error(); },
      Milliseconds(50));
  loop_.run();
  ASSERT_TRUE(failed.has_value());
  EXPECT_EQ(failed->kind, ErrorKind::timed_out);
  ASSERT_TRUE(ended_.has_value());
  EXPECT_EQ(ended_->kind, ErrorKind::timed_out);
  EXPECT_GT(events_, before);
}

TEST_F(RequestChannelTest, SilenceIsLate) {
  start("silent");
  std::optional<Error> failed;
  channel_->call("{}", Milliseconds(20),
                 [&](Result<std::string_view> body) { failed = body ? Error{} : body.error(); });
  loop_.run();
  ASSERT_TRUE(failed.has_value());
  EXPECT_EQ(failed->kind, ErrorKind::timed_out);
  EXPECT_EQ(events_, 0);
}

}  // namespace
}  // namespace dynolog
