// The files worker end to end: real child processes, a process to serve, and the attacks of its
// user's neighbours.
#include "workers/files_worker.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <iterator>

#include "workers/files_worker_fixture.h"

namespace dynolog {
namespace {

namespace fs = std::filesystem;
using ::testing::ContainsRegex;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class FilesWorkerTest : public FilesWorkerFixture {};

TEST_F(FilesWorkerTest, PreparesAndWatchesUntilTheTraceIsThere) {
  serve_one();
  watch(in_traces("t.json"), "77");
  write(in_traces("t.json.tmp"), kTrace);
  const FileEvent temporary = next_event();
  EXPECT_EQ(temporary.what, What::temporary);
  EXPECT_EQ(temporary.pid, process_->pid());
  fs::rename(in_traces("t.json.tmp"), in_traces("t.json"));
  const FileEvent written = next_event();
  EXPECT_EQ(written.what, What::written);
  EXPECT_TRUE(written.check.checked);
  EXPECT_TRUE(written.check.whole);
  EXPECT_TRUE(written.check.ours);
  EXPECT_EQ(written.check.summary.events, 3U);
  EXPECT_EQ(written.check.summary.trace_id, "77");
  EXPECT_EQ(written.check.problem, "");
}

TEST_F(FilesWorkerTest, TheRenameIsToldBeforeTheCheck) {
  serve_one();
  watch(in_traces("t.json"), "77");
  write_trace("t.json", kTrace);
  EXPECT_EQ(next_event().what, What::temporary);
  EXPECT_EQ(next_event().what, What::written);
  EXPECT_EQ(renames_, 1);
}

TEST_F(FilesWorkerTest, ASnapshotIsAWholePickle) {
  serve_one();
  watch(in_traces("s.pickle"), "77", FilesWorker::Expect::snapshot);
  write(in_traces("s.pickle"), "\x80\x04]\x94.");
  const FileEvent whole = next_event();
  EXPECT_EQ(whole.what, What::written);
  EXPECT_TRUE(whole.check.checked && whole.check.whole && whole.check.ours) << whole.check.problem;
  EXPECT_EQ(whole.check.summary.bytes, 5U);

  watch(in_traces("cut.pickle"), "77", FilesWorker::Expect::snapshot);
  write(in_traces("cut.pickle"), "\x80\x04]\x94");
  const FileEvent cut = next_event();
  EXPECT_FALSE(cut.check.whole);
  EXPECT_THAT(cut.check.problem, HasSubstr("whole pickle"));
}

TEST_F(FilesWorkerTest, TemporaryFromBeforeTheWatchIsSeen) {
  serve_one();
  write(in_traces("t.json.tmp"), "");
  watch(in_traces("t.json"), "77");
  EXPECT_EQ(next_event().what, What::temporary);
}

TEST_F(FilesWorkerTest, BrokenAndForeignTracesAreJudged) {
  serve_one();
  watch(in_traces("cut.json"), "77");
  write_trace("cut.json", R"({"traceEvents": [{}, )");
  EXPECT_EQ(next_event().what, What::temporary);
  const FileEvent cut = next_event();
  EXPECT_TRUE(cut.check.checked);
  EXPECT_FALSE(cut.check.whole);
  EXPECT_THAT(cut.check.problem, HasSubstr("cut off"));

  watch(in_traces("foreign.json"), "78");
  write_trace("foreign.json", kTrace);
  EXPECT_EQ(next_event().what, What::temporary);
  const FileEvent foreign = next_event();
  EXPECT_TRUE(foreign.check.whole);
  EXPECT_FALSE(foreign.check.ours);
  EXPECT_THAT(foreign.check.problem, HasSubstr("another trace's"));

  watch(in_traces("old.json"), "");
  write_trace("old.json", R"({"traceEvents": []})");
  EXPECT_EQ(next_event().what, What::temporary);
  EXPECT_TRUE(next_event().check.ours);

  watch(in_traces("empty.json"), "77");
  write_trace("empty.json", "");
  EXPECT_EQ(next_event().what, What::temporary);
  EXPECT_THAT(next_event().check.problem, HasSubstr("empty"));
}

TEST_F(FilesWorkerTest, EarlierFileCountsOnlyWithOurId) {
  serve_one();
  write(in_traces("t.json"), R"({"traceEvents": [], "trace_id": "1"})");
  watch(in_traces("t.json"), "77");
  EXPECT_TRUE(events_.empty());
  write_trace("t.json", kTrace);
  EXPECT_EQ(next_event().what, What::temporary);
  EXPECT_TRUE(next_event().check.ours);
  // As a restarted daemon finds it.
  watch(in_traces("t.json"), "77");
  const FileEvent again = next_event();
  EXPECT_EQ(again.what, What::written);
  EXPECT_TRUE(again.check.ours);
}

TEST_F(FilesWorkerTest, SeveralProcessesShareADirectory) {
  WaitingProcess first({});
  WaitingProcess second({});
  const Uid self{::geteuid()};
  serve({{first.key(), self}, {second.key(), self}});
  EXPECT_EQ(prepare(first.pid(), in_traces("1.json"))->directory_id,
            prepare(second.pid(), in_traces("2.json"))->directory_id);
  worker_->watch(first.pid(), "77", FilesWorker::Expect::trace);
  worker_->watch(second.pid(), "77", FilesWorker::Expect::trace);
  worker_->unwatch(first.pid());
  static_cast<void>(prepare(first.pid(), in_traces("1.json")));  // all before it are done
  write_trace("1.json", kTrace);
  write_trace("2.json", kTrace);
  EXPECT_EQ(next_event().pid, second.pid());
  const FileEvent written = next_event();
  EXPECT_EQ(written.pid, second.pid());
  EXPECT_EQ(written.what, What::written);
}

TEST_F(FilesWorkerTest, LinksAndFifosAreNoTraces) {
  serve_one();
  write(path_ / "real.json", kTrace);
  watch(in_traces("link.json"), "77");
  fs::create_symlink(path_ / "real.json", in_traces("other"));
  fs::rename(in_traces("other"), in_traces("link.json"));
  const FileEvent link = next_event();
  EXPECT_EQ(link.what, What::written);
  EXPECT_FALSE(link.check.checked);
  EXPECT_THAT(link.check.problem, HasSubstr("symbolic link"));

  watch(in_traces("hard.json"), "77");
  fs::create_hard_link(path_ / "real.json", in_traces("other"));
  fs::rename(in_traces("other"), in_traces("hard.json"));
  EXPECT_THAT(next_event().check.problem, HasSubstr("hard links"));

  watch(in_traces("fifo.json"), "77");
  ASSERT_EQ(::mkfifo(in_traces("other").c_str(), 0666), 0);
  fs::rename(in_traces("other"), in_traces("fifo.json"));
  EXPECT_THAT(next_event().check.problem, HasSubstr("a FIFO"));
}

TEST_F(FilesWorkerTest, RenamedDirectoryIsUnwatchable) {
  serve_one();
  watch(in_traces("t.json"), "77");
  fs::rename(traces_, path_ / "elsewhere");
  const FileEvent event = next_event();
  EXPECT_EQ(event.what, What::unwatchable);
  EXPECT_THAT(event.problem, HasSubstr("moved away"));
}

TEST_F(FilesWorkerTest, DirectorySwappedAfterPrepareIsNotFollowed) {
  serve_one();
  ASSERT_TRUE(prepare(in_traces("t.json"))->usable);
  fs::rename(traces_, path_ / "held");
  fs::create_directory(traces_);
  worker_->watch(process_->pid(), "77", FilesWorker::Expect::trace);
  settle();
  write_trace("t.json", R"({"trace_id": "77"})");  // in the new one: nobody looks there
  settle();
  EXPECT_TRUE(events_.empty());
  write(path_ / "held/t.json.tmp", kTrace);
  EXPECT_EQ(next_event().what, What::temporary);
}

TEST_F(FilesWorkerTest, WatchNeedsItsPrepare) {
  serve_one();
  worker_->watch(process_->pid(), "77", FilesWorker::Expect::trace);
  const FileEvent event = next_event();
  EXPECT_EQ(event.what, What::unwatchable);
  EXPECT_THAT(event.problem, HasSubstr("not prepared"));
}

TEST_F(FilesWorkerTest, ProcessesThatAreNotServedAreDenied) {
  serve_one();
  EXPECT_EQ(prepare(Pid{1}, in_traces("t.json")).error().kind, ErrorKind::denied);
}

TEST_F(FilesWorkerTest, DeadOrChangedProcessesFailAlone) {
  WaitingProcess alive({});
  WaitingProcess dead({});
  const Uid self{::geteuid()};
  const std::vector<FilesIdentity> identities = {{dead.key(), self}, {alive.key(), self}};
  dead.end();
  serve(identities);
  EXPECT_TRUE(prepare(alive.pid(), in_traces("t.json"))->usable);
  EXPECT_FALSE(prepare(identities[0].process.pid, in_traces("t.json")).has_value());
}

TEST_F(FilesWorkerTest, WrongStartTimeOrUidIsRefused) {
  process_.emplace(WaitingProcess::Options{});
  ProcessKey key = process_->key();
  ++key.start_ticks;
  serve({{key, Uid{::geteuid()}}});
  EXPECT_FALSE(prepare(in_traces("t.json")).has_value());
  EXPECT_THAT(ended_.value_or(""), HasSubstr("another's"));

  ended_.reset();
  serve({{process_->key(), Uid{::geteuid() + 1}}});
  EXPECT_FALSE(prepare(in_traces("t.json")).has_value());
  EXPECT_THAT(ended_.value_or(""), HasSubstr("is now of uid"));
}

TEST_F(FilesWorkerTest, SeveralUsersAreRefused) {
  process_.emplace(WaitingProcess::Options{});
  serve({{process_->key(), Uid{::geteuid()}}, {process_->key(), kOther}});
  EXPECT_FALSE(prepare(in_traces("t.json")).has_value());
  EXPECT_THAT(ended_.value_or(""), HasSubstr("several users"));
}

TEST_F(FilesWorkerTest, NobodyToServeIsAnError) {
  EXPECT_FALSE(
      FilesWorker::start(
          loop_, *log_, DYNOLOG_WORKER_CHILD, {}, [](FileEvent) {}, [](const std::string&) {})
          .has_value());
}

TEST_F(FilesWorkerTest, TorchFactsComeFromTheProcessesRoot) {
  serve_one();
  fs::create_directories(path_ / "torch/lib");
  write(path_ / "torch/version.py", "__version__ = '2.13.0'\n");
  write(path_ / "torch/lib/libtorch_cpu.so", std::string("REQUEST_TRACE_ID\0", 17));
  const std::string library = path_ / "torch/lib/libtorch_cpu.so";
  const auto facts = ask<TorchFacts>(
      [&](auto done) { worker_->torch_facts(process_->pid(), library, "", std::move(done)); });
  ASSERT_TRUE(facts.has_value()) << facts.error().message;
  EXPECT_EQ(facts->version, "2.13.0");
  EXPECT_TRUE(facts->knows_trace_id);
  const auto id = ask<std::string>(
      [&](auto done) { worker_->torch_library_id(process_->pid(), library, std::move(done)); });
  ASSERT_TRUE(id.has_value()) << id.error().message;
  struct stat status{};
  ASSERT_EQ(::stat(library.c_str(), &status), 0);
  EXPECT_THAT(*id, StartsWith(fmt::format("{}:{}:", status.st_dev, status.st_ino)));
  EXPECT_THAT(*id, EndsWith(fmt::format(":{}", status.st_size)));
}

TEST_F(FilesWorkerTest, BadWorkersEndWithASentence) {
  process_.emplace(WaitingProcess::Options{});
  for (const char* how : {"exit", "garbage", "wrong-number", "early"}) {
    ended_.reset();
    ::setenv("DYNOLOG_TEST_WORKER", how, 1);
    serve({{process_->key(), Uid{::geteuid()}}});
    ::unsetenv("DYNOLOG_TEST_WORKER");
    if (std::string_view(how) == "early") continue;  // decodes another worker's frames: may end
    EXPECT_FALSE(prepare(in_traces("t.json")).has_value()) << how;
    EXPECT_TRUE(ended_.has_value()) << how;
    // And later requests fail at once.
    EXPECT_FALSE(prepare(in_traces("t.json")).has_value()) << how;
  }
}

// A worker that knows the protocol, and answers every request with what fits none.
TEST_F(FilesWorkerTest, AnswersThatDoNotFitFailTheirRequestAlone) {
  process_.emplace(WaitingProcess::Options{});
  const Pid pid = process_->pid();
  ::setenv("DYNOLOG_TEST_WORKER", "nonsense", 1);
  serve({{process_->key(), Uid{::geteuid()}}});
  ::unsetenv("DYNOLOG_TEST_WORKER");
  EXPECT_EQ(prepare(in_traces("t.json")).error().kind, ErrorKind::invalid);
  EXPECT_EQ(ask<DeliveredFile>([&](auto done) { worker_->deliver(pid, {}, done); }).error().kind,
            ErrorKind::invalid);
  EXPECT_EQ(
      ask<bool>([&](auto done) { worker_->discard(pid, FilesWorker::Discard::at_once, done); })
          .error()
          .kind,
      ErrorKind::invalid);
  // A whole chunk, but of another offset than asked for.
  EXPECT_TRUE(ask<FileChunk>([&](auto done) { worker_->read_chunk(pid, 7, done); }).has_value());
  EXPECT_THAT(ask<FileChunk>([&](auto done) { worker_->read_chunk(pid, 8, done); }).error().message,
              HasSubstr("another piece"));
  EXPECT_FALSE(ended_.has_value());
}

TEST_F(FilesWorkerTest, WhatIsTooLongFailsBeforeTheWorkerSeesIt) {
  serve_one();
  const Pid pid = process_->pid();
  EXPECT_EQ(prepare("/" + std::string(5000, 'a')).error().kind, ErrorKind::invalid);
  PlacesAsked places;
  places.file = in_traces("t.json");
  places.elsewhere.assign(kMaxElsewhere + 1, in_traces("e.json"));
  EXPECT_EQ(prepare_places(pid, places).error().kind, ErrorKind::invalid);
  DeliveryOrder order;
  order.side_car.assign(kMaxSideCar + 1, 'x');
  EXPECT_EQ(ask<DeliveredFile>([&](auto done) { worker_->deliver(pid, order, done); }).error().kind,
            ErrorKind::invalid);
  EXPECT_TRUE(prepare(in_traces("t.json"))->usable);
}

TEST_F(FilesWorkerTest, MayEndInItsOwnCallback) {
  serve_one();
  bool called = false;
  PlacesAsked places;
  places.file = in_traces("t.json");
  worker_->prepare(process_->pid(), places, [&](const auto&) {
    called = true;
    worker_.reset();
    loop_.stop();
  });
  worker_->unwatch(process_->pid());
  loop_.run();
  EXPECT_TRUE(called);
}

// What only root can set up: other users' processes, and other roots.
class RootFilesWorkerTest : public FilesWorkerTest {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root";
    ASSERT_EQ(::chown(traces_.c_str(), kOther.value, kOther.value), 0);
  }
  std::string line_of_status(const std::string& name) {
    std::ifstream file("/proc/" + worker_pid() + "/status");
    for (std::string line; std::getline(file, line);) {
      if (line.starts_with(name + ":\t")) return line.substr(name.size() + 2);
    }
    return "none";
  }
};

TEST_F(RootFilesWorkerTest, BecomesTheUserForGood) {
  serve_one(kOther);
  ASSERT_TRUE(prepare(in_traces("t.json"))->usable);
  EXPECT_EQ(line_of_status("Uid"), "61234\t61234\t61234\t61234");
  EXPECT_EQ(line_of_status("Gid"), "61234\t61234\t61234\t61234");
  EXPECT_EQ(line_of_status("Groups"), " ");
  for (const char* set : {"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"}) {
    EXPECT_EQ(line_of_status(set), "0000000000000000") << set;
  }
  EXPECT_EQ(line_of_status("NoNewPrivs"), "1");
  std::ifstream limits("/proc/" + worker_pid() + "/limits");
  const std::string text(std::istreambuf_iterator<char>(limits), {});
  EXPECT_THAT(text, ContainsRegex("Max file size +unlimited +unlimited"));
  EXPECT_THAT(text, ContainsRegex("Max core file size +0 +0"));
}

TEST_F(RootFilesWorkerTest, TakesTheProcessesFurtherGroupsAndNoOthers) {
  constexpr gid_t kGroup = 61300;
  ASSERT_EQ(::chown(traces_.c_str(), 0, kGroup), 0);
  ASSERT_EQ(::chmod(traces_.c_str(), 0770), 0);
  serve_process({.uid = kOther, .groups = {kGroup, 61301}});
  const auto member = prepare(in_traces("t.json"));
  ASSERT_TRUE(member);
  EXPECT_TRUE(member->usable) << member->problem;
  EXPECT_EQ(line_of_status("Groups"), "61300 61301 ");
  serve_process({.uid = kOther});
  const auto stranger = prepare(in_traces("t.json"));
  ASSERT_TRUE(stranger);
  EXPECT_FALSE(stranger->usable);
  EXPECT_EQ(line_of_status("Groups"), " ");
}

TEST_F(RootFilesWorkerTest, RootsWorkerHasNoCapabilityEither) {
  serve_one();
  ASSERT_TRUE(prepare("/tmp/t.json").has_value());
  EXPECT_EQ(line_of_status("Uid"), "0\t0\t0\t0");
  for (const char* set : {"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"}) {
    EXPECT_EQ(line_of_status(set), "0000000000000000") << set;
  }
  // Root without capabilities does not get through another user's closed directory.
  fs::create_directory(traces_ / "inner");
  ASSERT_EQ(::chmod(traces_.c_str(), 0700), 0);
  const auto foreign = prepare(in_traces("inner/t.json"));
  EXPECT_FALSE(foreign.has_value() && foreign->usable);
}

TEST_F(RootFilesWorkerTest, SeesOnlyWhatTheUserMaySee) {
  serve_one(kOther);
  fs::create_directory(path_ / "secret");
  ASSERT_EQ(::chmod((path_ / "secret").c_str(), 0700), 0);
  fs::create_directory(path_ / "secret/inner");
  const auto hidden = prepare(path_ / "secret/inner/t.json");
  ASSERT_TRUE(hidden.has_value());
  EXPECT_FALSE(hidden->usable);
  EXPECT_THAT(hidden->problem, HasSubstr("cannot be reached by uid 61234"));
  const auto unwritable = prepare(path_ / "t.json");
  EXPECT_THAT(unwritable->problem, HasSubstr("not writable for uid 61234"));
  // A library that it may not read.
  write(path_ / "library.so", "x");
  ASSERT_EQ(::chmod((path_ / "library.so").c_str(), 0600), 0);
  const auto facts = ask<TorchFacts>([&](auto done) {
    worker_->torch_facts(process_->pid(), path_ / "library.so", "", std::move(done));
  });
  ASSERT_FALSE(facts.has_value());
  EXPECT_EQ(facts.error().kind, ErrorKind::denied);
}

TEST_F(RootFilesWorkerTest, WatchesAsTheUser) {
  serve_one(kOther);
  watch(in_traces("t.json"), "77");
  write_trace("t.json", kTrace, kOther);
  EXPECT_EQ(next_event().what, What::temporary);
  EXPECT_TRUE(next_event().check.ours);
}

TEST_F(RootFilesWorkerTest, AnotherUsersFileIsNoTrace) {
  ASSERT_EQ(::chmod(traces_.c_str(), 01777), 0);
  serve_one(kOther);
  watch(in_traces("t.json"), "77");
  write_trace("t.json", kTrace, kThird);
  const FileEvent event = next_event();
  const FileEvent written = event.what == What::temporary ? next_event() : event;
  EXPECT_FALSE(written.check.checked);
  EXPECT_THAT(written.check.problem, HasSubstr("belongs to uid 61235"));
}

TEST_F(RootFilesWorkerTest, PlantedTemporaryIsFoundBeforeTheTrace) {
  ASSERT_EQ(::chmod(traces_.c_str(), 01777), 0);
  write(in_traces("t.json.tmp"), "", kThird);
  ASSERT_EQ(::chmod(in_traces("t.json.tmp").c_str(), 0666), 0);
  serve_one(kOther);
  const auto prepared = prepare(in_traces("t.json"));
  EXPECT_FALSE(prepared->usable);
  EXPECT_THAT(prepared->problem, HasSubstr("remove it"));
}

TEST_F(RootFilesWorkerTest, PathsAreThoseOfTheProcessesRoot) {
  fs::create_directories(path_ / "jail/out");
  ASSERT_EQ(::chown((path_ / "jail/out").c_str(), kOther.value, kOther.value), 0);
  fs::create_symlink("../../../../../../" + traces_.string(), path_ / "jail/escape");
  fs::create_symlink(traces_, path_ / "jail/absolute");
  serve_one(kOther, path_ / "jail");
  EXPECT_TRUE(prepare("/out/t.json")->usable);
  EXPECT_TRUE(prepare("/../../out/t.json")->usable);
  const std::vector<std::string> outside = {"/escape/t.json", "/absolute/t.json",
                                            in_traces("t.json"), "/out/../../traces/t.json"};
  for (const std::string& path : outside) {
    const auto prepared = prepare(path);
    ASSERT_TRUE(prepared.has_value());
    EXPECT_FALSE(prepared->usable) << path;
    EXPECT_THAT(prepared->problem, HasSubstr("no such directory")) << path;
  }
}

TEST_F(RootFilesWorkerTest, HeldRootOutlivesTheProcess) {
  serve_one(kOther);
  ASSERT_TRUE(prepare(in_traces("t.json"))->usable);
  const Pid pid = process_->pid();
  process_->end();
  EXPECT_TRUE(prepare(pid, in_traces("u.json"))->usable);
}

}  // namespace
}  // namespace dynolog
