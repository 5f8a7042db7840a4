// Unit tests of base: text, numbers, errors, files, times.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string>

#include "base/error.h"
#include "base/file.h"
#include "base/number.h"
#include "base/random.h"
#include "base/text.h"
#include "base/time_text.h"

namespace dynolog {
namespace {

TEST(CleanText, KeepsUtf8AndReplacesControlsAndBadBytes) {
  EXPECT_EQ(clean_text("r\u00e4nk 0 \u2713", 100), "r\u00e4nk 0 \u2713");
  EXPECT_EQ(clean_text("a\x1b[31mb", 100), "a\uFFFD[31mb");
  EXPECT_EQ(clean_text("a\xff"
                       "b\n",
                       100),
            "a\uFFFDb\uFFFD");
  EXPECT_EQ(clean_text("\xc2\x9b"
                       "31m",
                       100),
            "\uFFFD31m")
      << "C1 CSI passes raw to terminals";
  EXPECT_EQ(clean_text("\xed\xa0\x80", 100), "\uFFFD\uFFFD\uFFFD") << "a surrogate is not UTF-8";
  EXPECT_EQ(clean_text("\xe2\x80\xae"
                       "exe",
                       100),
            "\uFFFD"
            "exe")
      << "bidi override";
}

TEST(CleanText, CutsAtWholeCodePoints) {
  EXPECT_EQ(clean_text("abcdefgh", 6), "abc...");
  EXPECT_EQ(clean_text("ab\u00e4\u00e4\u00e4", 6), "ab...");
  EXPECT_EQ(clean_text("abcdef", 6), "abcdef");
}

TEST(ParseNumber, TakesTheWholeTextOrNothing) {
  EXPECT_EQ(parse_number<int>("42"), 42);
  EXPECT_EQ(parse_number<int>("42 "), std::nullopt);
  EXPECT_EQ(parse_number<int>(""), std::nullopt);
  EXPECT_EQ(parse_number<std::uint8_t>("256"), std::nullopt);
  EXPECT_EQ(parse_number<std::uint64_t>("18446744073709551615"), 18446744073709551615ULL);
  EXPECT_EQ(parse_number<double>("1.5"), 1.5);
  EXPECT_EQ(parse_number<unsigned>("ff", 16), 255U);
}

TEST(Nearest, SuggestsCloseWordsOnly) {
  const std::vector<std::string> words{"port", "run_dir", "config"};
  EXPECT_EQ(nearest("prot", words), "port");
  EXPECT_EQ(nearest("run-dir", words), "run_dir");
  EXPECT_EQ(nearest("zzzzzz", words), "");
}

TEST(Errors, KeepTheKindAndAddContext) {
  const auto error = fail_errno(EACCES, "/proc/1/environ").error();
  EXPECT_EQ(error.kind, ErrorKind::denied);
  EXPECT_EQ(with_context(error, "reading").error().message,
            "reading: /proc/1/environ: Permission denied");
  EXPECT_EQ(fail_errno(EDQUOT, "x").error().kind, ErrorKind::exhausted);
}

class FileTest : public ::testing::Test {
 protected:
  FileTest() {
    char pattern[] = "/tmp/dynolog-base-XXXXXX";
    directory_ = ::mkdtemp(pattern);
  }
  ~FileTest() override {
    ::unlink((directory_ + "/file").c_str());
    ::rmdir(directory_.c_str());
  }
  std::string directory_;
};

TEST_F(FileTest, ReplaceReadAndLimit) {
  const std::string path = directory_ + "/file";
  ASSERT_TRUE(replace_file(path, "first", 0600));
  ASSERT_TRUE(replace_file(path, "second", 0600));
  EXPECT_EQ(read_file(path, 100).value(), "second");
  ASSERT_TRUE(replace_file(path, std::string(10000, 'x'), 0600));
  EXPECT_EQ(read_file(path, 5000).error().kind, ErrorKind::exhausted);
  EXPECT_EQ(read_file(directory_ + "/absent", 10).error().kind, ErrorKind::not_found);
}

TEST_F(FileTest, KeptFileSeesNewContentAndGrows) {
  const std::string path = directory_ + "/file";
  KeptFile kept(path);
  EXPECT_EQ(kept.read().error().kind, ErrorKind::not_found);
  ASSERT_TRUE(replace_file(path, "one", 0600));
  EXPECT_EQ(kept.read().value(), "one");
  {
    const std::string big(20000, 'y');
    FILE* file = std::fopen(path.c_str(), "w");
    std::fputs(big.c_str(), file);
    std::fclose(file);
    EXPECT_EQ(kept.read().value(), big);
  }
}

// A stream of records, of which a reading gives as many as it has room for.
TEST_F(FileTest, KeptFileOfShortRecordsReadsAllOfThem) {
  for (const char* path : {"/proc/stat", "/proc/vmstat", "/proc/self/maps", "/proc/modules",
                           "/proc/sys/fs/nr_open", "/proc/net/protocols"}) {
    KeptFile to_the_end(path);
    KeptFile kept(path, Records::short_ones);
    const auto expected = to_the_end.read_if_there();
    if (!expected) continue;  // not in every kernel
    const auto text = kept.read();
    ASSERT_TRUE(text) << text.error().message;
    // This process may map memory meanwhile.
    EXPECT_NEAR(static_cast<double>(std::ranges::count(*text, '\n')),
                static_cast<double>(std::ranges::count(*expected, '\n')), 5)
        << path;
  }
}

TEST_F(FileTest, KeptFileOfOnePieceReadsAllOfIt) {
  for (const char* path : {"/proc/stat", "/proc/meminfo", "/proc/net/netstat", "/proc/net/snmp",
                           "/proc/net/snmp6", "/proc/net/sockstat", "/proc/sys/fs/file-nr"}) {
    KeptFile to_the_end(path);
    const auto expected = to_the_end.read_if_there();
    if (!expected) continue;
    KeptFile kept(path, Records::one_piece);
    const auto text = kept.read();
    ASSERT_TRUE(text) << text.error().message;
    EXPECT_EQ(std::ranges::count(*text, '\n'), std::ranges::count(*expected, '\n')) << path;
    EXPECT_EQ(text->back(), '\n') << path;
  }
}

TEST(TimeText, IsRfc3339InUtc) {
  EXPECT_EQ(to_rfc3339(WallTime(Milliseconds(1658446954141))), "2022-07-21T23:42:34.141Z");
}

TEST(TimeText, IsCompactForNames) {
  EXPECT_EQ(compact_utc(WallTime(Milliseconds(1'796'020'542'999))), "20261130-063542Z");
}

TEST(Text, IsCleanWhereCleaningChangesNothing) {
  for (const char* clean : {"", "abc", "r\u00e4nk 0 \u2713", "\uFFFD"}) {
    EXPECT_TRUE(is_clean(clean)) << clean;
  }
  for (const char* bad :
       {"\n", "a\x1b[31mb", "a\xff", "\xc2\x9b", "\xed\xa0\x80", "\xe2\x80\xae"}) {
    EXPECT_FALSE(is_clean(bad)) << bad;
  }
}

TEST(Random, DiffersAndIsSixteenDigits) {
  EXPECT_NE(random_hex64(), random_hex64());
  EXPECT_THAT(random_hex64(), ::testing::MatchesRegex("[0-9a-f]{16}"));
}

}  // namespace
}  // namespace dynolog
