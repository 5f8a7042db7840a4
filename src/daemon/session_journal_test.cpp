// The journal's files: there and back, and what is not whole.
#include "daemon/session_journal.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace dynolog {
namespace {

const MonotonicTime kNow{std::chrono::seconds(1000)};
const WallTime kWall{std::chrono::seconds(1700000000)};

struct CountingLog final : Log {
  void write(LogLevel /*level*/, std::string_view /*line*/) override { ++lines; }
  int lines = 0;
};

class SessionJournalTest : public ::testing::Test {
 protected:
  SessionJournalTest() {
    char pattern[] = "/tmp/dynolog-journal-XXXXXX";
    parent_ = ::mkdtemp(pattern);
  }
  ~SessionJournalTest() override { std::filesystem::remove_all(parent_); }

  static void write(SessionJournal& journal, const std::string& id) {
    Session session;
    session.id = SessionId{id};
    session.phase = SessionPhase::committed;
    session.created = kWall;
    session.owner.via = "unix";
    journal.write(session.id, record_text(session, {}, kNow, kWall));
  }

  std::string parent_;
  CountingLog log_;
};

TEST_F(SessionJournalTest, ThereAndBackAndGone) {
  SessionJournal journal(parent_ + "/sessions", log_);
  write(journal, "aa");
  write(journal, "bb");
  struct stat info{};
  ASSERT_EQ(::stat((parent_ + "/sessions/aa.json").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777U, 0600U);
  EXPECT_EQ(journal.read(kNow, kWall).size(), 2U);
  journal.remove(SessionId{"aa"});
  const auto left = journal.read(kNow, kWall);
  ASSERT_EQ(left.size(), 1U);
  EXPECT_EQ(left.front().session.id.value, "bb");
}

TEST_F(SessionJournalTest, ATornRecordCostsItselfOnly) {
  SessionJournal journal(parent_ + "/sessions", log_);
  write(journal, "aa");
  std::ofstream(parent_ + "/sessions/torn.json") << "{\"dynolog_journal\": 1, \"sess";
  // A whole record under another's name is no record either.
  std::filesystem::copy_file(parent_ + "/sessions/aa.json", parent_ + "/sessions/cc.json");
  EXPECT_EQ(journal.read(kNow, kWall).size(), 1U);
  EXPECT_FALSE(std::filesystem::exists(parent_ + "/sessions/torn.json"));
}

TEST_F(SessionJournalTest, SaysOnceThatItCannotWrite) {
  SessionJournal journal(parent_ + "/no/such/place", log_);
  write(journal, "aa");
  write(journal, "bb");
  EXPECT_EQ(log_.lines, 1);
}

}  // namespace
}  // namespace dynolog
