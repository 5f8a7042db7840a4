// The daemon's side of the mounts worker: at most one request of each kind, and a new worker for
// one that ended.
#include "workers/mounts_worker.h"

#include <deque>
#include <utility>

#include "workers/back_off.h"
#include "workers/mounts_frames.h"
#include "workers/request_channel.h"

namespace dynolog {
namespace {

// Longer than the worker takes at most.
constexpr Nanoseconds kDeadline = std::chrono::seconds(15);

using MountsDone = std::function<void(Result<std::vector<MountUsage>>)>;
using FilesDone = std::function<void(Result<std::vector<TextFile>>)>;
using UnitsDone = std::function<void(Result<std::vector<UnitState>>)>;

// Joins the parts of files. False: it breaks the rules, or a bound.
bool add_part(TextFilePart part, std::vector<TextFile>& files) {
  if (part.path.empty()) return false;
  if (files.empty() || files.back().path != part.path) {
    if (files.size() >= kMaxTextFiles) return false;
    files.push_back({.path = std::move(part.path),
                     .modified_s = part.modified_s,
                     .text = {},
                     .problem = std::move(part.problem)});
  }
  files.back().text += part.bytes;
  // The reader stops at the first byte past it, or a chunk later.
  return files.back().text.size() <= kMaxTextFileBytes + kTextFilePartBytes;
}

class MountsWorkerImpl final : public MountsWorker {
 public:
  MountsWorkerImpl(EventLoop& loop, const Clock& clock, Log& log, std::string executable)
      : loop_(loop), clock_(clock), log_(log), executable_(std::move(executable)) {}
  ~MountsWorkerImpl() override { *alive_ = false; }

  void file_systems(const NameFilterOptions& mount_points, const NameFilterOptions& types,
                    MountsDone done) override {
    mounts_done_.push_back(std::move(done));
    if (mounts_done_.size() > 1) return;
    ask({.verb = MountsRequest::Verb::file_systems,
         .mount_points = mount_points,
         .types = types,
         .directory = {},
         .units = {}});
  }

  void text_files(const std::string& directory, FilesDone done) override {
    files_done_.push_back(std::move(done));
    if (files_done_.size() > 1) return;
    ask({.verb = MountsRequest::Verb::text_files,
         .mount_points = {},
         .types = {},
         .directory = directory,
         .units = {}});
  }

  void units(const std::vector<std::string>& names, UnitsDone done) override {
    units_done_.push_back(std::move(done));
    if (units_done_.size() > 1) return;
    ask({.verb = MountsRequest::Verb::units,
         .mount_points = {},
         .types = {},
         .directory = {},
         .units = names});
  }

  std::uint64_t restarts() const override { return restarts_; }

 private:
  void ask(MountsRequest request) {
    waiting_.push_back(std::move(request));
    pump_soon();
  }

  void pump_soon() {
    loop_.post([this, alive = alive_] {
      if (*alive) pump();
    });
  }

  void pump() {
    if (restart_.armed() || waiting_.empty() || (channel_ && channel_->busy())) return;
    if (!channel_ && !start()) return;
    const MountsRequest request = std::move(waiting_.front());
    waiting_.pop_front();
    mounts_.clear();
    files_.clear();
    broken_ = false;
    verb_ = request.verb;
    channel_->call(encode(request), kDeadline, [this](const Result<std::string_view>& body) {
      pump_soon();
      switch (verb_) {
        case MountsRequest::Verb::file_systems:
          return tell(mounts_done_, mounts_from(body));
        case MountsRequest::Verb::text_files:
          return tell(files_done_, files_from(body));
        case MountsRequest::Verb::units:
          return tell(units_done_, units_from(body));
      }
    });
  }

  bool start() {
    auto channel = RequestChannel::start(
        loop_, log_, {.executable = executable_, .arguments = {"--worker=mounts"}},
        [this](std::string_view body) { on_part(body); },
        [this](const Error& why) { on_end(why); });
    if (channel) {
      channel_ = std::move(*channel);
      return true;
    }
    fail_next(channel.error());
    on_end(channel.error());
    return false;
  }

  // Who waits is told: it asks again at its own pace.
  void fail_next(const Error& why) {
    const MountsRequest request = std::move(waiting_.front());
    waiting_.pop_front();
    loop_.post([this, alive = alive_, verb = request.verb, why] {
      if (!*alive) return;
      switch (verb) {
        case MountsRequest::Verb::file_systems:
          return tell(mounts_done_, Result<std::vector<MountUsage>>(std::unexpected(why)));
        case MountsRequest::Verb::text_files:
          return tell(files_done_, Result<std::vector<TextFile>>(std::unexpected(why)));
        case MountsRequest::Verb::units:
          return tell(units_done_, Result<std::vector<UnitState>>(std::unexpected(why)));
      }
    });
  }

  void on_part(std::string_view body) {
    if (!channel_ || !channel_->busy() || broken_) return;
    if (verb_ == MountsRequest::Verb::file_systems) {
      auto mounts = decode_mounts(body);
      broken_ = !mounts || mounts_.size() + mounts->size() > kMaxMounts;
      if (!broken_) std::ranges::move(*mounts, std::back_inserter(mounts_));
    } else if (verb_ == MountsRequest::Verb::text_files) {
      auto part = decode_text_file_part(body);
      broken_ = !part || !add_part(std::move(*part), files_);
    } else {
      broken_ = true;  // units come in one piece
    }
  }

  Result<std::vector<MountUsage>> mounts_from(const Result<std::string_view>& body) {
    if (!body) return std::unexpected(body.error());
    auto last = decode_mounts(*body);
    if (!last) return std::unexpected(std::move(last.error()));
    if (broken_ || mounts_.size() + last->size() > kMaxMounts) return broken_answer();
    std::ranges::move(*last, std::back_inserter(mounts_));
    return std::exchange(mounts_, {});
  }

  Result<std::vector<TextFile>> files_from(const Result<std::string_view>& body) {
    if (!body) return std::unexpected(body.error());
    const auto last = decode_text_file_part(*body);
    if (!last) return std::unexpected(last.error());
    if (broken_ || !last->path.empty()) return broken_answer();
    return std::exchange(files_, {});
  }

  Result<std::vector<UnitState>> units_from(const Result<std::string_view>& body) const {
    if (!body) return std::unexpected(body.error());
    if (broken_) return broken_answer();
    return decode_units(*body);
  }

  static std::unexpected<Error> broken_answer() {
    return fail(ErrorKind::invalid, "the mounts worker's answer breaks the rules");
  }

  template <class Done, class Answer>
  void tell(std::vector<Done>& waiting, const Answer& answer) {
    const auto alive = alive_;
    for (const Done& done : std::exchange(waiting, {})) {
      done(answer);
      if (!*alive) return;
    }
  }

  void on_end(const Error& why) {
    channel_.reset();
    ++restarts_;
    const Nanoseconds wait = back_off_.on_end(clock_.monotonic());
    log_.warning("mounts worker: {}; starting another in {} ms", why.message,
                 std::chrono::duration_cast<Milliseconds>(wait).count());
    restart_ = loop_.after(wait, [this] { pump_soon(); });
  }

  EventLoop& loop_;
  const Clock& clock_;
  Log& log_;
  std::string executable_;
  std::unique_ptr<RequestChannel> channel_;
  std::deque<MountsRequest> waiting_;
  std::vector<MountsDone> mounts_done_;
  std::vector<FilesDone> files_done_;
  std::vector<UnitsDone> units_done_;
  MountsRequest::Verb verb_{};  // of the request under way, and what has come of its answer
  std::vector<MountUsage> mounts_;
  std::vector<TextFile> files_;
  bool broken_ = false;
  BackOff back_off_;
  Timer restart_;
  std::uint64_t restarts_ = 0;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace

std::unique_ptr<MountsWorker> MountsWorker::make(EventLoop& loop, const Clock& clock, Log& log,
                                                 std::string executable) {
  return std::make_unique<MountsWorkerImpl>(loop, clock, log, std::move(executable));
}

}  // namespace dynolog
