// The daemon's side of the procs worker: a queue, one request under way, and a new worker for one
// that ended.
#include "workers/procs_worker.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <utility>

#include "workers/back_off.h"
#include "workers/procs_frames.h"
#include "workers/request_channel.h"

namespace dynolog {
namespace {

constexpr Nanoseconds kDeadline = std::chrono::seconds(2);
// A caller is not kept waiting for a worker that will not be there for long.
constexpr Nanoseconds kCallersWait = std::chrono::seconds(1);

using FactsDone = std::function<void(Result<ProcessFacts>)>;
using HoldersDone = std::function<void(Result<std::vector<SocketHolder>>)>;

struct CallerRequest {
  ProcsRequest request;
  HoldersDone done;

  [[nodiscard]] Uid uid() const { return request.uid; }
};

class ProcsWorkerImpl final : public ProcsWorker {
 public:
  ProcsWorkerImpl(EventLoop& loop, const Clock& clock, Log& log, std::string executable)
      : loop_(loop), clock_(clock), log_(log), executable_(std::move(executable)) {}
  ~ProcsWorkerImpl() override { *alive_ = false; }

  void facts(ProcessKey key, FactsDone done) override {
    if (current_facts_ && *current_facts_ == key) {
      facts_waiting_[key].push_back(std::move(done));
      return;
    }
    const auto found = facts_waiting_.find(key);
    if (found == facts_waiting_.end()) {
      if (full()) return refuse<ProcessFacts>(std::move(done));
      facts_order_.push_back(key);
      facts_waiting_[key].push_back(std::move(done));
    } else if (found->second.size() >= kMaxSameFacts) {
      return refuse<ProcessFacts>(std::move(done));
    } else {
      found->second.push_back(std::move(done));
    }
    pump_soon();
  }

  void socket_holders(std::uint32_t inode, Uid uid, HoldersDone done) override {
    const auto of_user = std::ranges::count(searches_, uid, &CallerRequest::uid);
    if (static_cast<std::size_t>(of_user) >= kMaxSearchesOfUser) {
      return refuse<std::vector<SocketHolder>>(std::move(done));
    }
    add_caller(searches_,
               {{.verb = ProcsRequest::Verb::socket_holders, .key = {}, .inode = inode, .uid = uid},
                std::move(done)});
  }

  void holder_facts(Pid pid, std::function<void(Result<SocketHolder>)> done) override {
    add_caller(callers_,
               {{.verb = ProcsRequest::Verb::holder_facts, .key = {pid, 0}, .inode = 0, .uid = {}},
                [pid, done = std::move(done)](Result<std::vector<SocketHolder>> holders) {
                  if (!holders) return done(std::unexpected(std::move(holders.error())));
                  if (holders->size() != 1 || holders->front().key.pid != pid) {
                    return done(fail(ErrorKind::failed, "the worker answered for another process"));
                  }
                  done(std::move(holders->front()));
                }});
  }

  std::uint64_t restarts() const override { return restarts_; }

 private:
  static constexpr std::size_t kMaxSameFacts = 16;

  bool full() const {
    return facts_order_.size() + callers_.size() + searches_.size() >= kMaxWaitingProcsRequests;
  }

  template <class T, class Done>
  void refuse(Done done) {
    post([done = std::move(done)] {
      done(Result<T>(fail(ErrorKind::exhausted, "too many requests wait for the procs worker")));
    });
  }

  void post(std::function<void()> work) {
    loop_.post([alive = alive_, work = std::move(work)] {
      if (*alive) work();
    });
  }

  void add_caller(std::deque<CallerRequest>& queue, CallerRequest request) {
    if (full()) return refuse<std::vector<SocketHolder>>(std::move(request.done));
    queue.push_back(std::move(request));
    if (waiting_long_) fail_callers();
    pump_soon();
  }

  void pump_soon() {
    if (std::exchange(pump_posted_, true)) return;
    post([this] {
      pump_posted_ = false;
      pump();
    });
  }

  void pump() {
    if (restart_.armed() || (callers_.empty() && searches_.empty() && facts_order_.empty())) return;
    if (channel_ && channel_->busy()) return;
    if (!channel_ && !start()) return;
    if (!callers_.empty()) {
      call_caller(callers_, callers_.begin());
    } else if (!searches_.empty()) {
      call_search();
    } else {
      call_facts();
    }
  }

  bool start() {
    auto channel = RequestChannel::start(
        loop_, log_, {.executable = executable_, .arguments = {"--worker=procs"}},
        [this](std::string_view body) { on_early(body); },
        [this](const Error& why) { on_end(why); });
    if (channel) {
      channel_ = std::move(*channel);
      return true;
    }
    on_end(channel.error());
    return false;
  }

  // By turns: who has many searches waiting, each of which may take a second, does not keep the
  // others waiting for more than one.
  void call_search() {
    const auto of_another = std::ranges::find_if(
        searches_, [&](const CallerRequest& request) { return request.uid() != last_searched_; });
    const auto next = of_another == searches_.end() ? searches_.begin() : of_another;
    last_searched_ = next->uid();
    call_caller(searches_, next);
    others_may_be_slow_ = true;
  }

  void call_caller(std::deque<CallerRequest>& queue, std::deque<CallerRequest>::iterator which) {
    const CallerRequest next = std::move(*which);
    queue.erase(which);
    others_may_be_slow_ = false;
    channel_->call(encode(next.request), kDeadline,
                   [this, done = next.done](Result<std::string_view> body) {
                     pump_soon();
                     if (body) {
                       done(decode_holders(*body));
                     } else {
                       done(std::unexpected(body.error()));
                     }
                   });
  }

  void call_facts() {
    const ProcessKey key = facts_order_.front();
    facts_order_.pop_front();
    current_facts_ = key;
    early_.reset();
    others_may_be_slow_ = false;
    const ProcsRequest request{
        .verb = ProcsRequest::Verb::facts, .key = key, .inode = 0, .uid = {}};
    channel_->call(encode(request), kDeadline, [this, key](Result<std::string_view> body) {
      pump_soon();
      finish_facts(key, facts_from(key, body));
    });
  }

  Result<ProcessFacts> facts_from(const ProcessKey& key, const Result<std::string_view>& body) {
    if (!body) {
      if (!early_) return std::unexpected(body.error());
      early_->missing.push_back("descriptors, command line, environment and mapped files: " +
                                body.error().message);
      return std::move(*early_);
    }
    auto facts = decode_facts(*body);
    if (facts && facts->key != key) {
      return fail(ErrorKind::failed, "the worker answered for another process");
    }
    return facts;
  }

  void finish_facts(const ProcessKey& key, const Result<ProcessFacts>& facts) {
    current_facts_.reset();
    early_.reset();
    const auto waiting = facts_waiting_.extract(key);
    if (waiting.empty()) return;
    const auto alive = alive_;
    for (const FactsDone& done : waiting.mapped()) {
      done(facts);
      if (!*alive) return;
    }
  }

  void on_early(std::string_view body) {
    auto facts = decode_facts(body);
    if (!facts || !current_facts_ || facts->key != *current_facts_) return;
    early_ = std::move(*facts);
    others_may_be_slow_ = true;
  }

  void on_end(const Error& why) {
    channel_.reset();
    ++restarts_;
    Nanoseconds wait{};
    // A process that hangs, as any user can make one, is not to cost the others the worker. Each
    // takes the whole deadline, so this is not fast.
    if (why.kind == ErrorKind::timed_out && others_may_be_slow_) {
      log_.info("procs worker: {}; starting another", why.message);
    } else {
      wait = back_off_.on_end(clock_.monotonic());
      log_.warning("procs worker: {}; starting another in {} ms", why.message,
                   std::chrono::duration_cast<Milliseconds>(wait).count());
    }
    waiting_long_ = wait > kCallersWait;
    restart_ = loop_.after(wait, [this] {
      waiting_long_ = false;
      pump_soon();
    });
    if (waiting_long_) fail_callers();
  }

  void fail_callers() {
    for (auto* queue : {&callers_, &searches_}) {
      for (CallerRequest& request : std::exchange(*queue, {})) {
        post([done = std::move(request.done)] {
          done(fail(ErrorKind::unavailable, "the procs worker keeps ending; see the daemon's log"));
        });
      }
    }
  }

  EventLoop& loop_;
  const Clock& clock_;
  Log& log_;
  std::string executable_;
  std::unique_ptr<RequestChannel> channel_;
  std::deque<CallerRequest> callers_;   // holder_facts
  std::deque<CallerRequest> searches_;  // socket_holders
  std::optional<Uid> last_searched_;
  std::deque<ProcessKey> facts_order_;  // each is a key of facts_waiting_
  std::map<ProcessKey, std::vector<FactsDone>> facts_waiting_;
  std::optional<ProcessKey> current_facts_;
  std::optional<ProcessFacts> early_;  // of current_facts_
  bool others_may_be_slow_ = false;    // what is read now depends on other processes
  BackOff back_off_;
  Timer restart_;
  bool waiting_long_ = false;
  bool pump_posted_ = false;
  std::uint64_t restarts_ = 0;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace

std::unique_ptr<ProcsWorker> ProcsWorker::make(EventLoop& loop, const Clock& clock, Log& log,
                                               std::string executable) {
  return std::make_unique<ProcsWorkerImpl>(loop, clock, log, std::move(executable));
}

}  // namespace dynolog
