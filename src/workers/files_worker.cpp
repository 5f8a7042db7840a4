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
// Without a sign of progress. A check of a large file may go before the next answer; the library is
// half a gigabyte.
constexpr Nanoseconds kDeadline = std::chrono::seconds(60);
constexpr std::size_t kMaxWaiting = 4 * kMaxFilesIdentities;
constexpr std::size_t kNumberRoom = 32;  // of a request in its frame

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
    FilesRequest first = request(FilesRequest::Verb::identities, {});
    first.identities = std::move(identities);
    add(first, [this](Result<std::string_view> body) {
      if (!body) return;  // the end is told by itself
      if (const Status taken = decode_status(*body); !taken) end(taken.error().message);
    });
    return {};
  }

  void prepare(Pid pid, PlacesAsked places,
               std::function<void(Result<PreparedPlaces>)> done) override {
    FilesRequest asked = request(FilesRequest::Verb::prepare, pid);
    asked.places = std::move(places);
    add(asked, decoded<PreparedPlaces>(decode_prepared, std::move(done)));
  }

  void watch(Pid pid, std::string trace_id, Expect expect) override {
    FilesRequest asked = request(FilesRequest::Verb::watch, pid);
    asked.trace_id = std::move(trace_id);
    asked.expect = expect;
    add(asked, decoded<void>(decode_status, [this, pid](const Status& watched) {
          if (watched) return;
          FileEvent event;
          event.pid = pid;
          event.what = FileEvent::What::unwatchable;
          event.problem = watched.error().message;
          const OnEvent on_event = on_event_;  // which may end this object
          on_event(std::move(event));
        }));
  }

  void unwatch(Pid pid) override {
    add(request(FilesRequest::Verb::unwatch, pid), [](Result<std::string_view>) {});
  }

  void deliver(Pid pid, DeliveryOrder order,
               std::function<void(Result<DeliveredFile>)> done) override {
    FilesRequest asked = request(FilesRequest::Verb::deliver, pid);
    asked.order = std::move(order);
    add(asked, decoded<DeliveredFile>(decode_delivered, std::move(done)));
  }

  void complete(Pid pid, std::string distributed_info, std::function<void(Status)> done) override {
    FilesRequest asked = request(FilesRequest::Verb::complete, pid);
    asked.distributed_info = std::move(distributed_info);
    add(asked, decoded<void>(decode_status, std::move(done)));
  }

  void read_chunk(Pid pid, std::uint64_t offset,
                  std::function<void(Result<FileChunk>)> done) override {
    FilesRequest asked = request(FilesRequest::Verb::read_chunk, pid);
    asked.offset = offset;
    add(asked, [offset, done = std::move(done)](Result<std::string_view> body) {
      auto chunk = body ? decode_chunk(*body) : std::unexpected(body.error());
      if (chunk && chunk->offset != offset) {
        done(fail(ErrorKind::failed, "the files worker gave another piece than asked for"));
      } else {
        done(std::move(chunk));
      }
    });
  }

  void release(Pid pid, std::function<void(Status)> done) override {
    add(request(FilesRequest::Verb::release, pid), decoded<void>(decode_status, std::move(done)));
  }

  void discard(Pid pid, Discard when, std::function<void(Result<bool>)> removed) override {
    FilesRequest asked = request(FilesRequest::Verb::discard, pid);
    asked.discard = when;
    add(asked, decoded<bool>(decode_discarded, std::move(removed)));
  }

  void torch_library_id(Pid pid, std::string library,
                        std::function<void(Result<std::string>)> done) override {
    FilesRequest asked = request(FilesRequest::Verb::library_id, pid);
    asked.library = std::move(library);
    add(asked, decoded<std::string>(decode_library_id, std::move(done)));
  }

  void torch_facts(Pid pid, std::string library, std::string kineto_config,
                   std::function<void(Result<TorchFacts>)> done) override {
    FilesRequest asked = request(FilesRequest::Verb::torch_facts, pid);
    asked.library = std::move(library);
    asked.kineto_config = std::move(kineto_config);
    add(asked, decoded<TorchFacts>(decode_torch, std::move(done)));
  }

 private:
  struct Waiting {
    std::string body;
    Nanoseconds deadline;
    OnReply done;
  };

  static FilesRequest request(FilesRequest::Verb verb, Pid pid) {
    FilesRequest request;
    request.verb = verb;
    request.pid = pid;
    return request;
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

  void fail_later(Error error, OnReply done) {
    post([error = std::move(error), done = std::move(done)] { done(std::unexpected(error)); });
  }

  void add(const FilesRequest& request, OnReply done) {
    if (ended_) return fail_later({ErrorKind::unavailable, why_}, std::move(done));
    if (waiting_.size() >= kMaxWaiting) {
      return fail_later({ErrorKind::exhausted, "too many requests wait for the files worker"},
                        std::move(done));
    }
    std::string body = encode(request);
    // What the worker would not take would end it.
    if (body.size() + kNumberRoom > kMaxWorkerFrame || !decode_files_request(body)) {
      return fail_later({ErrorKind::invalid, "a path, or what is to be added, is too long"},
                        std::move(done));
    }
    const bool prepares = request.verb == FilesRequest::Verb::prepare ||
                          request.verb == FilesRequest::Verb::identities;
    waiting_.push_back({std::move(body), prepares ? kPrepareDeadline : kDeadline, std::move(done)});
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
