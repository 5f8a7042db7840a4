// The thread itself: commands in, events out.
#include "ipc/kineto_thread.h"

#include <pthread.h>
#include <sys/eventfd.h>

#include <atomic>
#include <csignal>
#include <future>
#include <mutex>
#include <set>
#include <thread>
#include <utility>

#include "base/unique_fd.h"
#include "ipc/kineto_server.h"
#include "ipc/kineto_tally.h"

namespace dynolog {
namespace {

constexpr std::size_t kMaxDirectories = 4096;  // that wait
constexpr std::size_t kDirectoriesAtOnce = 8;

class RunningKinetoThread final : public KinetoThread {
 public:
  RunningKinetoThread(KinetoThreadOptions options, SystemRoot root, const Clock& clock, Log& log,
                      std::function<void(KinetoEvent)> on_event, UniqueFd wake)
      : options_(std::move(options)),
        root_(std::move(root)),
        clock_(clock),
        log_(log),
        on_event_(std::move(on_event)),
        wake_(std::move(wake)) {}
  ~RunningKinetoThread() override;

  [[nodiscard]] Status run();

  void put(ProcessKey key, Uid uid, TraceRequest request) override;
  void withdraw(ProcessKey key, std::string trace_id) override;
  void add_directory(std::string directory) override;
  void remove_directory(std::string directory) override;
  [[nodiscard]] bool alive() override;
  [[nodiscard]] KinetoCounters counters() const override { return tally_.read(); }

 private:
  struct Withdrawal {
    ProcessKey key;
    std::string trace_id;
  };
  struct Removal {
    std::string directory;
  };
  struct Stop {};
  using Command = std::variant<Mailbox::Item, Withdrawal, Removal, Stop>;

  void push(Command command);
  void serve(std::promise<Status> started);
  // False when the thread is to end.
  [[nodiscard]] bool obey(KinetoServer& server);
  void add_directories(KinetoServer& server);

  const KinetoThreadOptions options_;
  const SystemRoot root_;
  const Clock& clock_;
  Log& log_;
  const std::function<void(KinetoEvent)> on_event_;
  KinetoTally tally_;
  UniqueFd wake_;
  std::atomic<std::uint64_t> asked_ = 0;
  std::atomic<std::uint64_t> came_round_ = 0;
  std::mutex mutex_;
  // At most one item per process waits: the owner's bookkeeping.
  std::vector<Command> commands_;
  std::set<std::string> directories_;  // asked for; a second time says nothing new
  std::thread thread_;
};

RunningKinetoThread::~RunningKinetoThread() {
  push(Stop{});
  if (thread_.joinable()) thread_.join();
}

Status RunningKinetoThread::run() {
  std::promise<Status> started;
  auto result = started.get_future();
  // The thread is born with every signal blocked: they are the loop's to handle.
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    thread_ = std::thread(&RunningKinetoThread::serve, this, std::move(started));
  } catch (const std::system_error& error) {
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return fail(ErrorKind::exhausted, std::string("starting a thread: ") + error.what());
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return result.get();
}

void RunningKinetoThread::serve(std::promise<Status> started) {
  ::pthread_setname_np(::pthread_self(), "kineto");
  auto server = KinetoServer::make(options_, root_, clock_, log_, on_event_, tally_, wake_.get());
  if (!server) {
    started.set_value(std::unexpected(std::move(server.error())));
    return;
  }
  started.set_value({});
  while (!(*server)->turn() || obey(**server)) {
  }
}

void RunningKinetoThread::push(Command command) {
  {
    const std::scoped_lock lock(mutex_);
    commands_.push_back(std::move(command));
  }
  ::eventfd_write(wake_.get(), 1);
}

bool RunningKinetoThread::obey(KinetoServer& server) {
  eventfd_t count = 0;
  ::eventfd_read(wake_.get(), &count);
  came_round_ = asked_.load();
  std::vector<Command> commands;
  {
    const std::scoped_lock lock(mutex_);
    commands.swap(commands_);
  }
  for (Command& command : commands) {
    if (auto* item = std::get_if<Mailbox::Item>(&command)) {
      server.answers().put(std::move(*item));
    } else if (const auto* withdrawal = std::get_if<Withdrawal>(&command)) {
      server.answers().withdraw(withdrawal->key, withdrawal->trace_id);
    } else if (const auto* removal = std::get_if<Removal>(&command)) {
      server.remove_directory(removal->directory);
    } else {
      return false;
    }
  }
  add_directories(server);
  return true;
}

// A few at a time, as their users can bring it about while everybody's polls wait.
void RunningKinetoThread::add_directories(KinetoServer& server) {
  std::vector<std::string> some;
  bool more = false;
  {
    const std::scoped_lock lock(mutex_);
    while (!directories_.empty() && some.size() < kDirectoriesAtOnce) {
      some.push_back(std::move(directories_.extract(directories_.begin()).value()));
    }
    more = !directories_.empty();
  }
  for (const std::string& directory : some) server.add_directory(directory);
  if (more) ::eventfd_write(wake_.get(), 1);
}

void RunningKinetoThread::put(ProcessKey key, Uid uid, TraceRequest request) {
  push(Mailbox::Item{.key = key, .uid = uid, .request = std::move(request)});
}

void RunningKinetoThread::withdraw(ProcessKey key, std::string trace_id) {
  push(Withdrawal{.key = key, .trace_id = std::move(trace_id)});
}

void RunningKinetoThread::add_directory(std::string directory) {
  {
    const std::scoped_lock lock(mutex_);
    if (directories_.size() >= kMaxDirectories) return;
    if (!directories_.insert(std::move(directory)).second) return;
  }
  ::eventfd_write(wake_.get(), 1);
}

void RunningKinetoThread::remove_directory(std::string directory) {
  {
    const std::scoped_lock lock(mutex_);
    directories_.erase(directory);
  }
  push(Removal{.directory = std::move(directory)});
}

bool RunningKinetoThread::alive() {
  const bool came_round = came_round_ == asked_;
  ++asked_;
  ::eventfd_write(wake_.get(), 1);
  return came_round;
}

}  // namespace

Result<std::unique_ptr<KinetoThread>> KinetoThread::start(
    KinetoThreadOptions options, SystemRoot root, const Clock& clock, Log& log,
    std::function<void(KinetoEvent)> on_event) {
  UniqueFd wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake.valid()) return fail_errno(errno, "eventfd");
  auto thread = std::make_unique<RunningKinetoThread>(std::move(options), std::move(root), clock,
                                                      log, std::move(on_event), std::move(wake));
  if (auto running = thread->run(); !running) return std::unexpected(std::move(running.error()));
  return thread;
}

}  // namespace dynolog
