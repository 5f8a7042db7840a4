// The queue against a receiver that is scripted: it takes, refuses, is busy, away, or never there.
#include "sinks/otlp_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "testing/capturing_log.h"
#include "testing/patience.h"

namespace dynolog {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::HasSubstr;

// Answers from a script, later, as a real one does; without a script it keeps silent.
class ScriptedClient final : public HttpClient {
 public:
  explicit ScriptedClient(EventLoop& loop) : loop_(loop) {}
  void post(HttpPost post, milliseconds, Done done) override {
    posted.push_back(*post.body);
    posted_at.push_back(std::chrono::steady_clock::now());
    if (replies.empty()) {
      loop_.stop();
      return;
    }
    auto reply = std::move(replies.front());
    replies.erase(replies.begin());
    answer_ = loop_.after({}, [done = std::move(done), reply = std::move(reply)] { done(reply); });
  }

  std::vector<Result<HttpReply>> replies;
  std::vector<std::string> posted;
  std::vector<std::chrono::steady_clock::time_point> posted_at;

 private:
  EventLoop& loop_;
  Timer answer_;
};

// With pauses for which no test waits long.
OtlpQueueOptions quick() {
  return {.target = "/v1/metrics", .first_pause = milliseconds(1), .last_pause = milliseconds(4)};
}

class OtlpQueueTest : public testing::Test {
 protected:
  OtlpQueueTest() { make(quick()); }

  void make(const OtlpQueueOptions& options) {
    queue_ = std::make_unique<OtlpQueue>(
        OtlpQueue::World{.loop = loop_, .clock = clock_, .log = log_, .client = client_}, options);
  }

  void put(const std::string& bytes, std::size_t points = 5) {
    queue_->put({std::make_shared<const std::string>(bytes), points});
  }

  [[nodiscard]] std::vector<std::string> logged() const {
    std::vector<std::string> texts;
    for (const CapturingLog::Line& line : log_.lines()) texts.push_back(line.text);
    return texts;
  }

  void run_until_empty() {
    queue_->when_empty([this] { loop_.stop(); });
    loop_.run();
  }

  SystemClock clock_;
  CapturingLog log_;
  EventLoop loop_;
  ScriptedClient client_{loop_};
  std::unique_ptr<OtlpQueue> queue_;
  LoopGuard guard_{loop_};
};

HttpReply ok() { return {.status = 200, .content_type = "application/x-protobuf"}; }

TEST_F(OtlpQueueTest, SendsInOrderOneAtATime) {
  client_.replies = {ok(), ok(), ok()};
  for (const char* bytes : {"a", "b", "c"}) put(bytes);
  EXPECT_EQ(client_.posted.size(), 1U);
  EXPECT_EQ(queue_->counts().length, 3U);
  run_until_empty();
  EXPECT_THAT(client_.posted, ElementsAre("a", "b", "c"));
  EXPECT_EQ(queue_->counts().length, 0U);
  EXPECT_FALSE(queue_->problem());
}

TEST_F(OtlpQueueTest, TriesAgainWhatMayPass) {
  client_.replies = {HttpReply{.status = 503, .content_type = "text/plain", .body = "busy"},
                     HttpReply{.status = 429, .retry_after = "0"},
                     fail(ErrorKind::failed, "connecting: Connection refused"), ok(), ok()};
  put("a");
  put("b");
  run_until_empty();
  EXPECT_THAT(client_.posted, ElementsAre("a", "a", "a", "a", "b"));
  EXPECT_EQ(queue_->counts().delivery_failures, 3U);
  EXPECT_EQ(queue_->counts().dropped, 0U);
  EXPECT_FALSE(queue_->problem()) << "gone with the first success";
}

HttpReply busy(const std::string& retry_after = "") {
  return {.status = 503, .content_type = "text/plain", .retry_after = retry_after};
}

// Not before the time that it names, and, since it names an hour, not after the longest pause.
TEST_F(OtlpQueueTest, AReceiverThatAsksForTimeGetsIt) {
  OtlpQueueOptions options = quick();
  options.longest_pause = milliseconds(60);
  make(options);
  client_.replies = {busy("3600"), ok()};
  put("a");
  run_until_empty();
  ASSERT_EQ(client_.posted_at.size(), 2U);
  EXPECT_GE(client_.posted_at[1] - client_.posted_at[0], milliseconds(60));
}

// The second ten would take a quarter of an hour if the pauses did not begin anew: the guard ends
// that.
TEST_F(OtlpQueueTest, PausesGrowUntilSomethingGetsThrough) {
  OtlpQueueOptions options = quick();
  options.last_pause = std::chrono::hours(1);
  make(options);
  const std::vector<Result<HttpReply>> ten(10, busy());
  client_.replies = ten;
  client_.replies.emplace_back(ok());
  client_.replies.insert(client_.replies.end(), ten.begin(), ten.end());
  client_.replies.emplace_back(ok());
  put("a");
  put("b");
  run_until_empty();
  ASSERT_EQ(client_.posted_at.size(), 22U);
  // 1 + 2 + 4 + ... + 512 ms, less a fifth.
  EXPECT_GE(client_.posted_at[10] - client_.posted_at[0], milliseconds(818));
}

TEST_F(OtlpQueueTest, SaysWhatIsWrongWhileItIs) {
  client_.replies = {HttpReply{.status = 503, .content_type = "text/plain", .body = "busy"}};
  put("a");
  loop_.run();  // until the second attempt, which nobody answers
  ASSERT_TRUE(queue_->problem());
  EXPECT_EQ(queue_->problem()->message, "the receiver answers 503: busy");
}

TEST_F(OtlpQueueTest, DropsWhatIsRefusedForGoodAndLogsItOnce) {
  const HttpReply bad{.status = 400, .content_type = "text/plain", .body = "bad name"};
  const HttpReply closed{.status = 401};
  client_.replies = {bad, bad, closed, ok()};
  for (const char* bytes : {"a", "b", "c", "d"}) put(bytes);
  run_until_empty();
  EXPECT_THAT(client_.posted, ElementsAre("a", "b", "c", "d"));
  EXPECT_EQ(queue_->counts().dropped, 3U);
  EXPECT_THAT(logged(), ElementsAre(HasSubstr("answers 400: bad name; such requests are dropped"),
                                    HasSubstr("answers 401; --otlp_headers may hold")));
}

TEST_F(OtlpQueueTest, TellsOfAPartialSuccess) {
  HttpReply partial = ok();
  partial.body = std::string("\x0a\x0a\x08\x03\x12\x06too\told", 12);
  client_.replies = {partial, partial, ok()};
  for (const char* bytes : {"a", "b"}) put(bytes, 7);
  run_until_empty();
  EXPECT_EQ(client_.posted.size(), 2U) << "what was rejected is not sent again";
  ASSERT_EQ(logged().size(), 1U);
  EXPECT_THAT(logged()[0], HasSubstr("rejected 3 of 7 data points: too"));
  EXPECT_TRUE(queue_->problem());
  put("c");
  run_until_empty();
  EXPECT_FALSE(queue_->problem());
}

TEST_F(OtlpQueueTest, TheOldestGoWhenItIsFull) {
  OtlpQueueOptions small = quick();
  small.max_batches = 3;
  small.max_bytes = 1000;
  make(small);
  client_.replies = {};
  put("first");  // on its way: it stays
  for (const char* bytes : {"b", "c", "d", "e"}) put(bytes);
  EXPECT_EQ(queue_->counts().length, 3U);
  EXPECT_EQ(queue_->counts().dropped, 2U);
  put(std::string(2000, 'x'));
  EXPECT_EQ(queue_->counts().length, 1U) << "what is on its way and too large goes first or last";
}

}  // namespace
}  // namespace dynolog
