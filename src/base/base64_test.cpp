// base64: the RFC's own examples, every byte, and what is none.
#include "base/base64.h"

#include <gtest/gtest.h>

#include <array>
#include <utility>

namespace dynolog {
namespace {

TEST(Base64, TheExamplesOfTheStandard) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kExamples{{
      {"", ""},
      {"f", "Zg=="},
      {"fo", "Zm8="},
      {"foo", "Zm9v"},
      {"foob", "Zm9vYg=="},
      {"fooba", "Zm9vYmE="},
      {"foobar", "Zm9vYmFy"},
  }};
  for (const auto& [bytes, text] : kExamples) {
    EXPECT_EQ(to_base64(bytes), text);
    EXPECT_EQ(from_base64(text).value_or("?"), bytes);
  }
}

TEST(Base64, EveryByteThereAndBackAtEveryLength) {
  std::string bytes;
  for (int i = 0; i < 600; ++i) {
    EXPECT_EQ(from_base64(to_base64(bytes)).value_or("?"), bytes);
    bytes += static_cast<char>(i * 7);
  }
}

TEST(Base64, RefusesWhatNobodyEncodes) {
  for (const std::string_view text : {"Zg", "Zg=", "Zg===", "Z===", "====", "Zm9v\n", "Zm 9",
                                      "Zg==Zg==", "Zh==", "Zm9=", "Zm-_", "Zm9\xff"}) {
    EXPECT_FALSE(from_base64(text)) << text;
  }
}

}  // namespace
}  // namespace dynolog
