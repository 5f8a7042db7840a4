// Frames in pieces, and the lengths that killed others.
#include "net/framing.h"

#include <gmock/gmock.h>

#include <cstring>
#include <limits>

namespace dynolog {
namespace {

using testing::HasSubstr;

std::string length_bytes(std::int32_t length) {
  std::string bytes(sizeof length, '\0');
  std::memcpy(bytes.data(), &length, sizeof length);
  return bytes;
}

TEST(FrameDecoder, TakesBytesInAnyPieces) {
  const std::string bytes = encode_frame("{\"fn\":\"getStatus\"}") + encode_frame("x");
  for (std::size_t piece = 1; piece <= bytes.size(); ++piece) {
    FrameDecoder decoder(kMaxRequestBytes);
    std::vector<std::string> frames;
    for (std::size_t at = 0; at < bytes.size(); at += piece) {
      decoder.append(std::string_view(bytes).substr(at, piece));
      for (auto frame = decoder.next(); frame && *frame; frame = decoder.next()) {
        frames.push_back(**frame);
      }
    }
    EXPECT_THAT(frames, testing::ElementsAre("{\"fn\":\"getStatus\"}", "x"));
    EXPECT_FALSE(decoder.partial());
  }
}

TEST(FrameDecoder, TheWireIsAnInt32InNativeOrderAndTheText) {
  EXPECT_EQ(encode_frame("ab"), length_bytes(2) + "ab");
}

TEST(FrameDecoder, RefusesImpossibleLengthsForGood) {
  for (const std::int32_t length :
       {-1, 0, std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::max(),
        static_cast<std::int32_t>(kMaxRequestBytes) + 1}) {
    FrameDecoder decoder(kMaxRequestBytes);
    decoder.append(length_bytes(length));
    for (int i = 0; i < 2; ++i) {
      const auto frame = decoder.next();
      ASSERT_FALSE(frame) << length;
      EXPECT_EQ(frame.error().kind, ErrorKind::invalid);
      EXPECT_THAT(frame.error().message, HasSubstr(std::to_string(length)));
      decoder.append(encode_frame("x"));
    }
    EXPECT_FALSE(decoder.looks_like_http());
  }
}

TEST(FrameDecoder, TheLimitItselfIsAllowed) {
  FrameDecoder decoder(100);
  decoder.append(encode_frame(std::string(100, 'x')));
  const auto frame = decoder.next();
  ASSERT_TRUE(frame && *frame);
  EXPECT_EQ((*frame)->size(), 100U);
}

TEST(FrameDecoder, HalfAHeaderOrBodyIsAwaited) {
  FrameDecoder decoder(kMaxRequestBytes);
  EXPECT_FALSE(decoder.partial());
  decoder.append("\x05");
  ASSERT_TRUE(decoder.next());
  EXPECT_FALSE(*decoder.next());
  EXPECT_TRUE(decoder.partial());
}

TEST(FrameDecoder, AnHttpServerThatAnswersIsToldApart) {
  FrameDecoder decoder(kMaxReplyBytes);
  decoder.append("HTTP/1.1 400 Bad Request\r\n");
  const auto frame = decoder.next();
  ASSERT_FALSE(frame);
  EXPECT_THAT(frame.error().message, HasSubstr("an HTTP server answers here"));
}

TEST(FrameDecoder, KnowsHttp) {
  for (const std::string request : {"GET / HTTP/1.1\r\n", "POST /x", "HEAD /", "OPTIONS *"}) {
    for (const std::size_t limit : {kMaxRequestBytes, kMaxReplyBytes}) {
      FrameDecoder decoder(limit);
      decoder.append(request);
      EXPECT_TRUE(decoder.looks_like_http());
      const auto frame = decoder.next();
      ASSERT_FALSE(frame);
      EXPECT_THAT(frame.error().message, HasSubstr("HTTP"));
    }
  }
}

}  // namespace
}  // namespace dynolog
