// Wires the parts together and shares out what they see.
#include "daemon/daemon.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/text.h"
#include "daemon/caller_resolver.h"
#include "daemon/counter_snapshot.h"
#include "daemon/diagnosis_service.h"
#include "daemon/history_service.h"
#include "daemon/kineto_endpoints.h"
#include "daemon/log_level_control.h"
#include "daemon/measuring.h"
#include "daemon/own_cost.h"
#include "daemon/own_directory.h"
#include "daemon/process_registry.h"
#include "daemon/reload.h"
#include "daemon/run_directory.h"
#include "daemon/service_report.h"
#include "daemon/socket_keeper.h"
#include "daemon/status_board.h"
#include "daemon/torch_facts_reader.h"
#include "daemon/trace_sessions.h"
#include "daemon/trace_store.h"
#include "daemon/users.h"
#include "daemon/worker_cgroup.h"
#include "ipc/kineto_thread.h"
#include "net/event_loop.h"
#include "rpc/server.h"
#include "workers/mounts_worker.h"
#include "workers/procs_worker.h"

namespace dynolog {
namespace {

constexpr std::size_t kMaxStatusLine = 1000;
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

ProcessTrace::Timeouts timeouts_of(const Options& options) {
  return {.staged = std::chrono::seconds(options.sessions.staged_timeout_s),
          .write = std::chrono::seconds(options.sessions.write_timeout_s)};
}

rpc::ServerLimits limits_of(const RpcOptions& options) {
  return {.loopback_identity = options.loopback_identity,
          .loopback_root = options.loopback_root,
          .max_connections = static_cast<std::size_t>(options.max_connections),
          .max_connections_per_uid = static_cast<std::size_t>(options.max_connections_per_uid),
          .idle_time = std::chrono::seconds(options.idle_timeout_s)};
}

// Whether a changed option is one of collectors or sinks.
bool is_of_pipeline(const OptionRow* row) {
  constexpr std::array<std::string_view, 4> kOthers{"Places", "Tracing of PyTorch jobs",
                                                    "Requests (RPC)", "Logging"};
  return std::ranges::find(kOthers, row->group) == kOthers.end();
}

class WiredDaemon final : public Daemon {
 public:
  WiredDaemon(DaemonWorld world, Options options, RunDirectory run_directory)
      : world_(std::move(world)),
        options_(std::move(options)),
        run_directory_(std::move(run_directory)),
        keeper_(world_.service, world_.log),
        users_(world_.root.etc + "/passwd"),
        procs_(ProcsWorker::make(loop_, world_.clock, world_.log, world_.executable)),
        unix_callers_(ProcsWorker::make(loop_, world_.clock, world_.log, world_.executable)),
        tcp_callers_(ProcsWorker::make(loop_, world_.clock, world_.log, world_.executable)),
        mounts_(MountsWorker::make(loop_, world_.clock, world_.log, world_.executable)),
        torch_(TorchFactsReader::make(loop_, world_.log, world_.executable)),
        resolver_(*unix_callers_, *tcp_callers_),
        status_({.clock = world_.clock,
                 .log = world_.log,
                 .fixed = fixed_status(),
                 .fill = [this](rpc::StatusReply& reply) { fill_status(reply); },
                 .changed = [this] { report_.changed(); }}),
        report_(report_world()),
        registry_(registry_world()),
        reload_(
            {.log = world_.log,
             .read = [this] { return world_.reload(); },
             .take_up = [this](const Options& before, const Options& after,
                               const auto& changes) { return take_up(before, after, changes); }},
            options_) {}

  ~WiredDaemon() override {
    // The threads first: nothing may post into parts that are going.
    kineto_.reset();
    measuring_.stop();
  }

  Status begin() {
    use_log_file(options_.log_file);
    if (!options_.cpu_list.empty()) {
      status_.set("cpu-list", "ok", "runs on CPUs " + options_.cpu_list);
    }
    separate_workers();
    if (auto started = start_kineto(); !started) return started;
    open_store();
    sessions_.emplace(TraceSessions::World{
        .loop = loop_,
        .clock = world_.clock,
        .log = world_.log,
        .start_worker =
            [this](std::vector<FilesIdentity> identities, FilesWorker::OnEvent on_event,
                   std::function<void(std::string)> on_end) {
              return FilesWorker::start(loop_, world_.log, world_.executable, std::move(identities),
                                        std::move(on_event), std::move(on_end));
            },
        .host = world_.host,
        .root = world_.root,
        .registry = registry_,
        .kineto = *kineto_,
        .journal_directory = run_directory_.journal(),
        .store = store_.get(),
        .timeouts = timeouts_of(options_),
        .fetch_patience = std::chrono::seconds(options_.sessions.fetch_timeout_s),
        .publish = [this](Event event) { publish(std::move(event)); }});
    sessions_->restore_journal();
    make_diagnosis();
    start_rpc();
    measuring_.keep_history(options_, state_directory());
    return {};
  }

  Status run() override {
    const Watch terminate = loop_.on_signal(SIGTERM, [this] { stop("SIGTERM"); });
    const Watch interrupt = loop_.on_signal(SIGINT, [this] { stop("SIGINT"); });
    const Watch hang_up = loop_.on_signal(SIGHUP, [this] {
      reload_asked_ = true;
      if (measures_) reload_if_asked();
    });
    // Callers who wait by now are answered by the loop's first turn.
    loop_.post([this] { loop_.post([this] { measure(); }); });
    loop_.run();
    return began_;
  }

 private:
  // The first reading takes as long as all that came before it, so it comes last. The daemon is
  // ready after that, and after what the Kineto thread has said of its endpoints: their sockets are
  // in keeping by then.
  void measure() {
    began_ = measuring_.start(options_);
    if (!began_) return loop_.stop();
    measures_ = true;
    report_.ready();
    world_.log.info("dynolog {} runs ({} mode, run directory {})", world_.version, mode(),
                    run_directory_.path());
    reload_if_asked();
  }

  void reload_if_asked() {
    if (std::exchange(reload_asked_, false)) reload();
  }

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
            .user_directories = [this] { return options_.kineto.user_directories; },
            .add_socket_directory =
                [this](std::string directory, std::function<void(Status)> done) {
                  endpoints_.add(std::move(directory), std::move(done));
                },
            .trace_state = [this](Pid pid) -> std::optional<TraceState> {
              return sessions_ ? sessions_->state_of(pid) : std::nullopt;
            },
            .patience = kFactsPatience};
  }

  [[nodiscard]] ServiceReport::World report_world() {
    return {.loop = loop_,
            .clock = world_.clock,
            .log = world_.log,
            .manager = world_.service,
            .line = [this] { return line(); },
            .threads = {{"kineto", [this] { return kineto_->alive(); }},
                        {"metrics", [this] { return measuring_.alive(); }}}};
  }

  // Before the first of them is started.
  void separate_workers() {
    auto group = WorkerCgroup::make(
        {.root = world_.root, .pid = Pid{::getpid()}, .is_delegated = is_delegated_cgroup});
    if (group) {
      worker_cgroup_ = std::move(*group);
      limit_workers(options_.worker_memory_mb);
    } else if (group.error().kind == ErrorKind::unavailable) {
      world_.log.debug("workers run in the daemon's own control group: {}", group.error().message);
    } else {
      status_.set("worker-cgroup", "degraded",
                  "workers run in the daemon's own control group: " + group.error().message);
    }
  }

  void limit_workers(std::int64_t megabytes) {
    if (!worker_cgroup_) return;
    const auto limited = worker_cgroup_->limit_memory(megabytes);
    if (!limited) {
      const bool unavailable = limited.error().kind == ErrorKind::unavailable;
      status_.set("worker-cgroup", unavailable ? "off" : "degraded", limited.error().message);
    } else {
      status_.set("worker-cgroup", "ok",
                  megabytes == 0 ? "without a limit on memory"
                                 : fmt::format("at most {} MiB of memory", megabytes));
    }
  }

  // For `systemctl status`.
  [[nodiscard]] std::string line() const {
    const std::size_t processes = registry_.table().size();
    const std::size_t sessions = sessions_->active();
    std::string text = fmt::format("{} process{}, {} trace session{}", processes,
                                   processes == 1 ? "" : "es", sessions, sessions == 1 ? "" : "s");
    if (const auto names = status_.degraded(); !names.empty()) {
      text += fmt::format("; degraded: {}", fmt::join(names, ", "));
    }
    return clean_text(text, kMaxStatusLine);
  }

  [[nodiscard]] const std::string& state_directory() const {
    return options_.state_dir.empty() ? world_.state_dir : options_.state_dir;
  }

  [[nodiscard]] Measuring::World measuring_world() {
    return {.loop = loop_,
            .clock = world_.clock,
            .log = world_.log,
            .root = world_.root,
            .version = world_.version,
            .host = world_.host,
            .executable = world_.executable,
            .status = status_,
            .mounts = *mounts_,
            .processes = registry_,
            .read_counters = [this](const CounterVisitor& visit) {
              counters_.visit(visit);
              cost_.note();
            }};
  }

  [[nodiscard]] KinetoEndpoints::World endpoints_world() {
    return {.loop = loop_,
            .log = world_.log,
            .status = status_,
            .user_directories = run_directory_.path() + "/u/",
            .add = [this](std::string directory) { kineto_->add_directory(std::move(directory)); }};
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
    options.keep_sockets = keeper_.keeps();
    std::vector<std::string> endpoints = options.directories;
    if (options.abstract_endpoint) endpoints.emplace_back("abstract");
    options.handed = keeper_.take_back(std::move(world_.stored), endpoints);
    auto kineto = KinetoThread::start(std::move(options), world_.root, world_.clock, world_.log,
                                      [this](KinetoEvent event) { take_over(std::move(event)); });
    if (!kineto) return std::unexpected(std::move(kineto.error()));
    kineto_ = std::move(*kineto);
    return {};
  }

  void make_diagnosis() {
    std::vector<std::string> own_directories = {run_directory_.path()};
    if (store_) {
      own_directories.push_back(state_directory());
    }
    diagnosis_.emplace(DaemonDiagnosis::World{
        .loop = loop_,
        .clock = world_.clock,
        .log = world_.log,
        .root = world_.root,
        .executable = world_.executable,
        .processes = registry_.table(),
        .torch = *torch_,
        .system_mode = world_.system_mode,
        .own_directories = std::move(own_directories),
        .status = [this] { return status_.status(); },
        .endpoints = [this] { return endpoints_.problems(); },
        .traced = [this](Pid pid) { return sessions_->state_of(pid).has_value(); },
        .find_user = [this](const std::string& user) { return registry_.find_user(user); }});
  }

  void start_rpc() {
    rpc::ServerOptions options;
    static_cast<rpc::ServerLimits&>(options) = limits_of(options_.rpc);
    options.unix_path = run_directory_.rpc_socket();
    options.tcp_port = options_.rpc.port;
    options.tcp_address = options_.rpc.bind;
    options.auth = options_.rpc.auth;
    rpc_ = rpc::Server::start(loop_, world_.log, options,
                              {.status = status_,
                               .processes = registry_,
                               .traces = *sessions_,
                               .diagnosis = *diagnosis_,
                               .log = log_level_},
                              metrics_, resolver_);
    for (const auto& listening : rpc_->listening()) {
      status_.set("rpc:" + listening.name, listening.up ? "ok" : "degraded", listening.problem);
    }
  }

  // Without it everything else works: what nobody fetches then stays where it was written.
  void open_store() {
    constexpr std::uint64_t kTenants = 4;  // that may use all of their share
    if (options_.sessions.store_mb == 0) {
      status_.set("trace-store", "off", "by --trace_store_mb=0");
      return;
    }
    if (state_directory().empty()) {
      status_.set("trace-store", "off",
                  "neither XDG_STATE_HOME nor HOME is set: give --state_dir, and traces that "
                  "nobody fetches are kept there");
      return;
    }
    const std::string& directory = state_directory();
    const std::uint64_t bytes = static_cast<std::uint64_t>(options_.sessions.store_mb) << 20U;
    const auto own = open_own_directory(directory, 0755, "--state_dir");
    auto store = own ? TraceStore::open(directory + "/traces",
                                        {.bytes = bytes,
                                         .tenant_bytes = bytes / kTenants,
                                         .tenant_traces = TraceStore::Limits{}.tenant_traces,
                                         .age = std::chrono::hours(options_.sessions.store_hours)},
                                        world_.log)
                     : std::unexpected(own.error());
    if (!store) {
      status_.set("trace-store", "degraded",
                  "traces that nobody fetches are not kept: " + store.error().message);
      return;
    }
    store_ = std::move(*store);
    status_.set("trace-store", "ok", "");
  }

  void stop(std::string_view signal_name) {
    world_.log.info("{}: ends", signal_name);
    report_.stopping();
    loop_.stop();
  }

  void reload() {
    report_.reloading();
    const ReloadReport report = reload_.run();
    options_ = reload_.options();
    status_.set("configuration", report.taken ? "ok" : "degraded", text_of(report));
    report_.ready();
  }

  // The pipeline first: it alone can be refused.
  Status take_up(const Options& before, const Options& after,
                 const std::vector<const OptionRow*>& changes) {
    if (std::ranges::any_of(changes, is_of_pipeline) || measuring_.lacks_a_sink()) {
      if (auto replaced = measuring_.replace(before, after); !replaced) return replaced;
    }
    use_log_file(after.log_file);
    log_level_.take_up(after.log_level);
    rpc_->set_limits(limits_of(after.rpc));
    if (before.worker_memory_mb != after.worker_memory_mb) limit_workers(after.worker_memory_mb);
    take_up_directories(before.kineto.socket_dirs, after.kineto.socket_dirs);
    if (store_) store_->set_age(std::chrono::hours(after.sessions.store_hours));
    sessions_->set_timeouts(timeouts_of(after),
                            std::chrono::seconds(after.sessions.fetch_timeout_s));
    return {};
  }

  void take_up_directories(const std::vector<std::string>& before,
                           const std::vector<std::string>& after) {
    for (const std::string& directory : after) {
      if (std::ranges::find(before, directory) == before.end()) kineto_->add_directory(directory);
    }
    for (const std::string& directory : before) {
      if (std::ranges::find(after, directory) == after.end()) kineto_->remove_directory(directory);
    }
  }

  [[nodiscard]] OwnCost::World cost_world() {
    return {.clock = world_.clock,
            .root = world_.root,
            .page_size = ::sysconf(_SC_PAGESIZE),
            .usage = read_self_usage,
            .workers = [this] { return loop_.children()->running(); },
            .worker_restarts =
                [this] {
                  return procs_->restarts() + unix_callers_->restarts() + tcp_callers_->restarts() +
                         mounts_->restarts();
                }};
  }

  [[nodiscard]] LogLevelControl::World log_level_world() {
    return {.clock = world_.clock,
            .log = world_.log,
            .own = own_tenant(world_.root, world_.uid),
            .configured = [this] { return options_.log_level; },
            .show =
                [this](const std::string& sentence) {
                  if (sentence.empty()) return status_.forget("log-level");
                  status_.set("log-level", "ok", sentence);
                },
            .publish = [this](Event event) { publish(std::move(event)); }};
  }

  // Opened anew where it is the same: it may have been rotated.
  void use_log_file(const std::string& file) {
    const auto opened = world_.log.use_file(file);
    if (!opened) {
      status_.set("log", "degraded", opened.error().message + "; it goes where it went before");
    } else {
      status_.forget("log");
    }
  }

  void publish(Event event) {
    report_.changed();  // of sessions, above all
    measuring_.publish(std::move(event));
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
    if (registry_.on_polled(polled)) report_.changed();
    sessions_->on_polled(polled);
  }
  void on(const KinetoEnded& ended) {
    registry_.on_ended(ended);
    sessions_->on_ended(ended);
    report_.changed();
  }
  void on(const KinetoHandedOver& event) { sessions_->on_handed_over(event); }
  void on(const KinetoReceipt& event) { sessions_->on_receipt(event); }
  void on(const KinetoNotHandedOver& event) { sessions_->on_not_handed_over(event); }
  void on(const KinetoWithdrawn& event) { sessions_->on_withdrawn(event); }
  void on(const KinetoRealtimeState& event) {
    status_.set("kineto:realtime", event.realtime ? "ok" : "degraded", event.sentence);
  }
  void on(const KinetoEndpointState& event) {
    keeper_.on_state(event);
    endpoints_.on_state(event);
  }

  void fill_status(rpc::StatusReply& reply) {
    reply.processes = registry_.table().size();
    reply.sessions = sessions_->active();
    measuring_.fill(reply);
    cost_.fill(reply);
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
  SocketKeeper keeper_;
  Users users_;
  CounterSnapshot counters_;
  OwnCost cost_{cost_world()};
  EventLoop loop_;
  std::unique_ptr<ProcsWorker> procs_;
  // Of their own: whoever makes another one hang must not keep callers, root among them, from being
  // known. They start with the first caller.
  std::unique_ptr<ProcsWorker> unix_callers_;
  std::unique_ptr<ProcsWorker> tcp_callers_;
  std::unique_ptr<MountsWorker> mounts_;
  std::unique_ptr<TorchFactsReader> torch_;
  ProcsCallerResolver resolver_;
  StatusBoard status_;
  std::optional<WorkerCgroup> worker_cgroup_;
  ServiceReport report_;
  ProcessRegistry registry_;
  Measuring measuring_{measuring_world()};
  ConfigurationReload reload_;
  LogLevelControl log_level_{log_level_world()};
  KinetoEndpoints endpoints_{endpoints_world()};
  std::atomic<std::size_t> waiting_events_ = 0;
  std::atomic<std::uint64_t> dropped_polls_ = 0;
  std::unique_ptr<KinetoThread> kineto_;
  std::unique_ptr<TraceStore> store_;
  std::optional<TraceSessions> sessions_;
  std::optional<DaemonDiagnosis> diagnosis_;
  HistoryService metrics_{loop_, world_.host, [this] { return measuring_.history(); },
                          [this] { measuring_.somebody_looks(); },
                          [this] { return users_.names(); }};
  std::unique_ptr<rpc::Server> rpc_;
  Status began_;
  bool measures_ = false;  // until then a reload waits
  bool reload_asked_ = false;
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
