// The journal: there and back, and what is not one.
#include "profiling/session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace dynolog {
namespace {

using std::chrono::seconds;

const MonotonicTime kNow{seconds(1000)};
const WallTime kWall{seconds(1700000000)};

Session session() {
  Session result;
  result.id = SessionId{"00ff"};
  result.owner.tenant = {Uid{1000}, "c1"};
  result.owner.host_root = false;
  result.owner.pid = Pid{77};
  result.owner.via = "unix";
  result.phase = SessionPhase::committed;
  result.created = kWall - seconds(5);
  result.deadline = kNow + seconds(60);
  TraceRequest request;
  request.config = "ACTIVITIES_LOG_FILE=/tmp/ü.json\n";
  request.trace_id = "18446744073709551615";
  request.start_lead = kStartMargin;
  request.warmup = seconds(1);
  request.window = Milliseconds(500);
  request.file = "/tmp/ü_7.json";
  ProcessTrace::Timeouts timeouts;
  timeouts.write = seconds(99);
  ProcessTrace waiting({Pid{5}, 18446744073709551615U}, request, kNow - seconds(4), timeouts);
  ProcessTrace tracing({Pid{6}, 2}, request, kNow - seconds(4), timeouts);
  tracing.on_handed_over(kNow - seconds(3), kWall - seconds(3), kWall - seconds(1));
  tracing.on_receipt(kNow - seconds(3));
  tracing.on_temporary_file(kNow - seconds(2));
  ProcessTrace written = tracing;
  FileCheck check;
  check.checked = check.whole = true;
  check.events = 9;
  check.bytes = 1U << 31U;
  check.trace_id = "4";
  written.on_file(kNow, check);
  result.traces.emplace(Pid{5}, waiting);
  result.traces.emplace(Pid{6}, tracing);
  result.traces.emplace(Pid{7}, written);
  result.tenants = {{Pid{5}, {Uid{1000}, "c1"}}, {Pid{6}, {Uid{1001}, ""}}, {Pid{7}, {Uid{0}, ""}}};
  return result;
}

std::string journal() {
  Session one = session();
  // One process stands under its own pid only.
  Session other = one;
  other.traces.erase(Pid{7});
  other.id = SessionId{"00fe"};
  other.phase = SessionPhase::ended;
  other.deadline.reset();
  one.traces.erase(Pid{6});
  Session prepared = other;
  prepared.phase = SessionPhase::prepared;
  return journal_text({&one, &other, &prepared}, kNow, kWall);
}

TEST(Journal, ThereAndBack) {
  const std::string text = journal();
  const auto sessions = parse_journal(text, kNow, kWall);
  ASSERT_TRUE(sessions) << sessions.error().message;
  ASSERT_EQ(sessions->size(), 2U) << "what was never committed is not kept";
  const Session& first = sessions->front();
  EXPECT_EQ(first.id.value, "00ff");
  EXPECT_EQ(first.owner.tenant, (Tenant{Uid{1000}, "c1"}));
  EXPECT_EQ(first.owner.pid, Pid{77});
  EXPECT_EQ(first.tenants.at(Pid{5}), (Tenant{Uid{1000}, "c1"})) << "whose it was at the commit";
  EXPECT_EQ(sessions->back().tenants.at(Pid{6}), (Tenant{Uid{1001}, ""}));
  EXPECT_NE(first.traces.at(Pid{5}).request().config, "");
  EXPECT_EQ(first.traces.at(Pid{6}).request().config, "") << "an ended trace needs no text";
  EXPECT_EQ(first.owner.via, "unix");
  EXPECT_EQ(first.deadline, kNow + seconds(60));
  EXPECT_EQ(first.created, kWall - seconds(5));
  EXPECT_EQ(sessions->back().phase, SessionPhase::ended);
  EXPECT_FALSE(sessions->back().deadline.has_value());
  const ProcessTrace& waiting = first.traces.at(Pid{5});
  EXPECT_EQ(waiting.key().start_ticks, 18446744073709551615U);
  EXPECT_EQ(waiting.request().config, "ACTIVITIES_LOG_FILE=/tmp/ü.json\n");
  EXPECT_EQ(waiting.request().start_lead, kStartMargin);
  EXPECT_EQ(waiting.timeouts().write, Nanoseconds(seconds(99)));
  EXPECT_EQ(waiting.next_due(), session().traces.at(Pid{5}).next_due());
  std::vector<const Session*> again;
  for (const Session& one : *sessions) again.push_back(&one);
  EXPECT_EQ(journal_text(again, kNow, kWall), text);
}

TEST(Journal, OneSessionTwiceIsAnError) {
  Session one = session();
  one.traces.erase(Pid{7});
  ASSERT_TRUE(parse_journal(journal_text({&one}, kNow, kWall), kNow, kWall));
  EXPECT_FALSE(parse_journal(journal_text({&one, &one}, kNow, kWall), kNow, kWall));
}

TEST(Journal, AllEndedMeansEach) {
  Session one = session();
  EXPECT_FALSE(one.all_ended());
  one.traces.erase(Pid{5});
  one.traces.erase(Pid{6});
  EXPECT_TRUE(one.all_ended());
  one.traces.clear();
  EXPECT_TRUE(one.all_ended());
}

TEST(Journal, BytesThatAreNotUtf8DoNotStopIt) {
  Session one = session();
  one.owner.via = "\xff";
  one.traces.erase(Pid{7});
  EXPECT_TRUE(parse_journal(journal_text({&one}, kNow, kWall), kNow, kWall));
}

TEST(Journal, ATruncatedTextIsAnError) {
  const std::string text = journal();
  for (std::size_t length = 0; length + 1 < text.size(); length += 11) {
    ASSERT_FALSE(parse_journal(std::string_view(text).substr(0, length), kNow, kWall)) << length;
  }
  EXPECT_TRUE(parse_journal("{\"dynolog_journal\":1,\"sessions\":[]}", kNow, kWall));
}

// Every value in turn is taken away, and replaced by one of another type and out of all ranges.
TEST(Journal, EveryFieldIsNeededAndChecked) {
  const nlohmann::json good = nlohmann::json::parse(journal());
  const nlohmann::json flat = good.flatten();
  int tried = 0;
  for (const auto& [path, value] : flat.items()) {
    const nlohmann::json::json_pointer pointer(path);
    for (const nlohmann::json& wrong :
         {nlohmann::json(nullptr), nlohmann::json(nlohmann::json::array({1})), nlohmann::json(-1),
          nlohmann::json(1.5)}) {
      nlohmann::json bad = good;
      bad[pointer] = wrong;
      ASSERT_FALSE(parse_journal(bad.dump(), kNow, kWall)) << path << " = " << wrong;
      ++tried;
    }
    if (value.is_string()) continue;
    nlohmann::json bad = good;
    bad[pointer] = "text";
    ASSERT_FALSE(parse_journal(bad.dump(), kNow, kWall)) << path;
  }
  EXPECT_GT(tried, 200);
}

TEST(Journal, NothingUnknownIsPassedOver) {
  const nlohmann::json good = nlohmann::json::parse(journal());
  for (const char* path :
       {"", "/sessions/0", "/sessions/0/traces/0", "/sessions/0/traces/0/request",
        "/sessions/0/traces/0/record", "/sessions/0/traces/0/record/check"}) {
    nlohmann::json bad = good;
    bad[nlohmann::json::json_pointer(path)]["unknown"] = 1;
    const auto sessions = parse_journal(bad.dump(), kNow, kWall);
    ASSERT_FALSE(sessions) << path;
    EXPECT_THAT(sessions.error().message, testing::HasSubstr("unknown field"));
  }
}

TEST(Journal, HostileTexts) {
  const nlohmann::json good = nlohmann::json::parse(journal());
  const auto with = [&](const char* path, const nlohmann::json& value) {
    nlohmann::json bad = good;
    bad[nlohmann::json::json_pointer(path)] = value;
    return parse_journal(bad.dump(), kNow, kWall);
  };
  EXPECT_FALSE(parse_journal(std::string(100000, '['), kNow, kWall));
  EXPECT_FALSE(parse_journal(std::string(100000, '{'), kNow, kWall));
  EXPECT_FALSE(parse_journal("null", kNow, kWall));
  EXPECT_FALSE(parse_journal("[]", kNow, kWall));
  EXPECT_FALSE(with("/dynolog_journal", 2));
  EXPECT_FALSE(with("/sessions/0/phase", "prepared"));
  EXPECT_FALSE(with("/sessions/0/traces/0/record/state", "delivered"));
  EXPECT_FALSE(with("/sessions/0/traces/0/record/start", 9223372036854775807LL));
  EXPECT_FALSE(with("/sessions/0/traces/0/request/window", 9223372036854775807LL));
  EXPECT_FALSE(with("/sessions/0/traces/0/pid", 18446744073709551615ULL));
  EXPECT_FALSE(with("/sessions/0/traces/0/request/file", std::string(70000, 'x')));
  EXPECT_FALSE(with("/sessions/0/traces/1", good["sessions"][0]["traces"][0]));
}

}  // namespace
}  // namespace dynolog
