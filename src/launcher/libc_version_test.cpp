// The version definitions of this host's own C library, whole and damaged.
#include "launcher/libc_version.h"

#include <gnu/libc-version.h>
#include <gtest/gtest.h>
#include <link.h>

#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace dynolog {
namespace {

int take_libc(dl_phdr_info* info, std::size_t, void* path) {
  const std::string_view name = info->dlpi_name;
  if (!name.ends_with("/libc.so.6")) return 0;
  *static_cast<std::string*>(path) = name;
  return 1;
}

class LibcVersionTest : public testing::Test {
 protected:
  LibcVersionTest() {
    std::string path;
    ::dl_iterate_phdr(take_libc, &path);
    std::ifstream file(path, std::ios::binary);
    text_.assign(std::istreambuf_iterator<char>(file), {});
  }

  // In a block of its own of exactly that size, so that a sanitizer sees what is read beyond it.
  [[nodiscard]] bool defines(std::string_view bytes, std::string_view version) const {
    const std::vector<char> exact(bytes.begin(), bytes.end());
    return defines_version(std::as_bytes(std::span(exact)), version);
  }

  std::string newest_ = std::string("GLIBC_") + ::gnu_get_libc_version();
  std::string text_;
};

TEST_F(LibcVersionTest, KnowsWhatThisHostHas) {
  ASSERT_GT(text_.size(), 100000U);
  EXPECT_TRUE(defines(text_, newest_));
  EXPECT_TRUE(defines(text_, "GLIBC_2.17"));
  for (const char* none : {"GLIBC_2.999", "GLIBC_2.", "GLIBC_2.1", "", "GLIBCXX_3.4", "printf"}) {
    EXPECT_FALSE(defines(text_, none)) << none;
  }
}

TEST_F(LibcVersionTest, AnOlderLibraryLacksTheVersion) {
  const std::string terminated = newest_ + '\0';
  for (std::size_t at = 0; (at = text_.find(terminated, at)) != std::string::npos; ++at) {
    text_[at + newest_.size() - 1] = 'x';
  }
  EXPECT_FALSE(defines(text_, newest_));
  EXPECT_TRUE(defines(text_, "GLIBC_2.17"));
}

TEST_F(LibcVersionTest, OtherFilesDefineNothing) {
  EXPECT_FALSE(defines("", newest_));
  EXPECT_FALSE(defines("OUTPUT_FORMAT(elf64-x86-64)\nGROUP ( /lib/libc.so.6 )\n", newest_));
  EXPECT_FALSE(defines(std::string(4096, '\xff'), newest_));
  std::string other = text_;
  other[18] = 3;  // e_machine: i386
  EXPECT_FALSE(defines(other, newest_));
}

TEST_F(LibcVersionTest, ATruncatedFileIsReadWithinItsBounds) {
  for (std::size_t size = 0; size < 2000; size += 7) {
    EXPECT_FALSE(defines(std::string_view(text_).substr(0, size), newest_)) << size;
  }
  for (std::size_t size = 0; size < text_.size(); size += text_.size() / 50) {
    static_cast<void>(defines(std::string_view(text_).substr(0, size), newest_));
  }
}

TEST_F(LibcVersionTest, ADamagedFileIsReadWithinItsBounds) {
  std::vector<char> damaged(text_.begin(), text_.end());
  const auto spoil = [&](std::size_t at, char value) {
    const char kept = std::exchange(damaged[at], value);
    static_cast<void>(defines_version(std::as_bytes(std::span(damaged)), newest_));
    damaged[at] = kept;
  };
  // The headers, and then all over the file, where its dynamic section and strings lie.
  for (std::size_t at = 0; at < 1024; ++at) {
    spoil(at, '\xff');
    spoil(at, '\x7f');
  }
  for (std::size_t at = 0; at < damaged.size(); at += 61) spoil(at, '\xff');
}

}  // namespace
}  // namespace dynolog
