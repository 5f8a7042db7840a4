// The layout, byte by byte, and every malformed datagram that once did harm.
#include "ipc/kineto_wire.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "ipc/mailbox.h"
#include "testing/kineto_client.h"

namespace dynolog {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Result<KinetoMessage> decode(std::string_view datagram) {
  return decode_kineto(std::as_bytes(std::span(datagram)));
}

// A header that claims `size`, in front of `body`.
std::string claimed(std::uint64_t size, std::string_view type, std::string_view body) {
  std::string datagram(40, '\0');
  std::memcpy(datagram.data(), &size, sizeof size);
  std::memcpy(datagram.data() + 8, type.data(), type.size());
  return datagram.append(body);
}

std::string poll_with_count(std::int32_t count, std::size_t pids) {
  std::string datagram = kineto_poll_datagram(3, 0, std::vector<std::int32_t>(pids, 7));
  std::memcpy(datagram.data() + 44, &count, sizeof count);
  return datagram;
}

TEST(KinetoWire, DecodesAPoll) {
  const auto datagram = kineto_poll_datagram(3, 123456789012, {10, 20, 30, 40, 50, 60});
  EXPECT_EQ(datagram.size(), 80U);  // as measured from the real client
  const auto message = decode(datagram);
  ASSERT_TRUE(message);
  const auto& poll = std::get<KinetoPoll>(*message);
  EXPECT_TRUE(poll.idle);
  EXPECT_EQ(poll.type, 3);
  EXPECT_EQ(poll.job, 123456789012);
  EXPECT_THAT(poll.pids, ElementsAre(10, 20, 30, 40, 50, 60));
}

TEST(KinetoWire, TellsBusyFromIdleByTheSecondBit) {
  for (const auto& [type, idle] : {std::pair{3, true}, {2, true}, {1, false}, {0, false}}) {
    const auto message = decode(kineto_poll_datagram(type, 0, {1}));
    ASSERT_TRUE(message);
    EXPECT_EQ(std::get<KinetoPoll>(*message).idle, idle) << type;
  }
}

TEST(KinetoWire, AcceptsAPollWithoutPidsAndWithTheMost) {
  EXPECT_TRUE(decode(kineto_poll_datagram(3, 0, {})));
  EXPECT_TRUE(decode(kineto_poll_datagram(3, 0, std::vector<std::int32_t>(kMaxKinetoPids, 1))));
}

TEST(KinetoWire, DecodesAContext) {
  const auto message = decode(kineto_context_datagram(2, 77, 5));
  ASSERT_TRUE(message);
  const auto& context = std::get<KinetoContext>(*message);
  EXPECT_EQ(context.gpu, 2);
  EXPECT_EQ(context.pid, 77);
  EXPECT_EQ(context.job, 5);
}

TEST(KinetoWire, RefusesWhatIsMalformed) {
  const std::string sixteen(16, '\1');
  const std::pair<std::string, const char*> cases[] = {
      {"", "empty"},
      {"x", "shorter than a header"},
      {std::string(8, '\0'), "shorter than a header"},
      {claimed(1ULL << 63U, "ctxt", sixteen), "16 came"},
      {claimed(~0ULL, "req", sixteen), "16 came"},
      {claimed(1ULL << 60U, "req", sixteen), "16 came"},
      {claimed(100, "ctxt", sixteen), "size says 100, 16 came"},
      {claimed(4, "req", sixteen), "size says 4, 16 came"},
      {claimed(0, "ctxt", sixteen), "size says 0, 16 came"},
      {claimed(4, "ctxt", "abcd"), "ctxt of 4 bytes"},
      {claimed(0, "req", ""), "req of 0 bytes"},
      {claimed(4, "req", "abcd"), "req of 4 bytes"},
      {claimed(16, "what", sixteen), "unknown type"},
      {claimed(16, "reqs", sixteen), "unknown type"},
      {claimed(16, std::string(32, 'r'), sixteen), "type without an end"},
      {poll_with_count(-1, 1), "count -1"},
      {poll_with_count(1000, 1), "count 1000"},
      {poll_with_count(2, 1), "count 2 in 4 bytes"},
      {poll_with_count(0, 1), "count 0 in 4 bytes"},
      {poll_with_count(1 << 30, 1), "count 1073741824"},
      {poll_with_count(0x7fffffff, 1), "count 2147483647"},
      {std::string(kMaxKinetoDatagram + 1, '\0'), "too long"},
  };
  for (const auto& [datagram, why] : cases) {
    const auto message = decode(datagram);
    ASSERT_FALSE(message) << why;
    EXPECT_EQ(message.error().kind, ErrorKind::invalid);
    EXPECT_THAT(message.error().message, HasSubstr(why));
  }
}

TEST(KinetoWire, EncodesRepliesAsTheClientReadsThem) {
  const std::string empty = encode_kineto_reply("");
  EXPECT_EQ(empty.size(), 40U);
  EXPECT_EQ(empty.substr(8, 4), std::string("req\0", 4));
  const std::string some = encode_kineto_reply("A=1\n");
  std::uint64_t size = 0;
  std::memcpy(&size, some.data(), sizeof size);
  EXPECT_EQ(size, 4U);
  EXPECT_EQ(some.substr(40), "A=1\n");
  const std::string context = encode_kineto_context_reply(3);
  EXPECT_EQ(context.size(), 44U);
  EXPECT_EQ(context[40], 3);
}

TEST(Mailbox, HoldsOneItemAProcessUpToALimit) {
  Mailbox mailbox(2);
  const auto item = [](int pid, const char* id) {
    TraceRequest request;
    request.trace_id = id;
    return Mailbox::Item{.key = {.pid = Pid{pid}, .start_ticks = 5}, .uid = {}, .request = request};
  };
  EXPECT_TRUE(mailbox.put(item(1, "a")));
  EXPECT_FALSE(mailbox.put(item(1, "b")));
  EXPECT_EQ(mailbox.find(Pid{1})->request.trace_id, "a");
  EXPECT_TRUE(mailbox.put(item(2, "c")));
  EXPECT_FALSE(mailbox.put(item(3, "d")));
  EXPECT_FALSE(mailbox.withdraw({.pid = Pid{1}, .start_ticks = 5}, "b"));
  EXPECT_FALSE(mailbox.withdraw({.pid = Pid{1}, .start_ticks = 6}, "a"));
  EXPECT_TRUE(mailbox.withdraw({.pid = Pid{1}, .start_ticks = 5}, "a"));
  EXPECT_EQ(mailbox.find(Pid{1}), nullptr);
}

}  // namespace
}  // namespace dynolog
