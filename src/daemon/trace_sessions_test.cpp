// The sessions with workers, a Kineto thread and processes that do what a test says.
#include "daemon/trace_sessions.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <nlohmann/json.hpp>

#include "base/base64.h"
#include "daemon/sessions_test_support.h"
#include "testing/capturing_log.h"
#include "testing/fake_clock.h"

namespace dynolog {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr Uid kAlice{1000};
constexpr std::uint64_t kStartTicks = 77;

// Knows every process at once.
class ReadyProcs final : public ProcsWorker {
 public:
  void facts(ProcessKey key, std::function<void(Result<ProcessFacts>)> done) override {
    ProcessFacts facts;
    facts.key = key;
    facts.uid = kAlice;
    facts.namespace_pid = key.pid.value;
    facts.command = "python train.py";
    facts.torch_library = "/lib/libtorch_cpu.so";
    facts.job.job = JobId{"4711"};
    facts.job.rank = key.pid.value - 40;
    facts.job.local_rank = key.pid.value - 41;
    facts.job.world_size = 8;
    done(facts);
  }
  void socket_holders(std::uint32_t, Uid,
                      std::function<void(Result<std::vector<SocketHolder>>)>) override {}
  void holder_facts(Pid, std::function<void(Result<SocketHolder>)>) override {}
  std::uint64_t restarts() const override { return 0; }
};

class ReadyTorch final : public TorchFactsReader {
 public:
  void read(const ProcessFacts&, std::function<void(Result<TorchFacts>)> done) override {
    TorchFacts torch;
    torch.version = "2.13.0";
    torch.knows_trace_id = true;
    done(torch);
  }
};

class TraceSessionsTest : public testing::Test {
 protected:
  TraceSessionsTest() {
    char pattern[] = "/tmp/dynolog-sessions-XXXXXX";
    directory_ = ::mkdtemp(pattern);
    root_.proc = directory_ + "/proc";
    run_directory_.emplace(*RunDirectory::open(directory_ + "/run", false));
    registry_.emplace(ProcessRegistry::World{.loop = loop_,
                                             .clock = clock_,
                                             .log = log_,
                                             .root = root_,
                                             .procs = procs_,
                                             .torch = torch_,
                                             .users = users_,
                                             .run_directory = *run_directory_,
                                             .publish = [](Event) {},
                                             .user_directories = [] { return true; },
                                             .add_socket_directory = {},
                                             .trace_state = [](Pid) { return std::nullopt; },
                                             .patience = Nanoseconds(0)});
    alice_.tenant.uid = kAlice;
    alice_.via = "unix";
    open_store(1U << 20U);
    start();
  }
  ~TraceSessionsTest() override {
    sessions_.reset();
    store_.reset();
    std::filesystem::remove_all(directory_);
  }

  void open_store(std::uint64_t tenant_bytes) {
    store_.reset();
    auto store = TraceStore::open(directory_ + "/state/traces",
                                  {.bytes = 4 * tenant_bytes,
                                   .tenant_bytes = tenant_bytes,
                                   .tenant_traces = 64,
                                   .age = std::chrono::hours(72)},
                                  log_);
    ASSERT_TRUE(store) << store.error().message;
    store_ = std::move(*store);
  }
  void start() {
    sessions_.emplace(TraceSessions::World{
        .loop = loop_,
        .clock = clock_,
        .log = log_,
        .start_worker = files_.starter(),
        .host = "node7",
        .root = root_,
        .registry = *registry_,
        .kineto = kineto_,
        .journal_directory = directory_ + "/run/sessions",
        .store = store_.get(),
        .timeouts = {},
        .fetch_patience = std::chrono::hours(1),
        .publish = [this](Event event) { events_.push_back(std::move(event)); }});
    sessions_->restore_journal();
    settle(loop_);
  }
  // As after a crash: the worker and everything in memory is gone.
  void restart() {
    sessions_.reset();
    files_ = {};
    kineto_ = {};
    start();
  }

  void add_process(Pid pid) {
    const std::string place = fmt::format("{}/{}", root_.proc, pid.value);
    std::filesystem::create_directories(place);
    std::ofstream(place + "/stat") << fmt::format(
        "{} (python) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 {} 0 0\n", pid.value, kStartTicks);
    std::ofstream(place + "/status") << fmt::format(
        "Name:\tpython\nState:\tS (sleeping)\nPid:\t{0}\nPPid:\t1\nUid:\t1000\t1000\t1000\t1000\n"
        "Gid:\t1000\t1000\t1000\t1000\nGroups:\t\nNSpid:\t{0}\n",
        pid.value);
    KinetoPolled polled;
    polled.key = {pid, kStartTicks};
    polled.uid = kAlice;
    polled.endpoint = "abstract";
    polled.time = clock_.monotonic();
    polled.wall = clock_.wall();
    registry_->on_polled(polled);
  }

  static rpc::PrepareRequest request(const std::string& log_file, const std::string& bring) {
    rpc::PrepareRequest request;
    request.trace.log_file = log_file;
    request.trace.bring = bring;
    return request;
  }
  rpc::PrepareReply prepare(const rpc::PrepareRequest& request) {
    Result<rpc::PrepareReply> answer = fail(ErrorKind::failed, "no answer");
    const std::size_t asked = files_.prepares.size();
    sessions_->prepare(alice_, request,
                       [&](Result<rpc::PrepareReply> reply) { answer = std::move(reply); });
    settle(loop_);
    for (std::size_t i = asked; i < files_.prepares.size(); ++i) {
      files_.prepares[i].done(good_places());
    }
    settle(loop_);
    refusal_ = answer ? "" : answer.error().message;
    return answer.value_or(rpc::PrepareReply{});
  }
  std::string commit(const std::string& session, bool attended = true) {
    sessions_->commit(alice_, {.session = session, .deadline_s = 0, .attended = attended},
                      [](const Result<rpc::CommitReply>& reply) { EXPECT_TRUE(reply); });
    return session;
  }
  // From the commit to the checked file.
  void have_written(Pid pid, FileCheck check = whole_file()) {
    hand_over(pid);
    const auto put =
        std::ranges::find(kineto_.puts, pid, [](const auto& one) { return one.key.pid; });
    ASSERT_NE(put, kineto_.puts.end());
    written(pid, std::move(check), put->request.place.file);
  }
  void hand_over(Pid pid) {
    const auto put =
        std::ranges::find(kineto_.puts, pid, [](const auto& one) { return one.key.pid; });
    ASSERT_NE(put, kineto_.puts.end());
    const std::string id = put->request.trace_id;
    sessions_->on_handed_over({.key = put->key,
                               .trace_id = id,
                               .start = clock_.wall() + std::chrono::seconds(1),
                               .time = clock_.monotonic(),
                               .wall = clock_.wall()});
    sessions_->on_receipt(
        {.key = put->key, .trace_id = id, .read = true, .time = clock_.monotonic()});
  }
  void written(Pid pid, FileCheck check, std::string path) {
    files_.started.back()->on_event({.pid = pid,
                                     .what = FileEvent::What::written,
                                     .check = std::move(check),
                                     .path = std::move(path),
                                     .problem = ""});
    settle(loop_);
  }
  static FileCheck whole_file() {
    FileCheck check;
    check.checked = true;
    check.whole = true;
    check.ours = true;
    check.summary.events = 5;
    check.summary.closing_brace = 100;
    return check;
  }
  // One trace, brought, up to the point where it can be fetched.
  std::string fetchable(Pid pid, bool attended = true) {
    add_process(pid);
    const std::string session = commit(prepare(request("", "always")).session, attended);
    have_written(pid);
    files_.completions.back().done({});
    settle(loop_);
    return session;
  }
  // Two pieces of a file.
  static FileChunk piece(std::uint64_t offset) {
    FileChunk chunk;
    chunk.offset = offset;
    chunk.plain_bytes = 100;
    chunk.total_bytes = 200;
    chunk.crc32 = 7;
    chunk.stamp = "stamp";
    chunk.data = offset == 0 ? "first" : "second";
    chunk.last = offset == 100;
    return chunk;
  }
  void take_into_store(Pid pid) {
    ASSERT_FALSE(files_.reads.empty());
    EXPECT_EQ(files_.reads.back().pid, pid);
    files_.reads.back().done(piece(0));
    settle(loop_);
    EXPECT_EQ(files_.reads.back().asked, 100U);
    files_.reads.back().done(piece(100));
    settle(loop_);
    ASSERT_FALSE(files_.releases.empty());
    files_.releases.back().done({});
    settle(loop_);
  }

  // An error of its own while the worker has not answered; fetched_ has the answer then.
  Result<rpc::FetchReply> fetch(const Caller& caller, const std::string& session, Pid pid,
                                std::uint64_t offset = 0) {
    const auto answer = std::make_shared<std::optional<Result<rpc::FetchReply>>>();
    sessions_->fetch(caller, {.session = session, .pid = pid.value, .offset = offset},
                     [this, answer](Result<rpc::FetchReply> reply) {
                       *answer = reply;
                       fetched_ = std::move(reply);
                     });
    return answer->value_or(fail(ErrorKind::failed, "no answer yet"));
  }
  Result<rpc::ReleaseReply> release(const Caller& caller, const std::string& session, Pid pid) {
    auto answer = std::make_shared<std::optional<Result<rpc::ReleaseReply>>>();
    const std::size_t before = files_.releases.size();
    sessions_->release(caller, {.session = session, .pid = pid.value, .file = "/h/t.json"},
                       [answer](Result<rpc::ReleaseReply> reply) { *answer = std::move(reply); });
    if (files_.releases.size() > before) files_.releases.back().done({});
    settle(loop_);
    return answer->value_or(fail(ErrorKind::failed, "no answer"));
  }
  rpc::TraceUpdate update(const std::string& session, Pid pid) {
    for (const auto& row : sessions_->list_traces(alice_).sessions) {
      if (row.session != session) continue;
      for (const auto& one : row.traces) {
        if (one.pid == pid.value) return one;
      }
    }
    ADD_FAILURE() << "not listed: " << session;
    return {};
  }

  std::string directory_;
  SystemRoot root_;
  EventLoop loop_;
  FakeClock clock_;
  CapturingLog log_;
  ReadyProcs procs_;
  ReadyTorch torch_;
  Users users_{"/dev/null"};
  std::optional<RunDirectory> run_directory_;
  std::optional<ProcessRegistry> registry_;
  FakeFiles files_;
  FakeKineto kineto_;
  std::unique_ptr<TraceStore> store_;
  std::vector<Event> events_;
  Caller alice_;
  std::string refusal_;
  std::optional<Result<rpc::FetchReply>> fetched_;
  std::optional<TraceSessions> sessions_;
};

constexpr Pid kPid{42};

TEST_F(TraceSessionsTest, AWrittenFileIsMovedWithItsRankAndItsRecord) {
  add_process(kPid);
  auto asked = request("/data/t.json", "never");
  asked.trace.gzip = true;
  const auto planned = prepare(asked);
  ASSERT_EQ(planned.planned.size(), 1U) << refusal_;
  EXPECT_EQ(planned.host, "node7");
  EXPECT_EQ(planned.planned[0].file, "/data/t_42.json.gz");
  EXPECT_FALSE(planned.planned[0].brought);
  EXPECT_EQ(planned.planned[0].torch_version, "2.13.0");
  const std::string session = commit(planned.session);
  ASSERT_EQ(kineto_.puts.size(), 1U);
  EXPECT_THAT(files_.watches, ElementsAre(std::pair(kPid, kineto_.puts[0].request.trace_id)));
  have_written(kPid);
  EXPECT_EQ(update(session, kPid).state, "written");
  ASSERT_EQ(files_.deliveries.size(), 1U);
  const DeliveryOrder& order = files_.deliveries[0].asked;
  EXPECT_TRUE(order.gzip);
  EXPECT_THAT(order.distributed_info, HasSubstr("\"rank\": 2"));
  const auto record = nlohmann::json::parse(order.side_car);
  EXPECT_EQ(record["session"], session);
  EXPECT_EQ(record["file"], "t_42.json.gz");
  EXPECT_EQ(record["host"], "node7");
  EXPECT_EQ(record["job"]["rank"], 2);
  EXPECT_EQ(sessions_->state_of(kPid), std::nullopt) << "free for another trace";
  files_.deliveries[0].done(DeliveredFile{
      .path = "/data/t_42.json.gz", .file_id = "1:9", .bytes = 5, .notes = {"a note"}});
  settle(loop_);
  const auto end = update(session, kPid);
  EXPECT_EQ(end.state, "delivered");
  EXPECT_EQ(end.location, "host");
  EXPECT_EQ(end.file, "/data/t_42.json.gz");
  EXPECT_EQ(end.file_id, "1:9");
  EXPECT_THAT(end.notes, Contains("a note"));
  EXPECT_EQ(files_.alive(), 0U) << "nothing is left to do";
  EXPECT_THAT(events_, Contains(testing::Field(&Event::kind, "audit.trace_delivered")));
}

TEST_F(TraceSessionsTest, AFailedDeliverySaysWhereTheFileIs) {
  add_process(kPid);
  const std::string session = commit(prepare(request("/data/t.json", "never")).session);
  have_written(kPid);
  files_.deliveries.at(0).done(fail(ErrorKind::exhausted, "no room in /data"));
  settle(loop_);
  const auto end = update(session, kPid);
  EXPECT_EQ(end.state, "undelivered");
  EXPECT_THAT(end.sentence, AllOf(HasSubstr("no room in /data"), HasSubstr(end.file)));
  EXPECT_THAT(end.file, HasSubstr("/data/dynolog-"));
}

TEST_F(TraceSessionsTest, AFileThatComesLateIsBroughtAndToldAsItLiesThere) {
  add_process(kPid);
  auto asked = request("/data/t.json", "never");
  asked.trace.gzip = true;
  const std::string session = prepare(asked).session;
  sessions_->commit(alice_, {.session = session, .deadline_s = 1e-9},
                    [](const Result<rpc::CommitReply>& reply) { EXPECT_TRUE(reply); });
  hand_over(kPid);
  settle(loop_);
  const std::string end = update(session, kPid).sentence;
  ASSERT_EQ(update(session, kPid).state, "timed_out") << end;
  written(kPid, whole_file(), kineto_.puts.at(0).request.place.file);
  files_.deliveries.at(0).done(DeliveredFile{
      .path = "/data/t_42.json.gz", .file_id = "1:9", .bytes = 200'000, .notes = {"a note"}});
  settle(loop_);
  const auto told = [&] {
    const auto late = update(session, kPid);
    EXPECT_EQ(late.state, "timed_out");
    EXPECT_EQ(late.sentence,
              end + "; since then: delivered: /data/t_42.json.gz (5 events, 0.2 MB)");
    EXPECT_EQ(late.location, "host");
    EXPECT_EQ(late.file, "/data/t_42.json.gz");
    EXPECT_EQ(late.file_id, "1:9");
    EXPECT_THAT(late.notes, Contains("a note"));
    ASSERT_TRUE(late.summary);
    EXPECT_EQ(late.summary->file_bytes, 200'000U);
  };
  told();
  restart();
  told();
}

TEST_F(TraceSessionsTest, NothingIsWrittenIntoAFileThatIsNotWholeOrHasItAlready) {
  for (const bool whole : {false, true}) {
    const Pid pid{whole ? 43 : 42};
    add_process(pid);
    auto asked = request("/data/t.json", "never");
    asked.selection.pids = {pid.value};
    commit(prepare(asked).session);
    FileCheck check = whole_file();
    check.whole = whole;
    check.summary.has_distributed_info = whole;
    have_written(pid, check);
    ASSERT_FALSE(files_.deliveries.empty());
    EXPECT_EQ(files_.deliveries.back().asked.distributed_info, "");
    EXPECT_EQ(files_.deliveries.back().pid, pid);
  }
}

TEST_F(TraceSessionsTest, AnothersFileIsLeftAlone) {
  add_process(kPid);
  const std::string session = commit(prepare(request("/data/t.json", "never")).session);
  FileCheck check = whole_file();
  check.ours = false;
  have_written(kPid, check);
  EXPECT_THAT(files_.deliveries, IsEmpty());
  EXPECT_EQ(update(session, kPid).state, "undelivered");
}

TEST_F(TraceSessionsTest, ExistingClientsFilesStayAsTheyAre) {
  add_process(kPid);
  rpc::LegacyTraceRequest legacy;
  legacy.config = "ACTIVITIES_LOG_FILE=/data/t.json\nACTIVITIES_DURATION_MSECS=500";
  legacy.pids = {0};
  legacy.process_limit = 3;
  std::vector<std::int64_t> triggered;
  sessions_->legacy_trace(alice_, legacy, [&](Result<rpc::LegacyTraceReply> reply) {
    triggered = reply ? reply->activity_profilers_triggered : std::vector<std::int64_t>{};
  });
  settle(loop_);
  EXPECT_EQ(files_.prepares.at(0).asked.target, "");
  files_.prepares.at(0).done(good_places());
  settle(loop_);
  EXPECT_THAT(triggered, ElementsAre(42));
  have_written(kPid);
  EXPECT_THAT(files_.deliveries, IsEmpty());
  EXPECT_THAT(files_.completions, IsEmpty());
  const auto row = sessions_->list_traces(alice_).sessions.at(0);
  EXPECT_EQ(row.traces.at(0).state, "delivered");
  EXPECT_EQ(row.traces.at(0).file, "/data/t_42.json");
  EXPECT_THAT(row.commands, ElementsAre("python train.py"));
}

TEST_F(TraceSessionsTest, ABroughtFileIsFetchedPieceByPieceAndReleased) {
  const std::string session = fetchable(kPid);
  EXPECT_THAT(files_.completions.at(0).asked, HasSubstr("\"rank\": 2"));
  EXPECT_TRUE(update(session, kPid).fetchable);
  EXPECT_THAT(files_.reads, IsEmpty()) << "somebody is going to fetch it";

  EXPECT_FALSE(fetch(alice_, session, kPid));
  ASSERT_EQ(files_.reads.size(), 1U);
  const auto second = fetch(alice_, session, kPid, 50);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().kind, ErrorKind::exhausted) << "one piece at a time";
  files_.reads[0].done(piece(0));
  EXPECT_FALSE(fetch(alice_, session, kPid, 100));
  files_.reads.at(1).done(piece(100));
  ASSERT_TRUE(fetched_ && *fetched_);
  EXPECT_EQ((*fetched_)->data, to_base64("second"));
  EXPECT_TRUE((*fetched_)->last);
  EXPECT_EQ(nlohmann::json::parse((*fetched_)->side_car)["session"], session);

  const auto released = release(alice_, session, kPid);
  ASSERT_TRUE(released) << released.error().message;
  EXPECT_TRUE(released->removed);
  const auto end = update(session, kPid);
  EXPECT_EQ(end.state, "delivered");
  EXPECT_EQ(end.location, "caller");
  EXPECT_EQ(end.file, "/h/t.json");
  EXPECT_FALSE(end.fetchable);
  EXPECT_EQ(files_.alive(), 0U);
  EXPECT_FALSE(fetch(alice_, session, kPid));
  EXPECT_THAT(events_, Contains(testing::Field(&Event::kind, "audit.trace_fetched")));
  EXPECT_THAT(events_, Contains(testing::Field(&Event::kind, "audit.trace_released")));
}

TEST_F(TraceSessionsTest, WhoFetchesIsAnsweredWhenTheWorkerGoesMeanwhile) {
  const std::string session = fetchable(kPid);
  EXPECT_FALSE(fetch(alice_, session, kPid));
  ASSERT_EQ(files_.reads.size(), 1U);
  files_.reads.clear();  // as a worker's end drops what nobody answered
  settle(loop_);
  ASSERT_TRUE(fetched_);
  ASSERT_FALSE(*fetched_);
  EXPECT_EQ(fetched_->error().kind, ErrorKind::not_found);

  std::optional<Result<rpc::ReleaseReply>> released;
  sessions_->release(alice_, {.session = session, .pid = kPid.value, .file = "/h/t.json"},
                     [&released](Result<rpc::ReleaseReply> reply) { released = std::move(reply); });
  ASSERT_EQ(files_.releases.size(), 1U);
  files_.releases.clear();
  settle(loop_);
  ASSERT_TRUE(released);
  EXPECT_FALSE(*released);
}

TEST_F(TraceSessionsTest, NobodyElseFetchesReleasesListsOrDeletes) {
  const std::string session = fetchable(kPid);
  Caller stranger;
  stranger.tenant.uid = Uid{1001};
  Caller in_container = alice_;
  in_container.tenant.container = "c0ffee";
  for (const Caller& other : {stranger, in_container}) {
    EXPECT_EQ(fetch(other, session, kPid).error().kind, ErrorKind::not_found);
    EXPECT_EQ(release(other, session, kPid).error().kind, ErrorKind::not_found);
    EXPECT_EQ(sessions_->delete_trace(other, {session}).error().kind, ErrorKind::not_found);
    EXPECT_THAT(sessions_->list_traces(other).sessions, IsEmpty());
  }
  EXPECT_THAT(files_.reads, IsEmpty());
  Caller root;
  root.host_root = true;
  EXPECT_EQ(sessions_->list_traces(root).sessions.size(), 1U);
  EXPECT_EQ(fetch(alice_, session, Pid{43}).error().kind, ErrorKind::not_found);
}

TEST_F(TraceSessionsTest, WhatNobodyWaitsForIsKeptAndFetchedLater) {
  const std::string session = fetchable(kPid, false);
  take_into_store(kPid);
  const auto end = update(session, kPid);
  EXPECT_EQ(end.state, "delivered");
  EXPECT_EQ(end.location, "daemon");
  EXPECT_TRUE(end.fetchable);
  EXPECT_EQ(files_.alive(), 0U);
  const auto list = sessions_->list_traces(alice_);
  EXPECT_EQ(list.sessions.at(0).kept_bytes, 11U);
  EXPECT_EQ(list.kept_bytes, 11U);
  EXPECT_EQ(list.quota_bytes, 1U << 20U);
  EXPECT_EQ(list.sessions[0].kept_until_ms,
            epoch_milliseconds(clock_.wall() + std::chrono::hours(72)));

  const auto last = fetch(alice_, session, kPid, 150);
  ASSERT_TRUE(last) << last.error().message;
  EXPECT_EQ(last->offset, 100U);
  EXPECT_EQ(last->data, to_base64("second"));
  EXPECT_EQ(last->stamp, "stamp");
  EXPECT_EQ(nlohmann::json::parse(last->side_car)["session"], session);

  ASSERT_TRUE(release(alice_, session, kPid));
  const auto moved = update(session, kPid);
  EXPECT_EQ(moved.state, "delivered");
  EXPECT_EQ(moved.location, "caller");
  EXPECT_EQ(moved.file, "/h/t.json");
  EXPECT_FALSE(store_->holds(SessionId{session}, kPid));
}

TEST_F(TraceSessionsTest, WhatGaveWayIsNotSaidToBeKept) {
  const std::string session = fetchable(kPid, false);
  take_into_store(kPid);
  EXPECT_THAT(update(session, kPid).sentence, Not(HasSubstr("removed")));
  store_->remove_older(clock_.wall() + std::chrono::hours(72));
  const auto end = update(session, kPid);
  EXPECT_EQ(end.state, "delivered");
  EXPECT_EQ(end.location, "removed");
  EXPECT_THAT(end.sentence, EndsWith("; since then: removed"));
  EXPECT_THAT(end.notes, Contains(HasSubstr("the daemon does not keep it any more")));
  EXPECT_FALSE(end.fetchable);
}

TEST_F(TraceSessionsTest, WhatIsWrittenAtOnceIsNotWrittenAgain) {
  const std::string session = fetchable(kPid, false);
  take_into_store(kPid);
  settle(loop_);
  const std::string path = directory_ + "/run/sessions/" + session + ".json";
  ASSERT_TRUE(std::filesystem::exists(path));
  std::filesystem::remove(path);
  sessions_.reset();  // writes what is still to be written
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(TraceSessionsTest, ACallerWhoLeavesIsNotWaitedForLong) {
  const std::string session = fetchable(kPid);
  auto following = sessions_->follow(alice_, {session}, [](const rpc::FollowFrame&) {});
  ASSERT_TRUE(following);
  sessions_->cancel(alice_, {session}, [](const Result<rpc::CancelReply>& reply) {
    ASSERT_TRUE(reply);
    EXPECT_THAT(reply->beyond_recall, IsEmpty()) << "it is written: nothing runs on";
  });
  settle(loop_);
  take_into_store(kPid);
  EXPECT_EQ(update(session, kPid).location, "daemon");
}

TEST_F(TraceSessionsTest, BeyondTheQuotaItStaysWhereItWasWritten) {
  sessions_.reset();
  open_store(8);
  start();
  const std::string session = fetchable(kPid, false);
  files_.reads.at(0).done(piece(0));
  settle(loop_);
  files_.reads.at(1).done(piece(100));
  settle(loop_);
  const auto end = update(session, kPid);
  EXPECT_EQ(end.state, "undelivered");
  EXPECT_THAT(end.sentence, AllOf(HasSubstr("--trace_store_mb"), HasSubstr("/tmp/dynolog-")));
  EXPECT_THAT(files_.releases, IsEmpty());
  EXPECT_EQ(store_->bytes_of(alice_.tenant), 0U);
}

TEST_F(TraceSessionsTest, WithoutAStoreItWaits) {
  sessions_.reset();
  store_.reset();
  start();
  const std::string session = fetchable(kPid, false);
  EXPECT_TRUE(update(session, kPid).fetchable);
  EXPECT_THAT(files_.reads, IsEmpty());
  EXPECT_EQ(files_.alive(), 1U);
}

TEST_F(TraceSessionsTest, OneWorkerIsReplacedASecondIsNot) {
  const std::string session = fetchable(kPid);
  const std::string path = update(session, kPid).file;
  files_.started.back()->on_end("killed");
  settle(loop_);
  EXPECT_EQ(files_.started.size(), 2U);
  EXPECT_EQ(files_.alive(), 1U);
  EXPECT_FALSE(update(session, kPid).fetchable);
  files_.prepares.back().done(good_places());
  written(kPid, whole_file(), path);
  files_.completions.back().done({});
  settle(loop_);
  EXPECT_TRUE(update(session, kPid).fetchable);
  files_.started.back()->on_end("killed again");
  settle(loop_);
  const auto end = update(session, kPid);
  EXPECT_EQ(end.state, "undelivered");
  EXPECT_THAT(end.sentence, AllOf(HasSubstr("killed again"), HasSubstr(path)));
}

TEST_F(TraceSessionsTest, WhatATraceLeavesUnderOurNameIsRemoved) {
  add_process(kPid);
  const std::string session = commit(prepare(request("/data/t.json", "never")).session);
  sessions_->on_not_handed_over({.key = kineto_.puts.at(0).key,
                                 .trace_id = kineto_.puts[0].request.trace_id,
                                 .why = KinetoNotHandedOver::Why::busy,
                                 .time = clock_.monotonic()});
  settle(loop_);
  ASSERT_EQ(files_.discards.size(), 1U);
  EXPECT_EQ(files_.discards[0].asked, FilesWorker::Discard::at_once);
  EXPECT_EQ(files_.alive(), 1U) << "until it has answered";
  files_.discards[0].done(true);
  settle(loop_);
  EXPECT_EQ(update(session, kPid).state, "busy");
  EXPECT_THAT(update(session, kPid).notes, Contains(HasSubstr("is removed")));
  EXPECT_EQ(files_.alive(), 0U);
}

TEST_F(TraceSessionsTest, WhatAProcessMayGoOnWithIsRemovedOnlyWhereItHasLetGo) {
  add_process(kPid);
  const std::string session = commit(prepare(request("/data/t.json", "never")).session);
  const auto& put = kineto_.puts.at(0);
  sessions_->on_handed_over({.key = put.key,
                             .trace_id = put.request.trace_id,
                             .start = clock_.wall() + std::chrono::seconds(1),
                             .time = clock_.monotonic(),
                             .wall = clock_.wall()});
  clock_.advance(ProcessTrace::Timeouts{}.staged);  // in which it has not read the configuration
  sessions_->on_receipt({.key = put.key,
                         .trace_id = put.request.trace_id,
                         .read = false,
                         .time = clock_.monotonic()});
  settle(loop_);
  ASSERT_EQ(update(session, kPid).state, "rejected");
  ASSERT_EQ(files_.discards.size(), 1U);
  EXPECT_EQ(files_.discards[0].asked, FilesWorker::Discard::when_closed);
  files_.discards[0].done(fail(ErrorKind::unavailable, "a process has it open"));
  settle(loop_);
  EXPECT_THAT(update(session, kPid).notes,
              Contains(HasSubstr(".tmp may be left unfinished: a process has it open")));
  EXPECT_EQ(files_.alive(), 1U) << "its file may yet come";
}

TEST_F(TraceSessionsTest, ARestartedDaemonGoesOnWithAWrittenFile) {
  const std::string session = fetchable(kPid);
  const std::string path = update(session, kPid).file;
  const std::string id = kineto_.puts.at(0).request.trace_id;
  restart();
  EXPECT_THAT(kineto_.puts, IsEmpty()) << "it was handed over before";
  EXPECT_THAT(files_.watches, ElementsAre(std::pair(kPid, id)));
  EXPECT_FALSE(update(session, kPid).fetchable);
  files_.prepares.at(0).done(good_places());
  written(kPid, whole_file(), path);
  files_.completions.at(0).done({});
  settle(loop_);
  const auto now = update(session, kPid);
  EXPECT_TRUE(now.fetchable);
  EXPECT_EQ(now.rank, 2) << "what is known of the process is remembered";
  EXPECT_EQ(now.local_rank, 1);
  EXPECT_EQ(now.namespace_pid, kPid.value);
  EXPECT_EQ(now.job, "4711");
  EXPECT_EQ(sessions_->list_traces(alice_).host, "node7");
}

TEST_F(TraceSessionsTest, AProcessThatEndedWithTheDaemonKeepsItsFile) {
  const std::string session = fetchable(kPid);
  std::filesystem::remove_all(root_.proc + "/42");
  restart();
  const auto end = update(session, kPid);
  EXPECT_EQ(end.state, "undelivered");
  EXPECT_THAT(end.sentence, HasSubstr("/tmp/dynolog-"));
}

TEST_F(TraceSessionsTest, WhatIsKeptOutlivesTheRunDirectory) {
  const std::string session = fetchable(kPid, false);
  take_into_store(kPid);
  sessions_.reset();
  std::filesystem::remove_all(directory_ + "/run/sessions");
  // Of another session nobody knows anything.
  const SessionId unknown{"00000000000000ee"};
  {
    auto intake = store_->take_in(unknown, kPid, alice_.tenant, false);
    ASSERT_TRUE(intake);
    FileChunk whole = piece(0);
    whole.last = true;
    ASSERT_TRUE((*intake)->append(whole));
    ASSERT_TRUE((*intake)->keep("", clock_.wall()));
  }
  open_store(1U << 20U);
  restart();
  EXPECT_EQ(update(session, kPid).location, "daemon");
  EXPECT_TRUE(fetch(alice_, session, kPid));
  EXPECT_EQ(sessions_->list_traces(alice_).sessions.at(0).commands.at(0), "python train.py");
  EXPECT_FALSE(store_->holds(unknown, kPid));
  EXPECT_TRUE(log_.contains("nobody knows whose they are"));
}

TEST_F(TraceSessionsTest, OnlyAnEndedSessionIsDeletedAndWithItWhatIsKept) {
  const std::string session = fetchable(kPid, false);
  const auto early = sessions_->delete_trace(alice_, {session});
  ASSERT_FALSE(early);
  EXPECT_THAT(early.error().message, HasSubstr("wait for its end"));
  take_into_store(kPid);
  const auto deleted = sessions_->delete_trace(alice_, {session});
  ASSERT_TRUE(deleted) << deleted.error().message;
  EXPECT_EQ(deleted->freed_bytes, 11U);
  EXPECT_THAT(sessions_->list_traces(alice_).sessions, IsEmpty());
  EXPECT_FALSE(store_->holds(SessionId{session}, kPid));
  restart();
  EXPECT_THAT(sessions_->list_traces(alice_).sessions, IsEmpty()) << "nor by the journal";
}

TEST_F(TraceSessionsTest, AStartInSomeTimeIsNamedAtTheCommit) {
  add_process(kPid);
  auto asked = request("", "always");
  asked.trace.start_in_s = 2;
  prepare(asked);
  EXPECT_THAT(refusal_, AllOf(HasSubstr("too soon"), HasSubstr("at least 6.2")));
  asked.trace.start_in_s = 20;
  asked.trace.iterations = 3;
  prepare(asked);
  EXPECT_THAT(refusal_, HasSubstr("exclude each other"));
  asked.trace.iterations = 0;
  asked.trace.start_time_ms = 1;
  prepare(asked);
  EXPECT_THAT(refusal_, HasSubstr("exclude each other"));
  asked.trace.start_time_ms = 0;
  const auto planned = prepare(asked);
  ASSERT_EQ(planned.planned.size(), 1U) << refusal_;
  EXPECT_NEAR(planned.planned[0].expected_wait_s, 22, 0.01);  // with window and writing
  EXPECT_THAT(kineto_.puts, IsEmpty());
  clock_.advance(std::chrono::seconds(3));
  commit(planned.session);
  const TraceRequest& handed = kineto_.puts.at(0).request;
  const WallTime start = clock_.wall() + std::chrono::seconds(20);
  EXPECT_EQ(handed.asked_start, start);
  EXPECT_EQ(handed.start_lead, std::nullopt);
  EXPECT_THAT(handed.config,
              HasSubstr(fmt::format("PROFILE_START_TIME={}\n", epoch_milliseconds(start))));
}

TEST_F(TraceSessionsTest, ARequestThatMakesNoSenseIsRefused) {
  add_process(kPid);
  prepare(request("/data/t.json", "sometimes"));
  EXPECT_THAT(refusal_, HasSubstr("bring"));
  prepare(request("", "never"));
  EXPECT_THAT(refusal_, HasSubstr("log_file"));
  EXPECT_THAT(files_.prepares, IsEmpty());
}

TEST_F(TraceSessionsTest, FollowersSeeThatItCanBeFetchedAndWhereItWent) {
  add_process(kPid);
  const std::string session = commit(prepare(request("", "always")).session);
  std::vector<rpc::FollowFrame> frames;
  const auto following = sessions_->follow(
      alice_, {session}, [&](const rpc::FollowFrame& frame) { frames.push_back(frame); });
  have_written(kPid);
  EXPECT_FALSE(frames.back().updates.at(0).fetchable) << "its rank is being written into it";
  files_.completions.at(0).done(fail(ErrorKind::failed, "the file changed"));
  settle(loop_);
  EXPECT_TRUE(frames.back().updates.at(0).fetchable);
  EXPECT_THAT(frames.back().updates[0].notes, Contains(HasSubstr("the file changed")));
  EXPECT_FALSE(frames.back().done);
  ASSERT_TRUE(release(alice_, session, kPid));
  EXPECT_TRUE(frames.back().done);
  EXPECT_EQ(frames.back().updates.at(0).location, "caller");
}

}  // namespace
}  // namespace dynolog
