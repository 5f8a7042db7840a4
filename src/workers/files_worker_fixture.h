// What the tests of the files worker share: processes to serve, and real workers.
#pragma once

#include <fcntl.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "testing/patience.h"
#include "workers/files_worker.h"
#include "workers/proc_entry.h"

namespace dynolog {

inline constexpr Uid kOther{61234};
inline constexpr Uid kThird{61235};
// A trace of three events whose id is 77.
inline constexpr const char* kTrace = R"({"traceEvents": [{}, {}, {}], "trace_id": "77"})";

// A process that waits: of another user, below another root, with a file system of its own, not
// dumpable, as asked for.
class WaitingProcess {
 public:
  struct Options {
    std::optional<Uid> uid{};
    std::vector<gid_t> groups{};  // beside its own; with `uid`
    std::string root{};
    // A directory over which it mounts a tmpfs that nobody else sees, in a mount namespace of its
    // own; "size=64k" and the like.
    std::string private_tmpfs{};
    std::string tmpfs_options{};
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
  // A directory as it sees it, for as long as the descriptor is held.
  [[nodiscard]] UniqueFd directory(const std::string& path) const {
    const std::string seen = "/proc/" + std::to_string(pid_) + "/root" + path;
    return UniqueFd(::open(seen.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  }

 private:
  static bool mount_private(const Options& options) {
    const std::string data =
        "mode=1777" + (options.tmpfs_options.empty() ? std::string() : "," + options.tmpfs_options);
    return ::unshare(CLONE_NEWNS) == 0 &&
           ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
           ::mount("none", options.private_tmpfs.c_str(), "tmpfs", 0, data.c_str()) == 0;
  }
  [[noreturn]] static void become(const Options& options, int ready) {
    const bool as_root = ::geteuid() == 0;
    if (!options.private_tmpfs.empty() && !mount_private(options)) ::_exit(1);
    if (!options.root.empty() && (::chroot(options.root.c_str()) != 0 || ::chdir("/") != 0)) {
      ::_exit(1);
    }
    if (options.uid) {
      const uid_t id = options.uid->value;
      if (::setgroups(options.groups.size(), options.groups.data()) != 0 ||
          ::setresgid(id, id, id) != 0 || ::setresuid(id, id, id) != 0) {
        ::_exit(1);
      }
    }
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);        // after the change of user, which clears it
    if (as_root) ::prctl(PR_SET_DUMPABLE, 0);  // only root's worker gets through that
    if (::write(ready, "r", 1) != 1) ::_exit(1);
    while (true) ::pause();
  }
  pid_t pid_ = -1;
};

class FilesWorkerFixture : public ::testing::Test {
 protected:
  using What = FileEvent::What;

  FilesWorkerFixture() {
    std::string pattern = "/tmp/files_worker_XXXXXX";
    path_ = ::mkdtemp(pattern.data());
    ::chmod(path_.c_str(), 0755);
    traces_ = path_ / "traces";
    std::filesystem::create_directory(traces_);
  }
  ~FilesWorkerFixture() override {
    worker_.reset();
    std::filesystem::remove_all(path_);
  }

  void serve(const std::vector<FilesIdentity>& identities) {
    auto worker = FilesWorker::start(
        loop_, *log_, DYNOLOG_WORKER_CHILD, identities,
        [this](FileEvent event) {
          if (on_event_) on_event_(event);
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
  void serve_process(const WaitingProcess::Options& options) {
    process_.emplace(options);
    serve({{process_->key(), options.uid.value_or(Uid{::geteuid()})}});
  }
  // A process of `uid` (or ours) to serve.
  void serve_one(std::optional<Uid> uid = std::nullopt, const std::string& root = "") {
    WaitingProcess::Options options;
    options.uid = uid;
    options.root = root;
    serve_process(options);
  }

  template <class T, class Ask>
  Result<T> ask(Ask request) {
    std::optional<Result<T>> answer;
    request([&](Result<T> given) {
      answer = std::move(given);
      loop_.stop();
    });
    EXPECT_FALSE(answer.has_value());  // never inside the call
    while (!answer && !ended_ && !guard_.gave_up()) loop_.run();
    if (!answer) return fail(ErrorKind::failed, "no answer: " + ended_.value_or(""));
    return std::move(*answer);
  }
  Result<PreparedPlaces> prepare_places(Pid pid, const PlacesAsked& places) {
    return ask<PreparedPlaces>([&](auto done) { worker_->prepare(pid, places, std::move(done)); });
  }
  // Only where the file is to be written.
  Result<DirectoryAnswer> prepare(Pid pid, const std::string& path) {
    PlacesAsked places;
    places.file = path;
    auto prepared = prepare_places(pid, places);
    if (!prepared) return std::unexpected(prepared.error());
    return prepared->file;
  }
  Result<DirectoryAnswer> prepare(const std::string& path) {
    return prepare(process_->pid(), path);
  }
  // Returns when the worker watches for certain.
  void watch_prepared(const std::string& trace_id,
                      FilesWorker::Expect expect = FilesWorker::Expect::trace) {
    worker_->watch(process_->pid(), trace_id, expect);
    settle();
  }
  void watch_places(const PlacesAsked& places, const std::string& trace_id,
                    FilesWorker::Expect expect = FilesWorker::Expect::trace) {
    const auto prepared = prepare_places(process_->pid(), places);
    ASSERT_TRUE(prepared.has_value()) << prepared.error().message;
    ASSERT_TRUE(prepared->file.usable) << prepared->file.problem;
    watch_prepared(trace_id, expect);
  }
  void watch(const std::string& path, const std::string& trace_id,
             FilesWorker::Expect expect = FilesWorker::Expect::trace) {
    PlacesAsked places;
    places.file = path;
    watch_places(places, trace_id, expect);
  }
  // Requests are answered in order: after this one's answer all before it are done.
  void settle() {
    static_cast<void>(ask<std::string>(
        [&](auto done) { worker_->torch_library_id(process_->pid(), "/none", std::move(done)); }));
  }
  // The next of the three that every trace has; others tell of progress only.
  FileEvent next_event() {
    while (true) {
      while (events_.empty() && !ended_ && !guard_.gave_up()) loop_.run();
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
  // The same, past the temporary, which is not always seen.
  FileEvent next_written() {
    FileEvent event = next_event();
    return event.what == What::temporary ? next_event() : event;
  }
  static void write(const std::filesystem::path& path, const std::string& text,
                    std::optional<Uid> owner = std::nullopt) {
    std::ofstream(path) << text;
    if (owner) {
      ASSERT_EQ(::lchown(path.c_str(), owner->value, owner->value), 0);
    }
  }
  // As Kineto does: the temporary first, then the rename.
  static void write_trace_in(const std::filesystem::path& directory, const std::string& name,
                             const std::string& text, std::optional<Uid> owner = std::nullopt) {
    write(directory / (name + ".tmp"), text, owner);
    std::filesystem::rename(directory / (name + ".tmp"), directory / name);
  }
  void write_trace(const std::string& name, const std::string& text,
                   std::optional<Uid> owner = std::nullopt) {
    write_trace_in(traces_, name, text, owner);
  }
  std::string in_traces(const std::string& name) { return traces_ / name; }
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

  EventLoop loop_;
  std::unique_ptr<Log> log_ = make_silent_log();
  std::filesystem::path path_;
  std::filesystem::path traces_;
  std::optional<WaitingProcess> process_;
  std::unique_ptr<FilesWorker> worker_;
  std::function<void(const FileEvent&)> on_event_;  // at once, before next_event()
  std::vector<FileEvent> events_;
  int renames_ = 0;
  std::optional<std::string> ended_;
  LoopGuard guard_{loop_};
};

}  // namespace dynolog
