// A session's record: everything there and back, and what is no record.
#include "daemon/session_record.h"

#include <gtest/gtest.h>

namespace dynolog {
namespace {

const MonotonicTime kNow{std::chrono::seconds(1000)};
const WallTime kWall{std::chrono::seconds(1'700'000'000)};

Session session() {
  Session made;
  made.id = SessionId{"00000000000000aa"};
  made.phase = SessionPhase::ended;
  made.created = kWall;
  made.owner.via = "unix";
  return made;
}

SessionFacts facts() {
  TracedProcess process;
  process.namespace_pid = 7;
  process.rank = 3;
  process.local_rank = 1;
  process.world_size = 8;
  process.scheduler = "slurm";
  process.job = "123_4";
  process.step = "0";
  process.command = "python train.py --name \"a b\"";
  process.container = "c0ffee@/place";
  process.torch_version = "2.13.0+cpu";
  process.holds_gpu = true;
  process.gpus = {0, 5};
  process.notes = {"one", "two"};
  return {.attended = false,
          .gzip = true,
          .processes = {{Pid{42}, process}, {Pid{43}, TracedProcess{}}}};
}

TEST(SessionRecord, ThereAndBack) {
  const auto read = parse_record(record_text(session(), facts(), kNow, kWall), kNow, kWall);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->facts, facts());
  EXPECT_EQ(read->session.id, session().id);
  EXPECT_EQ(read->session.created, kWall);
}

TEST(SessionRecord, CutShortItIsNone) {
  const std::string text = record_text(session(), facts(), kNow, kWall);
  for (std::size_t size = 0; size + 2 < text.size(); ++size) {
    EXPECT_FALSE(parse_record(text.substr(0, size), kNow, kWall)) << size;
  }
}

TEST(SessionRecord, WithAMemberMissingOrOfAnotherKindItIsNone) {
  const std::string text = record_text(session(), facts(), kNow, kWall);
  for (const auto& [from, to] : std::vector<std::pair<std::string, std::string>>{
           {"\"dynolog_session\":1", "\"dynolog_session\":2"},
           {"\"attended\":false", "\"attended\":0"},
           {"\"gzip\"", "\"zip\""},
           {"\"gpus\":[0,5]", "\"gpus\":[0,\"5\"]"},
           {"\"gpus\":[0,5]", "\"gpus\":[0,-5]"},
           {"\"notes\":[\"one\"", "\"notes\":[1"},
           {"\"pid\":43", "\"pid\":42"}}) {
    std::string changed = text;
    const std::size_t place = changed.find(from);
    ASSERT_NE(place, std::string::npos) << from;
    changed.replace(place, from.size(), to);
    EXPECT_FALSE(parse_record(changed, kNow, kWall)) << to;
  }
}

TEST(SessionRecord, AProcessOfWhichNothingIsKnownIsOne) {
  ProcessEntry entry;
  EXPECT_EQ(traced_process(entry), TracedProcess{});
  entry.facts.emplace();
  entry.facts->namespace_pid = 9;
  entry.facts->job.rank = 2;
  entry.torch.emplace();
  entry.torch->version = "2.9.0";
  const TracedProcess process = traced_process(entry);
  EXPECT_EQ(process.namespace_pid, 9);
  EXPECT_EQ(process.rank, 2);
  EXPECT_EQ(process.torch_version, "2.9.0");
  const ProcessFacts again = facts_of(process, {Pid{42}, 7}, Uid{1000});
  EXPECT_EQ(again.key.pid, Pid{42});
  EXPECT_EQ(again.uid, Uid{1000});
  EXPECT_EQ(again.namespace_pid, 9);
  EXPECT_EQ(again.job.rank, 2);
}

}  // namespace
}  // namespace dynolog
