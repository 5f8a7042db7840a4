// The files worker end to end: real child processes, a process to serve, and the attacks of its
// user's neighbours.
#include "workers/files_worker.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>

#include "base/file.h"
#include "base/unique_fd.h"
#include "workers/proc_entry.h"

namespace dynolog {
namespace {

namespace fs = std::filesystem;
using std::chrono_literals::operator""s;
using ::testing::HasSubstr;
using What = FileEvent::What;

constexpr Uid kOther{61234};
constexpr Uid kThird{61235};

// A process that waits: of another user, below another root, not dumpable, as asked for.
class WaitingProcess {
 public:
  struct Options {
    std::optional<Uid> uid;
    std::string root;
  };
  explicit WaitingProcess(const Options& options) {
    std::array<int, 2> pipe{};
    EXPECT_EQ(::pipe2(pipe.data(), O_CLOEXEC), 0);
    pid_ = ::fork();
    if (pid_ == 0) become(options, pipe[1]);
    ::close(pipe[1]);
    char ready = 0;
    EXPECT_EQ(::read(pipe[0], &ready, 1), 1);
    ::close(pipe[0]);
  }
  ~WaitingProcess() { end(); }
  WaitingProcess(const WaitingProcess&) = delete;
  WaitingProcess& operator=(const WaitingProcess&) = delete;

  void end() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }
  [[nodiscard]] Pid pid() const { return Pid{pid_}; }
  [[nodiscard]] ProcessKey key() const {
    return {pid(), ProcEntry::open(SystemRoot{}, pid())->stat()->start_ticks};
  }

 private:
  [[noreturn]] static void become(const Options& options, int ready) {
    if (!options.root.empty() && (::chroot(options.root.c_str()) != 0 || ::chdir("/") != 0)) {
      ::_exit(1);
    }
    if (options.uid) {
      const uid_t id = options.uid->value;
      if (::setgroups(0, nullptr) != 0 || ::setresgid(id, id, id) != 0 ||
          ::setresuid(id, id, id) != 0) {
        ::_exit(1);
      }
    }
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // after the change of user, which clears it
    ::prctl(PR_SET_DUMPABLE, 0);
    if (::write(ready, "r", 1) != 1) ::_exit(1);
    while (true) ::pause();
  }
  pid_t pid_ = -1;
};

class FilesWorkerTest : public ::testing::Test {
 protected:
  FilesWorkerTest() {
    std::string pattern = "/tmp/files_worker_XXXXXX";
    path_ = ::mkdtemp(pattern.data());
    ::chmod(path_.c_str(), 0755);
    traces_ = path_ / "traces";
    fs::create_directory(traces_);
    guard_ = loop_.after(60s, [this] {
      ADD_FAILURE() << "nothing happened for a minute";
      gave_up_ = true;
      loop_.stop();
    });
  }
  ~FilesWorkerTest() override {
    worker_.reset();
    fs::remove_all(path_);
  }

  void serve(const std::vector<FilesIdentity>& identities) {
    auto worker = FilesWorker::start(
        loop_, *log_, DYNOLOG_WORKER_CHILD, identities,
        [this](FileEvent event) {
          events_.push_back(std::move(event));
          loop_.stop();
        },
        [this](std::string why) {
          ended_ = std::move(why);
          loop_.stop();
        });
    ASSERT_TRUE(worker.has_value()) << worker.error().message;
    worker_ = std::move(*worker);
  }
  // A process of `uid` (or ours) to serve, with its traces in a directory of its own.
  void serve_one(std::optional<Uid> uid = std::nullopt, const std::string& root = "") {
    process_.emplace(WaitingProcess::Options{.uid = uid, .root = root});
    serve({{process_->key(), uid.value_or(Uid{::geteuid()})}});
  }
  template <class T, class Ask>
  Result<T> ask(Ask request) {
    std::optional<Result<T>> answer;
    request([&](Result<T> given) {
      answer = std::move(given);
      loop_.stop();
    });
    EXPECT_FALSE(answer.has_value());  // never inside the call
    while (!answer && !ended_ && !gave_up_) loop_.run();
    if (!answer) return fail(ErrorKind::failed, "no answer: " + ended_.value_or(""));
    return std::move(*answer);
  }
  Result<PreparedDirectory> prepare(Pid pid, const std::string& path) {
    return ask<PreparedDirectory>([&](auto done) { worker_->prepare(pid, path, std::move(done)); });
  }
  Result<PreparedDirectory> prepare(const std::string& path) {
    return prepare(process_->pid(), path);
  }
  // Prepares and watches; returns when the worker watches for certain.
  void watch(const std::string& path, const std::string& trace_id,
             FilesWorker::Expect expect = FilesWorker::Expect::trace) {
    const auto prepared = prepare(path);
    ASSERT_TRUE(prepared.has_value()) << prepared.error().message;
    ASSERT_TRUE(prepared->usable) << prepared->problem;
    worker_->watch(process_->pid(), path, trace_id, expect);
    settle();
  }
  // Requests are answered in order: after this one's answer all before it are done.
  void settle() {
    static_cast<void>(ask<std::string>(
        [&](auto done) { worker_->torch_library_id(process_->pid(), "/none", std::move(done)); }));
  }
  // The next of the three that every trace has; others tell of progress only.
  FileEvent next_event() {
    while (true) {
      while (events_.empty() && !ended_ && !gave_up_) loop_.run();
      if (events_.empty()) {
        ADD_FAILURE() << "no event; " << ended_.value_or("");
        return {};
      }
      FileEvent event = std::move(events_.front());
      events_.erase(events_.begin());
      if (event.what == What::renamed) ++renames_;
      if (event.what == What::temporary || event.what == What::written ||
          event.what == What::unwatchable) {
        return event;
      }
    }
  }
  static void write(const fs::path& path, const std::string& text,
                    std::optional<Uid> owner = std::nullopt) {
    std::ofstream(path) << text;
    if (owner) {
      ASSERT_EQ(::lchown(path.c_str(), owner->value, owner->value), 0);
    }
  }
  // As Kineto does: the temporary first, then the rename.
  void write_trace(const std::string& name, const std::string& text,
                   std::optional<Uid> owner = std::nullopt) {
    write(traces_ / (name + ".tmp"), text, owner);
    fs::rename(traces_ / (name + ".tmp"), traces_ / name);
  }
  std::string in_traces(const std::string& name) { return traces_ / name; }

  EventLoop loop_;
  std::unique_ptr<Log> log_ = make_silent_log();
  fs::path path_;
  fs::path traces_;
  std::optional<WaitingProcess> process_;
  std::unique_ptr<FilesWorker> worker_;
  std::vector<FileEvent> events_;
  int renames_ = 0;
  std::optional<std::string> ended_;
  bool gave_up_ = false;
  Timer guard_;
};

constexpr const char* kTrace = R"({"traceEvents": [{}, {}, {}], "trace_id": "77"})";

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
  EXPECT_EQ(written.check.events, 3U);
  EXPECT_EQ(written.check.trace_id, "77");
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
  EXPECT_EQ(whole.check.bytes, 5U);

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
  worker_->watch(first.pid(), in_traces("1.json"), "77", FilesWorker::Expect::trace);
  worker_->watch(second.pid(), in_traces("2.json"), "77", FilesWorker::Expect::trace);
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
  worker_->watch(process_->pid(), in_traces("t.json"), "77", FilesWorker::Expect::trace);
  settle();
  write_trace("t.json", R"({"trace_id": "77"})");  // in the new one: nobody looks there
  settle();
  EXPECT_TRUE(events_.empty());
  write(path_ / "held/t.json.tmp", kTrace);
  EXPECT_EQ(next_event().what, What::temporary);
}

TEST_F(FilesWorkerTest, WatchNeedsItsPrepare) {
  serve_one();
  worker_->watch(process_->pid(), in_traces("t.json"), "77", FilesWorker::Expect::trace);
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
  EXPECT_TRUE(id.has_value());
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

TEST_F(FilesWorkerTest, MayEndInItsOwnCallback) {
  serve_one();
  bool called = false;
  worker_->prepare(process_->pid(), in_traces("t.json"), [&](const auto&) {
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
  // The only child besides the served process, and those that an earlier test's loop left unreaped.
  std::string worker_pid() {
    const std::string self = std::to_string(::getpid());
    std::ifstream file("/proc/" + self + "/task/" + self + "/children");
    std::string newest = "0";
    for (std::string pid; file >> pid;) {
      if (pid != std::to_string(process_->pid().value)) newest = pid;
    }
    return newest;
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
