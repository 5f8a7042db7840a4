// The daemon's side of a files worker: requests one after the other, events as they come.
#include "workers/files_worker.h"

#include <fmt/format.h>

#include <deque>
#include <utility>

#include "workers/files_frames.h"
#include "workers/request_channel.h"

namespace dynolog {
namespace {

// A user waits for these; the directory's file system may hang.
constexpr Nanoseconds kPrepareDeadline = std::chrono::seconds(10);
// A check of a large file may go before the next answer; the library is half a gigabyte.
constexpr Nanoseconds kDeadline = std::chrono::seconds(60);
constexpr std::size_t kMaxWaiting = 4 * kMaxFilesIdentities;

class FilesWorkerImpl final : public FilesWorker {
 public:
  using OnReply = RequestChannel::OnReply;

  FilesWorkerImpl(EventLoop& loop, OnEvent on_event, std::function<void(std::string)> on_end)
      : loop_(loop), on_event_(std::move(on_event)), on_end_(std::move(on_end)) {}
  ~FilesWorkerImpl() override { *alive_ = false; }

  Status begin(Log& log, std::string executable, std::vector<FilesIdentity> identities) {
    auto channel = RequestChannel::start(
        loop_, log,
        {.executable = std::move(executable),
         .arguments = {"--worker=files"},
         .account = std::to_string(identities.front().uid.value)},
        [this](std::string_view body) { on_event(body); },
        [this](Error why) { end(std::move(why.message)); });
    if (!channel) return std::unexpected(std::move(channel.error()));
    channel_ = std::move(*channel);
    add({.verb = FilesRequest::Verb::identities,
         .pid = {},
         .path = {},
         .detail = {},
         .identities = std::move(identities)},
        [this](Result<std::string_view> body) {
          if (!body) return;  // the end is told by itself
          if (const Status taken = decode_status(*body); !taken) end(taken.error().message);
        });
    return {};
  }

  void prepare(Pid pid, std::string path,
               std::function<void(Result<PreparedDirectory>)> done) override {
    add(request(FilesRequest::Verb::prepare, pid, std::move(path), {}),
        decoded<PreparedDirectory>(decode_prepared, std::move(done)));
  }

  void watch(Pid pid, std::string path, std::string trace_id, Expect expect) override {
    const auto verb =
        expect == Expect::snapshot ? FilesRequest::Verb::watch_snapshot : FilesRequest::Verb::watch;
    add(request(verb, pid, std::move(path), std::move(trace_id)),
        [this, pid](Result<std::string_view> body) {
          const Status watched = body ? decode_status(*body) : std::unexpected(body.error());
          if (watched) return;
          const OnEvent on_event = on_event_;
          on_event({.pid = pid,
                    .what = FileEvent::What::unwatchable,
                    .check = {},
                    .problem = watched.error().message});
        });
  }

  void unwatch(Pid pid) override {
    add(request(FilesRequest::Verb::unwatch, pid, {}, {}), [](Result<std::string_view>) {});
  }

  void torch_library_id(Pid pid, std::string library,
                        std::function<void(Result<std::string>)> done) override {
    add(request(FilesRequest::Verb::library_id, pid, std::move(library), {}),
        decoded<std::string>(decode_library_id, std::move(done)));
  }

  void torch_facts(Pid pid, std::string library, std::string kineto_config,
                   std::function<void(Result<TorchFacts>)> done) override {
    add(request(FilesRequest::Verb::torch_facts, pid, std::move(library), std::move(kineto_config)),
        decoded<TorchFacts>(decode_torch, std::move(done)));
  }

 private:
  struct Waiting {
    std::string body;
    Nanoseconds deadline;
    OnReply done;
  };

  static FilesRequest request(FilesRequest::Verb verb, Pid pid, std::string path,
                              std::string detail) {
    return {.verb = verb,
            .pid = pid,
            .path = std::move(path),
            .detail = std::move(detail),
            .identities = {}};
  }

  template <class T>
  static OnReply decoded(Result<T> (*decode)(std::string_view),
                         std::function<void(Result<T>)> done) {
    return [decode, done = std::move(done)](Result<std::string_view> body) {
      done(body ? decode(*body) : std::unexpected(body.error()));
    };
  }

  void post(std::function<void()> work) {
    loop_.post([alive = alive_, work = std::move(work)] {
      if (*alive) work();
    });
  }

  void add(const FilesRequest& request, OnReply done) {
    if (ended_ || waiting_.size() >= kMaxWaiting) {
      post([ended = ended_, why = why_, done = std::move(done)] {
        done(ended ? fail(ErrorKind::unavailable, why)
                   : fail(ErrorKind::exhausted, "too many requests wait for the files worker"));
      });
      return;
    }
    const bool prepares = request.verb == FilesRequest::Verb::prepare ||
                          request.verb == FilesRequest::Verb::identities;
    waiting_.push_back({encode(request), prepares ? kPrepareDeadline : kDeadline, std::move(done)});
    pump();
  }

  void pump() {
    if (ended_ || channel_->busy() || waiting_.empty()) return;
    Waiting next = std::move(waiting_.front());
    waiting_.pop_front();
    channel_->call(next.body, next.deadline,
                   [this, done = std::move(next.done)](Result<std::string_view> body) {
                     const auto alive = alive_;
                     done(body);
                     // After an error comes end().
                     if (*alive && body) pump();
                   });
  }

  void on_event(std::string_view body) {
    auto event = decode_file_event(body);
    if (!event) {
      end(event.error().message);
      return;
    }
    channel_->extend();
    const OnEvent on_event = on_event_;  // which may end this object
    on_event(std::move(*event));
  }

  void end(std::string why) {
    if (std::exchange(ended_, true)) return;
    channel_.reset();
    why_ = std::move(why);
    const auto alive = alive_;
    for (const Waiting& waiting : std::exchange(waiting_, {})) {
      waiting.done(fail(ErrorKind::unavailable, why_));
      if (!*alive) return;
    }
    const auto on_end = std::exchange(on_end_, nullptr);
    on_end(why_);
  }

  EventLoop& loop_;
  OnEvent on_event_;
  std::function<void(std::string)> on_end_;
  std::unique_ptr<RequestChannel> channel_;
  std::deque<Waiting> waiting_;
  bool ended_ = false;
  std::string why_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace

Result<std::unique_ptr<FilesWorker>> FilesWorker::start(
    EventLoop& loop, Log& log, std::string executable, std::vector<FilesIdentity> identities,
    OnEvent on_event, std::function<void(std::string why)> on_end) {
  if (identities.empty() || identities.size() > kMaxFilesIdentities) {
    return fail(ErrorKind::invalid,
                fmt::format("a files worker serves 1 to {} processes", kMaxFilesIdentities));
  }
  auto worker = std::make_unique<FilesWorkerImpl>(loop, std::move(on_event), std::move(on_end));
  auto begun = worker->begin(log, std::move(executable), std::move(identities));
  if (!begun) return std::unexpected(std::move(begun.error()));
  return worker;
}

}  // namespace dynolog
