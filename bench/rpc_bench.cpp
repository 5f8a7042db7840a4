// Load for the RPC: the server of this tree beside floor_rpc, in turns, in one run. A connection
// per call and held connections, with 1 and with 32 clients, and both once more while 1,000 idle
// connections are held.
// Usage: rpc_bench [seconds per measurement, default 2]
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/unique_fd.h"
#include "net/framing.h"
#include "rpc/server.h"

namespace {

using namespace dynolog;  // NOLINT(google-build-using-namespace)
using SteadyClock = std::chrono::steady_clock;

constexpr std::size_t kClients = 32;
constexpr int kIdle = 1000;

// --- the server under test, in a process of its own
// -------------------------------------------------

class ConstantStatus final : public rpc::StatusService {
 public:
  rpc::StatusReply status() override { return {}; }
  std::string version() const override { return "bench"; }
};

class NoProcesses final : public rpc::ProcessService {
 public:
  rpc::ListProcessesReply list(const Caller&) override { return {}; }
  void socket_directory(const Caller&, rpc::Done<rpc::SocketDirectoryReply> done) override {
    done(rpc::SocketDirectoryReply{});
  }
};

class NoTraces final : public rpc::TraceService {
 public:
  void prepare(const Caller&, rpc::PrepareRequest, rpc::Done<rpc::PrepareReply> done) override {
    done(rpc::PrepareReply{});
  }
  void commit(const Caller&, rpc::CommitRequest, rpc::Done<rpc::CommitReply> done) override {
    done(rpc::CommitReply{});
  }
  Result<std::unique_ptr<Following>> follow(const Caller&, const rpc::SessionRequest&,
                                            std::function<void(const rpc::FollowFrame&)>) override {
    return fail(ErrorKind::unavailable, "no traces here");
  }
  void cancel(const Caller&, rpc::SessionRequest, rpc::Done<rpc::CancelReply> done) override {
    done(rpc::CancelReply{});
  }
  void fetch(const Caller&, rpc::FetchRequest, rpc::Done<rpc::FetchReply> done) override {
    done(rpc::FetchReply{});
  }
  void release(const Caller&, rpc::ReleaseRequest, rpc::Done<rpc::ReleaseReply> done) override {
    done(rpc::ReleaseReply{});
  }
  rpc::ListTracesReply list_traces(const Caller&) override { return {}; }
  Result<rpc::DeleteTraceReply> delete_trace(const Caller&, const rpc::SessionRequest&) override {
    return rpc::DeleteTraceReply{};
  }
  void legacy_trace(const Caller&, rpc::LegacyTraceRequest,
                    rpc::Done<rpc::LegacyTraceReply> done) override {
    done(rpc::LegacyTraceReply{});
  }
};

class NoDiagnosis final : public rpc::DiagnosisService {
 public:
  void diagnose(const Caller&, rpc::DiagnoseRequest, rpc::Done<rpc::DiagnoseReply> done) override {
    done(rpc::DiagnoseReply{});
  }
};

class NoLogLevel final : public rpc::LogService {
 public:
  rpc::LogLevelReply log_level() const override { return {}; }
  Result<rpc::LogLevelReply> set_log_level(const Caller&, const rpc::SetLogLevelRequest&) override {
    return rpc::LogLevelReply{};
  }
};

class NoMetrics final : public rpc::MetricsService {
 public:
  void query(rpc::QueryMetricsRequest, DoneText done) override { done(std::string("{}")); }
  void list(rpc::ListMetricsRequest, DoneText done) override { done(std::string("{}")); }
};

class NobodyResolver final : public rpc::CallerResolver {
 public:
  void resolve_unix(const UnixPeer&, std::function<void(Result<Caller>)> done) override {
    done(Caller{});
  }
  void resolve_tcp(const TcpPeer&, std::function<void(Result<Caller>)> done) override {
    done(Caller{});
  }
};

int serve() {
  EventLoop loop;
  const auto log = make_silent_log();
  ConstantStatus status;
  NoProcesses processes;
  NoTraces traces;
  NoDiagnosis diagnosis;
  NoLogLevel no_log;
  NoMetrics metrics;
  NobodyResolver resolver;
  rpc::ServerOptions options;
  options.tcp_port = 0;
  options.max_connections = 2048;
  options.max_connections_per_uid = 2048;
  const auto server = rpc::Server::start(loop, *log, options,
                                         rpc::Services{.status = status,
                                                       .processes = processes,
                                                       .traces = traces,
                                                       .diagnosis = diagnosis,
                                                       .log = no_log},
                                         metrics, resolver);
  std::printf("%d\n", server->tcp_port());
  std::fflush(stdout);
  const Watch end = loop.watch_readable(STDIN_FILENO, [&] { loop.stop(); });
  loop.run();
  return 0;
}

// --- processes
// --------------------------------------------------------------------------------------

class Target {
 public:
  Target(std::string name, const std::vector<std::string>& command) : name_(std::move(name)) {
    std::array<int, 2> in{};
    std::array<int, 2> out{};
    if (::pipe2(in.data(), O_CLOEXEC) != 0 || ::pipe2(out.data(), O_CLOEXEC) != 0) std::abort();
    pid_ = ::fork();
    if (pid_ == 0) {
      ::dup2(in[0], STDIN_FILENO);
      ::dup2(out[1], STDOUT_FILENO);
      std::vector<char*> argv;
      for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
      argv.push_back(nullptr);
      ::execv(argv[0], argv.data());
      ::_exit(127);
    }
    ::close(in[0]);
    ::close(out[1]);
    hold_ = UniqueFd(in[1]);
    const UniqueFd answer(out[0]);
    std::array<char, 16> text{};
    if (::read(answer.get(), text.data(), text.size() - 1) > 0) port_ = std::atoi(text.data());
  }
  Target(const Target&) = delete;
  Target& operator=(const Target&) = delete;
  ~Target() {
    hold_.reset();
    ::waitpid(pid_, nullptr, 0);
  }
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] int port() const { return port_; }

 private:
  std::string name_;
  pid_t pid_ = -1;
  UniqueFd hold_;
  int port_ = 0;
};

// --- load
// -------------------------------------------------------------------------------------------

UniqueFd connect_to(int port) {
  UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  if (::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
    std::perror("connect");
    std::exit(1);
  }
  return socket;
}

// The replies of both servers fit into one segment, but that is not relied on.
void call(int socket, const std::string& request) {
  FrameDecoder decoder(kMaxReplyBytes);
  std::array<char, 65536> buffer;
  ::send(socket, request.data(), request.size(), MSG_NOSIGNAL);
  for (;;) {
    const auto size = ::recv(socket, buffer.data(), buffer.size(), 0);
    if (size <= 0) {
      std::fprintf(stderr, "no reply\n");
      std::exit(1);
    }
    decoder.append({buffer.data(), static_cast<std::size_t>(size)});
    const auto frame = decoder.next();
    if (frame && *frame) return;
  }
}

void call_per_connection(int port) {
  static const std::string request = encode_frame(R"({"fn":"getStatus"})");
  const UniqueFd socket = connect_to(port);
  call(socket.get(), request);
  char byte = 0;  // the server closes first
  static_cast<void>(::recv(socket.get(), &byte, 1, 0));
}

void held_call(int socket) {
  static const std::string request = encode_frame(R"({"fn":"daemonStatus"})");
  call(socket, request);
}

using Work = std::function<void()>;
using MakeWork = Work (*)(int port);

struct Measured {
  double rate = 0;  // calls a second of all clients together
  double p50 = 0;   // of a call, microseconds
  double p99 = 0;
};

// One thread a client.
Measured measure(double seconds, std::size_t clients, int port, MakeWork make) {
  const std::chrono::duration<double> time(seconds);
  std::vector<std::vector<double>> took(clients);
  const auto start = SteadyClock::now();
  {
    std::vector<std::jthread> threads;
    for (std::vector<double>& mine : took) {
      threads.emplace_back([&mine, &start, &time, port, make] {
        const Work work = make(port);
        for (auto before = SteadyClock::now(); before - start < time;) {
          work();
          const auto after = SteadyClock::now();
          mine.push_back(std::chrono::duration<double, std::micro>(after - before).count());
          before = after;
        }
      });
    }
  }
  const std::chrono::duration<double> all_took = SteadyClock::now() - start;
  std::vector<double> all;
  for (const std::vector<double>& mine : took) all.insert(all.end(), mine.begin(), mine.end());
  std::ranges::sort(all);
  return {.rate = static_cast<double>(all.size()) / all_took.count(),
          .p50 = all[all.size() / 2],
          .p99 = all[all.size() * 99 / 100]};
}

Work calls_of_their_own(int port) {
  return [port] { call_per_connection(port); };
}

Work calls_on_a_held_connection(int port) {
  const auto socket = std::make_shared<UniqueFd>(connect_to(port));
  return [socket] { held_call(socket->get()); };
}

constexpr int kTurns = 3;

void compare(const char* how, const Target& floor, const Target& ours, double seconds,
             std::size_t clients, int idle, MakeWork make) {
  std::array<const Target*, 2> targets{&floor, &ours};
  std::array<Measured, 2> best;
  for (int turn = 0; turn < kTurns; ++turn) {  // so that both see the same machine
    for (std::size_t i = 0; i < targets.size(); ++i) {
      const Measured now = measure(seconds, clients, targets[i]->port(), make);
      if (now.rate > best[i].rate) best[i] = now;
    }
  }
  std::printf("%2zu clients, %4d idle, %-19s", clients, idle, how);
  for (std::size_t i = 0; i < targets.size(); ++i) {
    std::printf("  %s %6.0f/s, p50 %4.0f us, p99 %5.0f us", targets[i]->name().c_str(),
                best[i].rate, best[i].p50, best[i].p99);
  }
  std::printf("  %5.1f %%\n", 100 * best[1].rate / best[0].rate);
}

}  // namespace

int main(int argc, char** argv) {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, 8192);
  ::setrlimit(RLIMIT_NOFILE, &limit);
  if (argc > 1 && std::string(argv[1]) == "--serve") return serve();
  const double seconds = argc > 1 ? std::atof(argv[1]) : 1;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe");
  const Target floor("floor", {self.parent_path() / "floor_rpc"});
  const Target ours("dynolog", {self, "--serve"});
  if (floor.port() == 0 || ours.port() == 0) {
    std::fprintf(stderr, "a server did not start (floor_rpc is to lie beside this program)\n");
    return 1;
  }
  std::vector<UniqueFd> held;
  for (const int idle : {0, kIdle}) {
    for (int i = 0; i < idle; ++i) {
      held.push_back(connect_to(floor.port()));
      held.push_back(connect_to(ours.port()));
    }
    for (const std::size_t clients : {std::size_t{1}, kClients}) {
      compare("connection per call", floor, ours, seconds, clients, idle, calls_of_their_own);
      compare("held connections", floor, ours, seconds, clients, idle, calls_on_a_held_connection);
    }
  }
  return 0;
}
