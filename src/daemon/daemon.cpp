// Wires the parts together and shares out what they see.
#include "daemon/daemon.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <utility>
#include <variant>
#include <vector>

#include "collectors/all_collectors.h"
#include "daemon/caller_resolver.h"
#include "daemon/counter_snapshot.h"
#include "daemon/process_registry.h"
#include "daemon/run_directory.h"
#include "daemon/status_board.h"
#include "daemon/torch_facts_reader.h"
#include "daemon/trace_sessions.h"
#include "daemon/users.h"
#include "ipc/kineto_thread.h"
#include "metrics/pipeline.h"
#include "net/event_loop.h"
#include "rpc/server.h"
#include "sinks/all_sinks.h"
#include "workers/procs_worker.h"

namespace dynolog {
namespace {

constexpr auto kEndpointPatience = std::chrono::seconds(1);
// `dyno` waits 5 s by default, of which the planner may need 3.5 s.
constexpr auto kFactsPatience = std::chrono::seconds(1);
// Of the Kineto thread's polls, so that a flood does not pile up while the loop is busy.
constexpr std::size_t kMaxWaitingEvents = 20'000;

// Each client takes two descriptors; the RPC, the workers and the files keep theirs.
std::size_t clients_that_fit() {
  constexpr rlim_t kOthers = 1536;
  constexpr rlim_t kLeast = 64;
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return kLeast;
  return static_cast<std::size_t>(
      limit.rlim_cur > kOthers + 2 * kLeast ? (limit.rlim_cur - kOthers) / 2 : kLeast);
}

class WiredDaemon final : public Daemon {
 public:
  WiredDaemon(DaemonWorld world, Options options, RunDirectory run_directory)
      : world_(std::move(world)),
        options_(std::move(options)),
        run_directory_(std::move(run_directory)),
        users_(world_.root.etc + "/passwd"),
        procs_(ProcsWorker::make(loop_, world_.clock, world_.log, world_.executable)),
        unix_callers_(ProcsWorker::make(loop_, world_.clock, world_.log, world_.executable)),
        tcp_callers_(ProcsWorker::make(loop_, world_.clock, world_.log, world_.executable)),
        torch_(TorchFactsReader::make(loop_, world_.log, world_.executable)),
        resolver_(*unix_callers_, *tcp_callers_),
        status_({.clock = world_.clock,
                 .log = world_.log,
                 .root = world_.root,
                 .fixed = fixed_status(),
                 .fill = [this](rpc::StatusReply& reply) { fill_status(reply); }}),
        registry_(registry_world()) {}

  ~WiredDaemon() override {
    // The threads first: nothing may post into parts that are going.
    kineto_.reset();
    pipeline_.reset();
  }

  Status begin() {
    if (auto started = start_pipeline(); !started) return started;
    if (auto started = start_kineto(); !started) return started;
    sessions_.emplace(TraceSessions::World{
        .loop = loop_,
        .clock = world_.clock,
        .log = world_.log,
        .executable = world_.executable,
        .root = world_.root,
        .registry = registry_,
        .kineto = *kineto_,
        .journal_directory = run_directory_.journal(),
        .timeouts = {.staged = std::chrono::seconds(options_.sessions.staged_timeout_s),
                     .write = std::chrono::seconds(options_.sessions.write_timeout_s)},
        .publish = [this](Event event) { publish(std::move(event)); }});
    sessions_->restore_journal();
    start_rpc();
    return {};
  }

  void run() override {
    const Watch terminate = loop_.on_signal(SIGTERM, [this] { stop("SIGTERM"); });
    const Watch interrupt = loop_.on_signal(SIGINT, [this] { stop("SIGINT"); });
    const Watch hang_up = loop_.on_signal(SIGHUP, [this] { reload(); });
    world_.log.info("dynolog {} runs ({} mode, run directory {})", world_.version, mode(),
                    run_directory_.path());
    loop_.run();
  }

 private:
  [[nodiscard]] std::string mode() const { return world_.system_mode ? "system" : "user"; }

  [[nodiscard]] rpc::StatusReply fixed_status() const {
    rpc::StatusReply reply;
    reply.version = world_.version;
    reply.host = world_.host;
    reply.pid = ::getpid();
    reply.mode = mode();
    reply.run_dir = run_directory_.path();
    return reply;
  }

  [[nodiscard]] ProcessRegistry::World registry_world() {
    return {.loop = loop_,
            .clock = world_.clock,
            .log = world_.log,
            .root = world_.root,
            .procs = *procs_,
            .torch = *torch_,
            .users = users_,
            .run_directory = run_directory_,
            .publish = [this](Event event) { publish(std::move(event)); },
            .add_socket_directory =
                [this](std::string directory, std::function<void(Status)> done) {
                  add_socket_directory(std::move(directory), std::move(done));
                },
            .trace_state = [this](Pid pid) -> std::optional<TraceState> {
              return sessions_ ? sessions_->state_of(pid) : std::nullopt;
            },
            .patience = kFactsPatience};
  }

  Status start_pipeline() {
    auto collectors = make_collectors(
        {.root = world_.root,
         .read_counters = [this](const CounterVisitor& visit) { counters_.visit(visit); }},
        options_.metrics.disabled_collectors);
    if (!collectors) return std::unexpected(std::move(collectors.error()));
    SinkOptions sink_options;
    sink_options.json.enabled = options_.metrics.json;
    sink_options.json.file = options_.metrics.json_file;
    auto sinks = make_sinks(sink_options);
    if (!sinks) return std::unexpected(std::move(sinks.error()));
    PipelineOptions options;
    options.interval = std::chrono::seconds(options_.metrics.interval_s);
    auto pipeline = Pipeline::start(options, std::move(*collectors), std::move(*sinks),
                                    world_.clock, world_.log);
    if (!pipeline) return std::unexpected(std::move(pipeline.error()));
    pipeline_ = std::move(*pipeline);
    return {};
  }

  [[nodiscard]] bool wants_abstract_endpoint() {
    if (options_.kineto.abstract_endpoint) {
      if (!*options_.kineto.abstract_endpoint) {
        status_.set("kineto:abstract", "off", "by --noenable_ipc_monitor");
      }
      return *options_.kineto.abstract_endpoint;
    }
    if (world_.system_mode || !world_.system_daemon_installed) return true;
    status_.set("kineto:abstract", "off",
                "a system daemon is installed: jobs find this one by `dyno env`, or start it with "
                "--enable_ipc_monitor");
    return false;
  }

  // Before the jobs' sockets are made anew.
  void collect_user_directories() {
    if (!world_.system_mode) return;
    const auto removed = run_directory_.collect_user_directories(world_.root, world_.clock.wall());
    if (removed > 0) world_.log.info("{} unused socket directories of users removed", removed);
  }

  Status start_kineto() {
    KinetoThreadOptions options;
    options.abstract_endpoint = wants_abstract_endpoint();
    options.realtime = options_.kineto.realtime;
    options.directories = options_.kineto.socket_dirs;
    options.max_clients = std::min(options.max_clients, clients_that_fit());
    if (options_.kineto.user_directories) {
      collect_user_directories();
      for (std::string& directory : run_directory_.user_directories()) {
        options.directories.push_back(std::move(directory));
      }
    }
    auto kineto = KinetoThread::start(std::move(options), world_.root, world_.clock, world_.log,
                                      [this](KinetoEvent event) { take_over(std::move(event)); });
    if (!kineto) return std::unexpected(std::move(kineto.error()));
    kineto_ = std::move(*kineto);
    return {};
  }

  void start_rpc() {
    rpc::ServerOptions options;
    options.unix_path = run_directory_.rpc_socket();
    options.tcp_port = options_.rpc.port;
    options.tcp_address = options_.rpc.bind;
    options.auth = options_.rpc.auth;
    options.loopback_identity = options_.rpc.loopback_identity;
    options.loopback_root = options_.rpc.loopback_root;
    options.max_connections = static_cast<std::size_t>(options_.rpc.max_connections);
    options.idle_time = std::chrono::seconds(options_.rpc.idle_timeout_s);
    rpc_ = rpc::Server::start(loop_, world_.log, options,
                              {.status = status_, .processes = registry_, .traces = *sessions_},
                              resolver_);
    for (const auto& listening : rpc_->listening()) {
      status_.set("rpc:" + listening.name, listening.up ? "ok" : "degraded", listening.problem);
    }
  }

  void stop(std::string_view signal_name) {
    world_.log.info("{}: ends", signal_name);
    loop_.stop();
  }

  // New socket directories are taken up at once; what else has changed is named.
  void reload() {
    auto fresh = world_.reload();
    if (!fresh) {
      world_.log.error("SIGHUP: the configuration is not taken: {}", fresh.error().message);
      return;
    }
    for (const std::string& directory : fresh->kineto.socket_dirs) {
      const auto& known = options_.kineto.socket_dirs;
      if (std::find(known.begin(), known.end(), directory) == known.end()) {
        options_.kineto.socket_dirs.push_back(directory);
        kineto_->add_directory(directory);
      }
    }
    fresh->kineto.socket_dirs = options_.kineto.socket_dirs;
    const bool same = print_config(*fresh) == print_config(options_);
    world_.log.info("SIGHUP: configuration read anew{}",
                    same ? ""
                         : "; changes other than new socket directories count from the next "
                           "start");
  }

  void publish(Event event) {
    if (pipeline_) pipeline_->publish(std::move(event));
  }

  // On the Kineto thread. Only polls may be lost: the next one says the same again.
  void take_over(KinetoEvent event) {
    if (std::holds_alternative<KinetoPolled>(event) && waiting_events_ >= kMaxWaitingEvents) {
      ++dropped_polls_;
      return;
    }
    ++waiting_events_;
    loop_.post([this, event = std::move(event)] {
      --waiting_events_;
      on_kineto(event);
    });
  }

  void on_kineto(const KinetoEvent& event) {
    std::visit([this](const auto& what) { on(what); }, event);
    counters_.publish(kineto_->counters(), rpc_ ? rpc_->counters() : rpc::ServerCounters{});
  }
  void on(const KinetoPolled& polled) {
    registry_.on_polled(polled);
    sessions_->on_polled(polled);
  }
  void on(const KinetoEnded& ended) {
    registry_.on_ended(ended);
    sessions_->on_ended(ended);
  }
  void on(const KinetoHandedOver& event) { sessions_->on_handed_over(event); }
  void on(const KinetoReceipt& event) { sessions_->on_receipt(event); }
  void on(const KinetoNotHandedOver& event) { sessions_->on_not_handed_over(event); }
  void on(const KinetoWithdrawn& event) { sessions_->on_withdrawn(event); }
  void on(const KinetoRealtimeState& event) {
    status_.set("kineto:realtime", event.realtime ? "ok" : "degraded", event.sentence);
  }
  void on(const KinetoEndpointState& event) {
    const std::string problem = event.up ? "" : event.problem;
    const auto [known, first] = endpoint_problems_.try_emplace(event.endpoint);
    // Users can have it looked at as often as they like: only news is shown.
    const bool news = first || known->second != problem;
    known->second = problem;
    if (news) show_endpoint(event);
    const auto waiting = endpoint_waiters_.extract(event.endpoint);
    if (!waiting.empty()) answer_endpoint_waiters(event.endpoint, waiting.mapped());
  }

  // The status is for everybody, and whose directories there are is not: those are one feature.
  void show_endpoint(const KinetoEndpointState& event) {
    const std::string users = run_directory_.path() + "/u/";
    if (!event.endpoint.starts_with(users)) {
      status_.set("kineto:" + event.endpoint, event.up ? "ok" : "degraded", event.problem);
      return;
    }
    if (!event.up) world_.log.warning("kineto:{}: {}", event.endpoint, event.problem);
    std::size_t all = 0;
    std::size_t unusable = 0;
    for (const auto& [endpoint, problem] : endpoint_problems_) {
      if (!endpoint.starts_with(users)) continue;
      ++all;
      if (!problem.empty()) ++unusable;
    }
    status_.set("kineto:user directories", unusable == 0 ? "ok" : "degraded",
                unusable == 0 ? ""
                              : fmt::format("{} of {} cannot be used; the daemon's log says why",
                                            unusable, all));
  }

  using EndpointWaiters = std::vector<std::function<void(Status)>>;

  void answer_endpoint_waiters(const std::string& endpoint, const EndpointWaiters& waiters) {
    const std::string& problem = endpoint_problems_[endpoint];
    for (const auto& done : waiters) {
      if (problem.empty()) {
        done({});
      } else {
        done(fail(ErrorKind::unavailable, problem));
      }
    }
  }

  void add_socket_directory(std::string directory, std::function<void(Status)> done) {
    // Also where it was up: what lies there may be another's by now, and the thread looks anew.
    endpoint_waiters_[directory].push_back(std::move(done));
    endpoint_patience_[directory] = loop_.after(kEndpointPatience, [this, directory] {
      const auto waiting = endpoint_waiters_.extract(directory);
      if (waiting.empty()) return;
      for (const auto& waiter : waiting.mapped()) {
        waiter(
            fail(ErrorKind::timed_out, "no socket could be opened in " + directory + " in time"));
      }
    });
    kineto_->add_directory(std::move(directory));
  }

  void fill_status(rpc::StatusReply& reply) {
    reply.processes = registry_.table().size();
    reply.sessions = sessions_->active();
    for (const auto& state : pipeline_->states()) {
      reply.collectors.push_back({.name = state.name,
                                  .kind = state.kind,
                                  .last_duration_s = state.last_duration_s,
                                  .successes = state.successes,
                                  .failures = state.failures,
                                  .last_error = state.last_error});
    }
    counters_.publish(kineto_->counters(), rpc_->counters());
    counters_.visit([&reply](std::string_view name, std::uint64_t value) {
      reply.counters.emplace_back(name, value);
    });
    reply.counters.emplace_back("kineto_clients", kineto_->counters().clients);
    reply.counters.emplace_back("kineto_polls_dropped", dropped_polls_);
    reply.counters.emplace_back("rpc_connections", rpc_->counters().connections);
  }

  DaemonWorld world_;
  Options options_;
  RunDirectory run_directory_;
  Users users_;
  CounterSnapshot counters_;
  EventLoop loop_;
  std::unique_ptr<ProcsWorker> procs_;
  // Of their own: whoever makes another one hang must not keep callers, root among them, from being
  // known. They start with the first caller.
  std::unique_ptr<ProcsWorker> unix_callers_;
  std::unique_ptr<ProcsWorker> tcp_callers_;
  std::unique_ptr<TorchFactsReader> torch_;
  ProcsCallerResolver resolver_;
  StatusBoard status_;
  std::unique_ptr<Pipeline> pipeline_;
  ProcessRegistry registry_;
  std::map<std::string, std::string> endpoint_problems_;  // "" when it is up
  std::map<std::string, EndpointWaiters> endpoint_waiters_;
  std::map<std::string, Timer> endpoint_patience_;
  std::atomic<std::size_t> waiting_events_ = 0;
  std::atomic<std::uint64_t> dropped_polls_ = 0;
  std::unique_ptr<KinetoThread> kineto_;
  std::optional<TraceSessions> sessions_;
  std::unique_ptr<rpc::Server> rpc_;
};

}  // namespace

Result<std::unique_ptr<Daemon>> Daemon::start(DaemonWorld world, Options options) {
  const std::string path =
      options.run_dir.empty()
          ? default_run_directory(world.system_mode, world.uid, world.xdg_runtime_dir)
          : options.run_dir;
  auto run_directory = RunDirectory::open(path, world.system_mode);
  if (!run_directory) return std::unexpected(std::move(run_directory.error()));
  auto daemon = std::make_unique<WiredDaemon>(std::move(world), std::move(options),
                                              std::move(*run_directory));
  if (auto begun = daemon->begin(); !begun) return std::unexpected(std::move(begun.error()));
  return daemon;
}

}  // namespace dynolog
