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
  request.place.target = "/tmp/ü_7.json";
  request.place.log_file = "/tmp/dynolog-0.json";
  request.place.file = "/tmp/dynolog-0_7.json";
  request.place.elsewhere = {"/tmp/libkineto_activities_7.json"};
  request.place.note = "moved";
  ProcessTrace::Timeouts timeouts;
  timeouts.write = seconds(99);
  timeouts.delivery = seconds(77);
  const auto tracing = [&](int pid) {
    ProcessTrace trace({Pid{pid}, 2}, request, kNow - seconds(4), timeouts);
    trace.on_handed_over(kNow - seconds(3), kWall - seconds(3), kWall - seconds(1));
    trace.on_receipt(kNow - seconds(3));
    trace.on_temporary_file(kNow - seconds(2));
    return trace;
  };
  FileCheck check;
  check.checked = check.whole = check.ours = true;
  check.summary.whole = true;
  check.summary.events = 9;
  check.summary.bytes = 1U << 31U;
  check.summary.trace_id = "4";
  check.summary.categories = {{"kernel", 5}};
  check.summary.window_start_ns = 1700000000123456789;
  ProcessTrace written = tracing(7);
  written.on_file(kNow - seconds(1), check, "/tmp/dynolog-0_7.json");
  ProcessTrace delivered = tracing(8);
  delivered.on_file(kNow - seconds(1), check, "/tmp/dynolog-0_7.json");
  delivered.on_delivered(kNow, {.location = TraceDelivery::Location::caller,
                                .path = "/home/ü.json",
                                .file_id = "1:2",
                                .bytes = 8,
                                .notes = {"a", "b"}});
  ProcessTrace unbegun({Pid{9}, 2}, request, kNow - seconds(9), timeouts);
  unbegun.on_handed_over(kNow - seconds(8), kWall - seconds(8), kWall - seconds(5));
  unbegun.on_receipt(kNow - seconds(8));
  unbegun.on_poll(kNow - seconds(2), true);
  unbegun.on_poll(kNow - Milliseconds(300), true);
  result.traces.emplace(
      Pid{5}, ProcessTrace({Pid{5}, 18446744073709551615U}, request, kNow - seconds(4), timeouts));
  result.traces.emplace(Pid{6}, tracing(6));
  result.traces.emplace(Pid{7}, written);
  result.traces.emplace(Pid{8}, delivered);
  result.traces.emplace(Pid{9}, unbegun);
  result.tenants = {{Pid{5}, {Uid{1000}, "c1"}},
                    {Pid{6}, {Uid{1001}, ""}},
                    {Pid{7}, {Uid{0}, ""}},
                    {Pid{8}, {Uid{0}, ""}},
                    {Pid{9}, {Uid{0}, ""}}};
  return result;
}

std::string journal() {
  Session one = session();
  Session other = one;
  other.id = SessionId{"00fe"};
  other.phase = SessionPhase::ended;
  other.deadline.reset();
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
  EXPECT_NE(first.traces.at(Pid{7}).request().config, "");
  EXPECT_EQ(first.traces.at(Pid{8}).request().config, "") << "an ended trace needs no text";
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
  EXPECT_EQ(waiting.timeouts().delivery, Nanoseconds(seconds(77)));
  EXPECT_EQ(waiting.request().place.target, "/tmp/ü_7.json");
  EXPECT_EQ(waiting.request().place.note, "moved");
  EXPECT_THAT(waiting.request().place.elsewhere,
              testing::ElementsAre("/tmp/libkineto_activities_7.json"));
  EXPECT_EQ(waiting.next_due(), session().traces.at(Pid{5}).next_due());
  const ProcessTrace& written = first.traces.at(Pid{7});
  EXPECT_EQ(written.state(), TraceState::written);
  EXPECT_EQ(written.written_path(), "/tmp/dynolog-0_7.json");
  EXPECT_TRUE(written.check() == session().traces.at(Pid{7}).check());
  EXPECT_EQ(written.check().summary.categories.at(0).events, 5U);
  EXPECT_EQ(written.next_due(), kNow + seconds(76));
  const ProcessTrace& delivered = first.traces.at(Pid{8});
  EXPECT_TRUE(delivered.delivery() == session().traces.at(Pid{8}).delivery());
  EXPECT_EQ(delivered.delivery().value().location, TraceDelivery::Location::caller);
  EXPECT_EQ(first.traces.at(Pid{9}).next_due(), kNow + Milliseconds(700)) << "the news until then";
  std::vector<const Session*> again;
  for (const Session& one : *sessions) again.push_back(&one);
  EXPECT_EQ(journal_text(again, kNow, kWall), text);
}

TEST(Journal, OneSessionTwiceIsAnError) {
  Session one = session();
  ASSERT_TRUE(parse_journal(journal_text({&one}, kNow, kWall), kNow, kWall));
  EXPECT_FALSE(parse_journal(journal_text({&one, &one}, kNow, kWall), kNow, kWall));
}

TEST(Journal, AllEndedMeansEach) {
  Session one = session();
  EXPECT_FALSE(one.all_ended());
  one.traces.erase(Pid{5});
  one.traces.erase(Pid{6});
  one.traces.erase(Pid{9});
  EXPECT_FALSE(one.all_ended()) << "one is still being brought to its place";
  one.traces.erase(Pid{7});
  EXPECT_TRUE(one.all_ended());
  one.traces.clear();
  EXPECT_TRUE(one.all_ended());
}

TEST(Journal, BytesThatAreNotUtf8DoNotStopIt) {
  Session one = session();
  one.owner.via = "\xff";
  EXPECT_TRUE(parse_journal(journal_text({&one}, kNow, kWall), kNow, kWall));
}

TEST(Journal, AnotherVersionIsNamed) {
  const auto old = parse_journal(R"({"dynolog_journal":1,"sessions":[{"id":"a"}]})", kNow, kWall);
  ASSERT_FALSE(old);
  EXPECT_EQ(old.error().message,
            "the journal is of version 1, and this daemon reads version 2 only");
}

TEST(Journal, ATruncatedTextIsAnError) {
  const std::string text = journal();
  for (std::size_t length = 0; length + 1 < text.size(); length += 41) {
    ASSERT_FALSE(parse_journal(std::string_view(text).substr(0, length), kNow, kWall)) << length;
  }
  EXPECT_TRUE(parse_journal("{\"dynolog_journal\":2,\"sessions\":[]}", kNow, kWall));
}

// Every value in turn is taken away, and replaced by one of another type and out of all ranges.
TEST(Journal, EveryFieldIsNeededAndChecked) {
  Session one = session();  // with each field that there is, in the fewest traces
  one.traces.erase(Pid{6});
  one.traces.erase(Pid{7});
  const nlohmann::json good = nlohmann::json::parse(journal_text({&one}, kNow, kWall));
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
        "/sessions/0/traces/0/request/place", "/sessions/0/traces/0/record",
        "/sessions/0/traces/0/record/check", "/sessions/0/traces/3/record/delivery"}) {
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
  EXPECT_FALSE(with("/dynolog_journal", 3));
  EXPECT_FALSE(with("/sessions/0/phase", "prepared"));
  EXPECT_FALSE(with("/sessions/0/traces/0/record/state", "begun"));
  EXPECT_FALSE(with("/sessions/0/traces/0/record/start", 9223372036854775807LL));
  EXPECT_FALSE(with("/sessions/0/traces/0/request/window", 9223372036854775807LL));
  EXPECT_FALSE(with("/sessions/0/traces/0/pid", 18446744073709551615ULL));
  EXPECT_FALSE(with("/sessions/0/traces/0/request/place/file", std::string(70000, 'x')));
  EXPECT_FALSE(with("/sessions/0/traces/2/record/check/summary", "{}"));
  EXPECT_FALSE(with("/sessions/0/traces/2/record/check/summary", std::string(9999, '[')));
  EXPECT_FALSE(with("/sessions/0/traces/3/record/delivery/location", "moon"));
  EXPECT_FALSE(
      with("/sessions/0/traces/3/record/delivery/notes", std::vector<std::string>(257, "note")));
  EXPECT_FALSE(with("/sessions/0/traces/1", good["sessions"][0]["traces"][0]));
}

}  // namespace
}  // namespace dynolog
