// One request after the other: the host, the processes that were named, then all of them from the
// largest pid down. What hangs is passed over with a new worker.
#include "workers/host_scan.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "workers/procs_frames.h"
#include "workers/request_channel.h"

namespace dynolog {
namespace {

constexpr Nanoseconds kPatience = std::chrono::seconds(1);  // with one process, or the host
constexpr Nanoseconds kStart = std::chrono::seconds(1);     // of a worker, on a busy host

template <class T>
void sort_by_pid(std::vector<T>& items, Pid (*pid)(const T&)) {
  std::ranges::stable_sort(items, {}, pid);
  const auto repeated = std::ranges::unique(items, {}, pid);
  items.erase(repeated.begin(), repeated.end());
}

Pid pid_of_process(const ScannedProcess& process) { return process.facts.key.pid; }
Pid pid_of_tool(const ProfilingTool& tool) { return tool.pid; }

class HostScanImpl final : public HostScan {
 public:
  HostScanImpl(EventLoop& loop, const Clock& clock, Log& log, std::string executable,
               ScanOptions options, std::function<void(ScanOutcome)> done)
      : loop_(loop),
        clock_(clock),
        log_(log),
        executable_(std::move(executable)),
        options_(std::move(options)),
        done_(std::move(done)),
        until_(clock.monotonic() + options_.time) {
    options_.named.resize(std::min(options_.named.size(), kMaxNamedPids));
    options_.paths.resize(std::min(options_.paths.size(), kMaxLookedAtPaths));
    go_on();
  }
  ~HostScanImpl() override { *alive_ = false; }

 private:
  enum class Stage { host, named, all, end };

  // Never inside a callback of the channel that is to be replaced.
  void go_on() {
    loop_.post([this, alive = alive_] {
      if (*alive) step();
    });
  }

  void step() {
    if (stage_ == Stage::named && options_.named.empty()) stage_ = Stage::all;
    if (stage_ == Stage::end || out_of_bounds()) return finish();
    const bool fresh = !channel_;
    if (fresh && !start_worker()) return finish();
    const Nanoseconds left = until_ - clock_.monotonic();
    channel_->call(
        encode(request()), std::min(fresh ? kStart + kPatience : kPatience, left),
        [this](Result<std::string_view> body) {
          if (stage_ == Stage::host) {
            on_host(body);
          } else {
            on_processes(body);
          }
        },
        left);
  }

  ProcsRequest request() const {
    ProcsRequest request;
    if (stage_ == Stage::host) {
      request.verb = ProcsRequest::Verb::host_look;
      request.paths = options_.paths;
      return request;
    }
    request.verb = ProcsRequest::Verb::scan;
    request.key.pid = below_;
    request.uid = options_.only_of.value_or(Uid{});
    request.of_everybody = !options_.only_of;
    if (stage_ == Stage::named) request.pids = options_.named;
    return request;
  }

  bool start_worker() {
    auto channel = RequestChannel::start(
        loop_, log_,
        {.executable = executable_,
         .arguments = {"--worker=procs"},
         .account = options_.only_of ? std::to_string(options_.only_of->value) : ""},
        [this](std::string_view body) { on_looking(body); },
        [this](const Error&) {
          // The request under way has failed before, and said how to go on.
          channel_.reset();
          go_on();
        });
    if (channel) {
      channel_ = std::move(*channel);
      return true;
    }
    outcome_.incomplete = channel.error().message;
    if (!outcome_.host) outcome_.host_problem = channel.error().message;
    return false;
  }

  void on_looking(std::string_view body) {
    const auto pid = decode_looking(body);
    if (!pid) return;
    looking_ = *pid;
    channel_->extend();
  }

  void on_host(const Result<std::string_view>& body) {
    stage_ = Stage::named;
    auto look = body ? decode_host_look(*body) : std::unexpected(body.error());
    if (look) {
      outcome_.host = std::move(*look);
    } else {
      outcome_.host_problem = look.error().message;
    }
    if (body) go_on();
  }

  void on_processes(const Result<std::string_view>& body) {
    if (!body) return on_failure(body.error());
    auto reply = decode_scan(*body);
    if (!reply) {
      outcome_.incomplete = reply.error().message;
      stage_ = Stage::end;
      return go_on();
    }
    looked_at_ += reply->looked_at;
    outcome_.refused += reply->refused;
    std::ranges::move(reply->processes, std::back_inserter(outcome_.processes));
    std::ranges::move(reply->tools, std::back_inserter(outcome_.tools));
    // A worker that does not come down would keep us at it.
    const bool further = reply->next.value > 0 && (below_.value == 0 || reply->next < below_);
    if (further) {
      below_ = reply->next;
    } else {
      next_stage();
    }
    go_on();
  }

  // The worker's end follows, and goes on from there.
  void on_failure(const Error& error) {
    const bool passed_over = error.kind == ErrorKind::timed_out && looking_.value > 0 &&
                             (below_.value == 0 || looking_ < below_);
    if (!passed_over) {
      outcome_.incomplete = error.message;
      stage_ = Stage::end;
      return;
    }
    outcome_.hung.push_back(looking_);
    below_ = looking_;
  }

  void next_stage() {
    stage_ = stage_ == Stage::named ? Stage::all : Stage::end;
    below_ = {};
    looking_ = {};
  }

  bool out_of_bounds() {
    if (clock_.monotonic() >= until_) {
      outcome_.incomplete = "it took too long";
    } else if (looked_at_ >= kMaxLookedAt) {
      outcome_.incomplete = fmt::format("there are more than {} processes", kMaxLookedAt);
    } else if (outcome_.processes.size() >= kMaxScanned) {
      outcome_.incomplete = fmt::format("there are more than {} of interest", kMaxScanned);
    } else {
      return false;
    }
    return true;
  }

  void finish() {
    channel_.reset();
    sort_by_pid(outcome_.processes, &pid_of_process);
    sort_by_pid(outcome_.tools, &pid_of_tool);
    std::ranges::sort(outcome_.hung);
    const auto repeated = std::ranges::unique(outcome_.hung);
    outcome_.hung.erase(repeated.begin(), repeated.end());
    const auto done = std::move(done_);
    done(std::move(outcome_));
  }

  EventLoop& loop_;
  const Clock& clock_;
  Log& log_;
  std::string executable_;
  ScanOptions options_;
  std::function<void(ScanOutcome)> done_;
  MonotonicTime until_;
  Stage stage_ = Stage::host;
  Pid below_;
  Pid looking_;
  std::size_t looked_at_ = 0;
  ScanOutcome outcome_;
  std::unique_ptr<RequestChannel> channel_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace

std::unique_ptr<HostScan> HostScan::start(EventLoop& loop, const Clock& clock, Log& log,
                                          std::string executable, ScanOptions options,
                                          std::function<void(ScanOutcome)> done) {
  return std::make_unique<HostScanImpl>(loop, clock, log, std::move(executable), std::move(options),
                                        std::move(done));
}

}  // namespace dynolog
