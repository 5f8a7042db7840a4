// The store: pieces there and back, quotas, age, restarts, and files that are not whole.
#include "daemon/trace_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace dynolog {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

constexpr Pid kPid{42};
const SessionId kOne{"00000000000000a1"};
const SessionId kTwo{"00000000000000a2"};
const SessionId kThree{"00000000000000a3"};
const Tenant kAlice{Uid{1000}, ""};
const Tenant kBob{Uid{1001}, ""};
const WallTime kNoon{std::chrono::seconds(1'700'000'000)};
constexpr std::uint64_t kPlain = 100;  // bytes of a piece's plain text, as far as the store knows

struct RememberingLog final : Log {
  void write(LogLevel /*level*/, std::string_view line) override { lines.emplace_back(line); }
  std::vector<std::string> lines;
};

// The pieces of a file: what they hold is not looked at.
std::vector<FileChunk> pieces_of(std::size_t count, std::size_t bytes, std::string stamp = "s") {
  std::vector<FileChunk> pieces;
  for (std::size_t i = 0; i < count; ++i) {
    FileChunk piece;
    piece.offset = i * kPlain;
    piece.plain_bytes = kPlain;
    piece.total_bytes = count * kPlain;
    piece.crc32 = static_cast<std::uint32_t>(7 * i);
    piece.stamp = stamp;
    piece.data = std::string(bytes, static_cast<char>('a' + i % 26));
    piece.last = i + 1 == count;
    pieces.push_back(piece);
  }
  return pieces;
}

class TraceStoreTest : public ::testing::Test {
 protected:
  TraceStoreTest() {
    char pattern[] = "/tmp/dynolog-store-XXXXXX";
    parent_ = ::mkdtemp(pattern);
    reopen();
  }
  ~TraceStoreTest() override {
    store_.reset();
    std::filesystem::remove_all(parent_);
  }

  [[nodiscard]] std::string directory() const { return parent_ + "/state/traces"; }
  [[nodiscard]] std::string file(const SessionId& session, const std::string& name) const {
    return directory() + "/" + session.value + "/" + name;
  }
  void reopen() {
    store_.reset();
    auto opened = TraceStore::open(directory(), limits_, log_);
    ASSERT_TRUE(opened) << opened.error().message;
    store_ = std::move(*opened);
  }
  Status keep(const SessionId& session, const Tenant& owner, const std::vector<FileChunk>& pieces,
              WallTime now = kNoon, Pid pid = kPid) {
    auto intake = store_->take_in(session, pid, owner, false);
    if (!intake) return std::unexpected(intake.error());
    for (const FileChunk& piece : pieces) {
      if (auto appended = (*intake)->append(piece); !appended) return appended;
    }
    return (*intake)->keep(R"({"rank": 0})", now);
  }
  [[nodiscard]] std::string data_from(const SessionId& session, std::uint64_t offset) const {
    const auto piece = store_->read(session, kPid, offset);
    return piece ? piece->data : "error: " + piece.error().message;
  }

  std::string parent_;
  RememberingLog log_;
  TraceStore::Limits limits_{
      .bytes = 4000, .tenant_bytes = 1000, .tenant_traces = 8, .age = std::chrono::hours(72)};
  std::unique_ptr<TraceStore> store_;
};

TEST_F(TraceStoreTest, GivesBackThePieceThatHoldsTheByteAskedFor) {
  const auto pieces = pieces_of(5, 20);
  ASSERT_TRUE(keep(kOne, kAlice, pieces));
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    for (const std::uint64_t within : {std::uint64_t{0}, kPlain - 1}) {
      const auto piece = store_->read(kOne, kPid, i * kPlain + within);
      ASSERT_TRUE(piece) << piece.error().message;
      EXPECT_EQ(piece->offset, i * kPlain);
      EXPECT_EQ(piece->plain_bytes, kPlain);
      EXPECT_EQ(piece->total_bytes, 5 * kPlain);
      EXPECT_EQ(piece->crc32, 7 * i);
      EXPECT_EQ(piece->stamp, "s");
      EXPECT_EQ(piece->data, pieces[i].data);
      EXPECT_EQ(piece->last, i == 4);
    }
  }
  const auto behind = store_->read(kOne, kPid, 5 * kPlain);
  ASSERT_TRUE(behind);
  EXPECT_TRUE(behind->last);
  EXPECT_EQ(behind->plain_bytes, 0U);
  EXPECT_EQ(store_->side_car(kOne, kPid), R"({"rank": 0})");
  EXPECT_FALSE(store_->read(kTwo, kPid, 0));
  EXPECT_FALSE(store_->read(kOne, Pid{43}, 0));
}

TEST_F(TraceStoreTest, ItsFilesAreForTheDaemonAlone) {
  ASSERT_TRUE(keep(kOne, kAlice, pieces_of(2, 20)));
  std::string whole;
  std::getline(std::ifstream(file(kOne, "42.json.gz")), whole);
  EXPECT_EQ(whole, std::string(20, 'a') + std::string(20, 'b')) << "members in a row are a file";
  struct stat info{};
  ASSERT_EQ(::stat(directory().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777U, 0700U);
  for (const char* name : {"42.json.gz", "42.index", "42.kept.json"}) {
    ASSERT_EQ(::stat(file(kOne, name).c_str(), &info), 0) << name;
    EXPECT_EQ(info.st_mode & 07777U, 0600U) << name;
  }
}

TEST_F(TraceStoreTest, SurvivesARestart) {
  ASSERT_TRUE(keep(kOne, kAlice, pieces_of(3, 20)));
  store_->write_session(kOne, "the session's text");
  store_->write_session(kTwo, "of a session without traces");
  reopen();
  EXPECT_EQ(data_from(kOne, 150), std::string(20, 'b'));
  EXPECT_EQ(store_->side_car(kOne, kPid), R"({"rank": 0})");
  EXPECT_EQ(store_->bytes_of(kAlice), 60U);
  EXPECT_EQ(store_->kept_until(kOne), kNoon + std::chrono::hours(72));
  EXPECT_THAT(store_->sessions(), ElementsAre(kOne));
  EXPECT_EQ(store_->session_text(kOne), "the session's text");
  EXPECT_THAT(log_.lines, IsEmpty());
}

TEST_F(TraceStoreTest, TwoDaemonsDoNotShareAStore) {
  const auto second = TraceStore::open(directory(), limits_, log_);
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().message, HasSubstr("--state_dir"));
}

TEST_F(TraceStoreTest, AnIntakeThatIsGivenUpLeavesNothing) {
  {
    auto intake = store_->take_in(kOne, kPid, kAlice, false);
    ASSERT_TRUE(intake);
    ASSERT_TRUE((*intake)->append(pieces_of(2, 20)[0]));
    EXPECT_EQ(store_->bytes_of(kAlice), 20U);
    EXPECT_FALSE((*intake)->keep("", kNoon)) << "the last piece is missing";
  }
  EXPECT_EQ(store_->bytes_of(kAlice), 0U);
  EXPECT_FALSE(store_->holds(kOne, kPid));
  EXPECT_FALSE(std::filesystem::exists(directory() + "/" + kOne.value));
}

TEST_F(TraceStoreTest, APieceThatDoesNotFollowIsRefused) {
  auto intake = store_->take_in(kOne, kPid, kAlice, true);
  ASSERT_TRUE(intake);
  auto pieces = pieces_of(3, 20);
  ASSERT_TRUE((*intake)->append(pieces[0]));
  EXPECT_FALSE((*intake)->append(pieces[0])) << "twice";
  EXPECT_FALSE((*intake)->append(pieces[2])) << "one is left out";
  pieces[1].stamp = "other";
  EXPECT_FALSE((*intake)->append(pieces[1])) << "of another file";
  pieces[1].stamp = "s";
  ASSERT_TRUE((*intake)->append(pieces[1]));
  ASSERT_TRUE((*intake)->append(pieces[2]));
  EXPECT_FALSE((*intake)->append(pieces[2])) << "behind the end";
  ASSERT_TRUE((*intake)->keep("", kNoon));
  EXPECT_TRUE(std::filesystem::exists(file(kOne, "42.pickle.gz")));
}

TEST_F(TraceStoreTest, ATenantsOwnOldestGivesWay) {
  ASSERT_TRUE(keep(kOne, kAlice, pieces_of(4, 100), kNoon));
  ASSERT_TRUE(keep(kTwo, kAlice, pieces_of(4, 100), kNoon + std::chrono::hours(1)));
  ASSERT_TRUE(keep(kThree, kAlice, pieces_of(5, 100), kNoon + std::chrono::hours(2)));
  EXPECT_FALSE(store_->holds(kOne, kPid));
  EXPECT_TRUE(store_->holds(kTwo, kPid));
  EXPECT_TRUE(store_->holds(kThree, kPid));
  EXPECT_EQ(store_->bytes_of(kAlice), 900U);
  EXPECT_FALSE(std::filesystem::exists(directory() + "/" + kOne.value));
  EXPECT_THAT(log_.lines, UnorderedElementsAre(HasSubstr("gives way")));
}

TEST_F(TraceStoreTest, TracesOfOneSessionDoNotDriveEachOtherOut) {
  ASSERT_TRUE(keep(kOne, kAlice, pieces_of(6, 100), kNoon, Pid{1}));
  const auto second = keep(kOne, kAlice, pieces_of(6, 100), kNoon, Pid{2});
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().kind, ErrorKind::exhausted);
  EXPECT_THAT(second.error().message, HasSubstr("--trace_store_mb"));
  EXPECT_TRUE(store_->holds(kOne, Pid{1}));
  EXPECT_EQ(store_->bytes_of(kAlice), 600U);
}

TEST_F(TraceStoreTest, NobodysTraceGivesWayToAnothers) {
  for (unsigned uid = 1; uid <= 4; ++uid) {
    ASSERT_TRUE(keep(kOne, Tenant{Uid{uid}, ""}, pieces_of(10, 100), kNoon,
                     Pid{static_cast<std::int32_t>(uid)}));
  }
  const auto refused = keep(kTwo, kBob, pieces_of(1, 100));
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("full of others' traces"));
  EXPECT_EQ(store_->bytes_of(kOne), 4000U);
}

TEST_F(TraceStoreTest, ThereIsALimitOnTheirNumber) {
  for (int i = 0; i < 8; ++i) {
    ASSERT_TRUE(keep(kOne, kAlice, pieces_of(1, 1), kNoon, Pid{i + 1}));
  }
  EXPECT_FALSE(keep(kOne, kAlice, pieces_of(1, 1), kNoon, Pid{9}));
  EXPECT_TRUE(keep(kTwo, kAlice, pieces_of(1, 1), kNoon, Pid{9})) << "an older session's goes";
  EXPECT_TRUE(keep(kOne, kBob, pieces_of(1, 1), kNoon, Pid{10}));
}

// What was there already does not have to go for it.
TEST_F(TraceStoreTest, OneThatCannotFitIsRefusedBeforeOthersGo) {
  ASSERT_TRUE(keep(kOne, kAlice, pieces_of(5, 100)));
  auto intake = store_->take_in(kTwo, kPid, kAlice, false);
  ASSERT_TRUE(intake);
  FileChunk piece;
  piece.plain_bytes = 16U << 20U;
  piece.total_bytes = 100 * piece.plain_bytes;
  piece.stamp = "s";
  piece.data = std::string(100, 'x');
  ASSERT_TRUE((*intake)->append(piece));
  piece.offset = piece.plain_bytes;
  const auto refused = (*intake)->append(piece);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("it needs about"));
  EXPECT_TRUE(store_->holds(kOne, kPid));
}

TEST_F(TraceStoreTest, WhatIsOldIsRemoved) {
  ASSERT_TRUE(keep(kOne, kAlice, pieces_of(1, 10), kNoon));
  ASSERT_TRUE(keep(kTwo, kAlice, pieces_of(1, 10), kNoon + std::chrono::hours(1)));
  EXPECT_EQ(store_->next_removal(), kNoon + std::chrono::hours(72));
  store_->remove_older(kNoon + std::chrono::hours(72));
  EXPECT_FALSE(store_->holds(kOne, kPid));
  EXPECT_TRUE(store_->holds(kTwo, kPid));
  EXPECT_EQ(store_->next_removal(), kNoon + std::chrono::hours(73));
}

TEST_F(TraceStoreTest, WhatIsRemovedIsGoneFromTheDisk) {
  ASSERT_TRUE(keep(kOne, kAlice, pieces_of(2, 10), kNoon, Pid{1}));
  ASSERT_TRUE(keep(kOne, kAlice, pieces_of(3, 10), kNoon, Pid{2}));
  EXPECT_EQ(store_->remove(kOne, Pid{1}), 20U);
  EXPECT_EQ(store_->remove(kOne, Pid{1}), 0U);
  EXPECT_EQ(store_->remove(kOne), 30U);
  EXPECT_FALSE(std::filesystem::exists(directory() + "/" + kOne.value));
  EXPECT_EQ(store_->bytes_of(kAlice), 0U);
}

// Each file that is not whole costs its own trace only, and is named in the log.
TEST_F(TraceStoreTest, TornFilesAreDropped) {
  for (int pid = 1; pid <= 6; ++pid) {
    ASSERT_TRUE(keep(kOne, kAlice, pieces_of(2, 20), kNoon, Pid{pid}));
  }
  store_.reset();
  std::filesystem::resize_file(file(kOne, "1.json.gz"), 39);
  std::filesystem::resize_file(file(kOne, "2.index"), 40);
  std::filesystem::remove(file(kOne, "3.kept.json"));
  std::ofstream(file(kOne, "4.kept.json")) << R"({"dynolog_kept": 1, "pid": 4)";
  {
    // An index of the right size that says nonsense.
    std::fstream index(file(kOne, "5.index"), std::ios::in | std::ios::out | std::ios::binary);
    index.seekp(32);
    index.put('\x05');
  }
  std::ofstream(file(kOne, "6.index.new")) << "left behind";
  reopen();
  for (int pid = 1; pid <= 5; ++pid) {
    EXPECT_FALSE(store_->holds(kOne, Pid{pid})) << pid;
    EXPECT_FALSE(std::filesystem::exists(file(kOne, std::to_string(pid) + ".json.gz"))) << pid;
  }
  EXPECT_TRUE(store_->holds(kOne, Pid{6}));
  EXPECT_FALSE(std::filesystem::exists(file(kOne, "6.index.new")));
  EXPECT_EQ(store_->bytes_of(kAlice), 40U);
  EXPECT_EQ(log_.lines.size(), 5U);
}

TEST_F(TraceStoreTest, AnothersFactsUnderThisNameAreNoTrace) {
  ASSERT_TRUE(keep(kOne, kAlice, pieces_of(2, 20), kNoon, Pid{1}));
  store_.reset();
  for (const char* suffix : {".json.gz", ".index", ".kept.json"}) {
    std::filesystem::copy_file(file(kOne, std::string("1") + suffix),
                               file(kOne, std::string("2") + suffix));
  }
  reopen();
  EXPECT_TRUE(store_->holds(kOne, Pid{1}));
  EXPECT_FALSE(store_->holds(kOne, Pid{2}));
}

TEST_F(TraceStoreTest, NamesThatAreNoSessionsAreLeftAlone) {
  std::filesystem::create_directories(directory() + "/lost+found/x");
  std::filesystem::create_directory_symlink("/tmp", directory() + "/00000000000000bb");
  reopen();
  EXPECT_TRUE(std::filesystem::exists(directory() + "/lost+found/x"));
  EXPECT_FALSE(store_->take_in(SessionId{"../../etc"}, kPid, kAlice, false));
  EXPECT_FALSE(store_->take_in(SessionId{"00000000000000bb"}, kPid, kAlice, false))
      << "a link is not followed";
}

TEST_F(TraceStoreTest, AnEmptyFileIsKeptToo) {
  FileChunk nothing;
  nothing.stamp = "s";
  nothing.last = true;
  ASSERT_TRUE(keep(kOne, kAlice, {nothing}));
  reopen();
  const auto piece = store_->read(kOne, kPid, 0);
  ASSERT_TRUE(piece);
  EXPECT_TRUE(piece->last);
  EXPECT_EQ(piece->total_bytes, 0U);
}

}  // namespace
}  // namespace dynolog
