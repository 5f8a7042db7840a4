// What comes over the RPC as a file: what is believed, what is refused, and how it gets to the
// disk.
#include "cli/pieces.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "cli/brought_names.h"
#include "cli/piece_reader.h"
#include "cli/received_file.h"
#include "cli/trace_directory.h"

namespace dynolog {
namespace {

using testing::gunzipped;
using testing::gzipped;
using ::testing::HasSubstr;
using testing::piece_of;
namespace fs = std::filesystem;

const std::string kFile = "{\"traceEvents\": [" + std::string(1000, ' ') + "]}";

TEST(Gunzip, TakesExactlyWhatWasAnnounced) {
  EXPECT_EQ(*gunzip(gzipped("hello"), 5), "hello");
  EXPECT_EQ(*gunzip(gzipped(""), 0), "");
  const std::string bomb = gzipped(std::string(10'000'000, '0'));
  const auto says = [](std::string_view member, std::size_t bytes) {
    const auto plain = gunzip(member, bytes);
    return plain ? std::string("good") : plain.error().message;
  };
  EXPECT_THAT(says(bomb, 5), HasSubstr("unfolds to more"));
  EXPECT_THAT(says(gzipped("hello"), 4), HasSubstr("unfolds to more"));
  EXPECT_THAT(says(gzipped("hello"), 6), HasSubstr("unfolds to less"));
  EXPECT_THAT(says("hello", 5), HasSubstr("no whole gzip member"));
  EXPECT_THAT(says("", 5), HasSubstr("no whole gzip member"));
  EXPECT_THAT(says(gzipped("hello").substr(0, 20), 5), HasSubstr("no whole gzip member"));
  EXPECT_THAT(says(gzipped("hello") + gzipped("more"), 5), HasSubstr("something behind"));
}

TEST(PieceReader, PutsAFileTogether) {
  PieceReader reader;
  std::string got;
  while (!reader.whole()) {
    const auto plain = reader.take(piece_of(kFile, reader.offset(), 400));
    ASSERT_TRUE(plain) << plain.error().message;
    got += *plain;
  }
  EXPECT_EQ(got, kFile);
  EXPECT_EQ(reader.total(), kFile.size());
}

TEST(PieceReader, APieceMayBeginEarlierThanAskedFor) {
  PieceReader reader;
  ASSERT_TRUE(reader.take(piece_of(kFile, 0, 300)));
  EXPECT_EQ(*reader.take(piece_of(kFile, 200, 300)), kFile.substr(300, 200));
  EXPECT_EQ(reader.offset(), 500U);
}

TEST(PieceReader, AnEmptyFileIsWholeAtOnce) {
  PieceReader reader;
  EXPECT_EQ(*reader.take(piece_of("", 0, 300)), "");
  EXPECT_TRUE(reader.whole());
}

TEST(PieceReader, WhatCannotBeIsRefused) {
  struct Case {
    const char* says;
    void (*spoil)(rpc::FetchReply& piece);
  };
  const Case cases[] = {
      {"another checksum", [](auto& piece) { piece.crc32 ^= 1U; }},
      {"is of another file", [](auto& piece) { piece.stamp = "other"; }},
      {"is of another file", [](auto& piece) { ++piece.total_bytes; }},
      {"leaves a gap", [](auto& piece) { ++piece.offset; }},
      {"brings nothing new", [](auto& piece) { piece.offset = 100, piece.plain_bytes = 200; }},
      {"brings nothing new", [](auto& piece) { piece.plain_bytes = 0, piece.data = ""; }},
      {"larger than a piece may be", [](auto& piece) { piece.plain_bytes = 5U << 20U; }},
      {"unfolds to more", [](auto& piece) { --piece.plain_bytes; }},
      {"unfolds to less", [](auto& piece) { ++piece.plain_bytes; }},
      {"beyond the end", [](auto& piece) { piece.plain_bytes = 4'000'000; }},
      {"said to be the last", [](auto& piece) { piece.last = true; }},
      {"no base64", [](auto& piece) { piece.data = "*" + piece.data; }},
      {"no whole gzip", [](auto& piece) { piece.data = "AAAA"; }},
      {"too long", [](auto& piece) { piece.stamp = std::string(300, 'x'); }},
  };
  for (const Case& each : cases) {
    PieceReader reader;
    ASSERT_TRUE(reader.take(piece_of(kFile, 0, 300)));
    rpc::FetchReply piece = piece_of(kFile, 300, 300);
    each.spoil(piece);
    const auto plain = reader.take(piece);
    ASSERT_FALSE(plain) << each.says;
    EXPECT_THAT(plain.error().message, HasSubstr(each.says));
    EXPECT_EQ(reader.offset(), 300U);
    EXPECT_TRUE(reader.take(piece_of(kFile, 300, 300))) << "it goes on after " << each.says;
  }
  PieceReader reader;
  rpc::FetchReply huge = piece_of(kFile, 0, 300);
  huge.total_bytes = 18'446'744'073'709'551'615ULL;
  EXPECT_THAT(reader.take(huge).error().message, HasSubstr("too large"));
}

class ReceivedFileTest : public ::testing::Test {
 protected:
  ReceivedFileTest() {
    std::string pattern = (fs::temp_directory_path() / "received-test-XXXXXX").string();
    directory_ = ::mkdtemp(pattern.data());
  }
  ~ReceivedFileTest() override { fs::remove_all(directory_); }
  std::vector<std::string> names() const {
    std::vector<std::string> found;
    for (const auto& entry : fs::directory_iterator(directory_)) {
      found.push_back(entry.path().filename());
    }
    return found;
  }
  std::string content(const std::string& name) const {
    std::ifstream file(directory_ + "/" + name, std::ios::binary);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
  }
  std::string directory_;
};

TEST_F(ReceivedFileTest, HasItsNameOnlyWhenItIsWhole) {
  auto file = ReceivedFile::create(directory_, "t.json", false);
  ASSERT_TRUE(file) << file.error().message;
  ASSERT_TRUE((*file)->write("{\"a\":"));
  ASSERT_EQ(names().size(), 1U);
  EXPECT_TRUE(names().front().starts_with(".t.json."));
  EXPECT_TRUE(names().front().ends_with(".part"));  // nobody takes it for a trace
  ASSERT_TRUE((*file)->write("1}"));
  ASSERT_TRUE((*file)->finish());
  EXPECT_EQ(names(), std::vector<std::string>{"t.json"});
  EXPECT_EQ(content("t.json"), "{\"a\":1}");
  EXPECT_EQ((*file)->path(), directory_ + "/t.json");
  EXPECT_EQ((*file)->bytes(), 7U);
  EXPECT_FALSE((*file)->replaced());
  ASSERT_TRUE((*file)->side_car(R"({"file":"","rank":3})"));
  EXPECT_EQ(content(".dynolog/t.json.json"), "{\n  \"file\": \"t.json\",\n  \"rank\": 3\n}\n");
  auto again = ReceivedFile::create(directory_, "t.json", false);
  ASSERT_TRUE((*again)->finish());
  EXPECT_TRUE((*again)->replaced());
}

TEST_F(ReceivedFileTest, WhatIsNotFinishedIsRemoved) {
  {
    auto file = ReceivedFile::create(directory_, "t.json", true);
    ASSERT_TRUE((*file)->write("{}"));
  }
  EXPECT_TRUE(names().empty());
}

TEST_F(ReceivedFileTest, GzipIsOneMember) {
  auto file = ReceivedFile::create(directory_, "t.json", true);
  ASSERT_TRUE((*file)->write("void"));
  ASSERT_TRUE((*file)->restart());
  ASSERT_TRUE((*file)->write(kFile.substr(0, 100)));
  ASSERT_TRUE((*file)->write(kFile.substr(100)));
  ASSERT_TRUE((*file)->finish());
  int members = 0;
  EXPECT_EQ(gunzipped(content("t.json.gz"), &members), kFile);
  EXPECT_EQ(members, 1);
  EXPECT_EQ((*file)->bytes(), content("t.json.gz").size());
  EXPECT_EQ(stored_name("t.json.gz", true), "t.json.gz");
}

TEST_F(ReceivedFileTest, LinksAreReplacedAndNeverFollowed) {
  const std::string elsewhere = directory_ + "/elsewhere";
  std::ofstream(elsewhere) << "precious";
  fs::create_symlink(elsewhere, directory_ + "/t.json");
  auto file = ReceivedFile::create(directory_, "t.json", false);
  ASSERT_TRUE((*file)->write("{}"));
  ASSERT_TRUE((*file)->finish());
  EXPECT_EQ(content("elsewhere"), "precious");
  EXPECT_FALSE(fs::is_symlink(directory_ + "/t.json"));
  // A side-car's directory that is a link is not used at all.
  fs::create_directory(directory_ + "/other");
  fs::create_symlink(directory_ + "/other", directory_ + "/.dynolog");
  EXPECT_FALSE((*file)->side_car("{}"));
  EXPECT_TRUE(fs::is_empty(directory_ + "/other"));
}

TEST_F(ReceivedFileTest, NoSideCarGoesIntoSomebodyElsesDirectory) {
  constexpr uid_t kSomebody = 20002;
  fs::create_directory(directory_ + "/.dynolog");
  if (::chown((directory_ + "/.dynolog").c_str(), kSomebody, kSomebody) != 0) {
    GTEST_SKIP() << "needs root: only it can give a directory away";
  }
  auto file = ReceivedFile::create(directory_, "t.json", false);
  ASSERT_TRUE((*file)->finish());
  const Status put = (*file)->side_car("{}");
  ASSERT_FALSE(put);
  EXPECT_EQ(put.error().kind, ErrorKind::denied);
  EXPECT_TRUE(fs::is_empty(directory_ + "/.dynolog"));
}

TEST_F(ReceivedFileTest, ADirectoryThatMovesKeepsItsFile) {
  fs::create_directory(directory_ + "/a");
  fs::create_directory(directory_ + "/b");
  auto file = ReceivedFile::create(directory_ + "/a", "t.json", false);
  fs::rename(directory_ + "/a", directory_ + "/moved");
  fs::create_symlink(directory_ + "/b", directory_ + "/a");
  ASSERT_TRUE((*file)->finish());
  EXPECT_TRUE(fs::exists(directory_ + "/moved/t.json"));
  EXPECT_TRUE(fs::is_empty(directory_ + "/b"));
}

TEST_F(ReceivedFileTest, ATextThatIsNoObjectIsNoSideCar) {
  auto file = ReceivedFile::create(directory_, "t.json", false);
  ASSERT_TRUE((*file)->finish());
  for (const std::string& text : {std::string("[]"), std::string("{"), std::string("\xff"),
                                  "{\"a\":" + std::string(1000, '[') + std::string(1000, ']') + "}",
                                  "{\"a\":\"" + std::string(70'000, 'x') + "\"}"}) {
    EXPECT_FALSE((*file)->side_car(text)) << text.substr(0, 20);
  }
  EXPECT_FALSE(fs::exists(directory_ + "/.dynolog/t.json.json"));
}

TEST_F(ReceivedFileTest, BadNamesAndPlacesAreRefused) {
  for (const char* name : {"", ".", "..", "a/b", "../x", "/etc/x"}) {
    EXPECT_FALSE(ReceivedFile::create(directory_, name, false)) << name;
  }
  EXPECT_FALSE(ReceivedFile::create(directory_, std::string(230, 'x'), false));
  EXPECT_FALSE(ReceivedFile::create(directory_ + "/none", "t.json", false));
  EXPECT_TRUE(names().empty());
  fs::create_directory(directory_ + "/t.json");
  auto file = ReceivedFile::create(directory_, "t.json", false);
  EXPECT_FALSE((*file)->finish());
}

TEST_F(ReceivedFileTest, NoRoomIsSaid) {
  const auto before = std::signal(SIGXFSZ, SIG_IGN);
  rlimit old{};
  ::getrlimit(RLIMIT_FSIZE, &old);
  const rlimit small{.rlim_cur = 4096, .rlim_max = old.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &small);
  Status written;
  {
    auto file = ReceivedFile::create(directory_, "t.json", false);
    ASSERT_TRUE(file);
    for (int i = 0; i < 3 && written; ++i) written = (*file)->write(std::string(4000, 'x'));
  }
  ::setrlimit(RLIMIT_FSIZE, &old);
  std::signal(SIGXFSZ, before);
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().kind, ErrorKind::exhausted);
  EXPECT_THAT(written.error().message, HasSubstr("ulimit"));
  EXPECT_TRUE(names().empty());
}

// In a child of its own, since the file system is only there for it: 0 when all is as it should be.
int write_to_a_full_file_system(const std::string& directory) {
  if (::unshare(CLONE_NEWNS) != 0) return 77;
  if (::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return 77;
  if (::mount("none", directory.c_str(), "tmpfs", 0, "size=65536") != 0) return 77;
  Status written;
  {
    auto file = ReceivedFile::create(directory, "t.json", false);
    if (!file) return 1;
    for (int i = 0; i < 30 && written; ++i) written = (*file)->write(std::string(4096, 'x'));
  }
  if (written || written.error().kind != ErrorKind::exhausted) return 2;
  if (!written.error().message.contains("no room is left")) return 3;
  return fs::is_empty(directory) ? 0 : 4;
}

TEST_F(ReceivedFileTest, AFullFileSystemIsSaid) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(write_to_a_full_file_system(directory_));
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  if (WEXITSTATUS(status) == 77) GTEST_SKIP() << "mounting is not permitted here";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

rpc::PlannedTrace planned(std::int64_t pid, std::int64_t own_pid, std::optional<int> rank) {
  rpc::PlannedTrace each;
  each.pid = pid;
  each.namespace_pid = own_pid;
  each.rank = rank;
  return each;
}

TEST(BroughtNames, FollowThePattern) {
  rpc::PlannedTrace one = planned(100, 7, 0);
  one.job = "a/b";
  const auto name = [&](const std::string& pattern, bool snapshot = false) {
    const auto names = brought_names(
        {.pattern = pattern, .host = "node7", .time = "20261130-062542Z", .snapshot = snapshot},
        {one});
    return names ? names->at(100) : "bad: " + names.error().message;
  };
  EXPECT_EQ(name(""), "trace_7.json");
  EXPECT_EQ(name("x.json"), "x_7.json");
  EXPECT_EQ(name("{host}-{time}-r{rank}.json"), "node7-20261130-062542Z-r0.json");
  EXPECT_EQ(name("{job}.json"), "a_b_7.json");
  EXPECT_EQ(name("x.json", true), "x_7.pickle");
  EXPECT_THAT(name("{nothing}.json"), HasSubstr("bad: "));
  EXPECT_THAT(name(std::string(300, 'x')), HasSubstr("bad: "));
}

// Whatever a daemon says, a name is one component of a path and nobody else's.
TEST(BroughtNames, HostileValuesMakeNoPaths) {
  std::vector<rpc::PlannedTrace> all;
  for (const char* job : {"../../etc/cron.d/x", "..", "a\nb", "\x1b[31m", "", "1_5", "1", "1"}) {
    all.push_back(planned(static_cast<std::int64_t>(all.size()) + 1, -9, {}));
    all.back().job = job;
  }
  const auto names = brought_names({.pattern = "{job}{host}", .host = "/../..", .time = "t"}, all);
  ASSERT_TRUE(names);
  std::set<std::string> seen;
  for (const auto& [pid, name] : *names) {
    EXPECT_TRUE(check_file_name(name)) << name;
    EXPECT_EQ(name.find_first_of("\n\x1b"), std::string::npos);
    EXPECT_TRUE(seen.insert(name).second) << name;
  }
}

TEST(BroughtNames, TwoOfOneNameGetTheHostPid) {
  const auto names = brought_names({.pattern = "", .host = "h", .time = "t"},
                                   {planned(100, 1, 0), planned(200, 1, 1), planned(300, 2, 2)});
  EXPECT_EQ(names->at(100), "trace_1_100.json");
  EXPECT_EQ(names->at(200), "trace_1_200.json");
  EXPECT_EQ(names->at(300), "trace_2.json");
}

TEST_F(ReceivedFileTest, DirectoriesAreMadeAndTakenAwayAgain) {
  {
    const auto made = TraceDirectory::at(directory_ + "/a/b/c");
    ASSERT_TRUE(made) << made.error().message;
    EXPECT_TRUE(fs::is_directory(directory_ + "/a/b/c"));
    EXPECT_EQ(made->id(), directory_id(directory_ + "/a/b/c"));
    EXPECT_NE(made->id(), "");
  }
  EXPECT_TRUE(names().empty()) << "nothing came into them";
  {
    const auto made = TraceDirectory::at(directory_ + "/a/b");
    std::ofstream(directory_ + "/a/b/t.json") << "{}";
  }
  EXPECT_TRUE(fs::exists(directory_ + "/a/b/t.json"));
  {
    const auto there = TraceDirectory::at(directory_ + "/a/b/");
    ASSERT_TRUE(there);
    fs::remove(directory_ + "/a/b/t.json");
  }
  EXPECT_TRUE(fs::exists(directory_ + "/a/b")) << "it was there before";
  EXPECT_FALSE(TraceDirectory::at("/dev/null/x"));
  std::ofstream(directory_ + "/file") << "x";
  EXPECT_FALSE(TraceDirectory::at(directory_ + "/file"));
}

}  // namespace
}  // namespace dynolog
