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

// Calls a second of so many threads.
double rate(double seconds, std::size_t clients,
            const std::function<std::function<void()>()>& make) {
  const std::chrono::duration<double> time(seconds);
  std::vector<std::jthread> threads;
  std::vector<std::size_t> counts(clients, 0);
  const auto start = SteadyClock::now();
  for (std::size_t i = 0; i < clients; ++i) {
    threads.emplace_back([&, i] {
      const auto work = make();
      while (SteadyClock::now() - start < time) {
        work();
        ++counts[i];
      }
    });
  }
  threads.clear();
  const std::chrono::duration<double> took = SteadyClock::now() - start;
  std::size_t sum = 0;
  for (const std::size_t count : counts) sum += count;
  return static_cast<double>(sum) / took.count();
}

std::function<void()> calls_of_their_own(int port) {
  return [port] { call_per_connection(port); };
}

std::function<void()> calls_on_a_held_connection(int port) {
  const auto socket = std::make_shared<UniqueFd>(connect_to(port));
  return [socket] { held_call(socket->get()); };
}

using MakeCaller = std::function<void()> (*)(int port);

// One client's calls, in microseconds.
struct Latency {
  double p50 = 0;
  double p99 = 0;
};

Latency latency(double seconds, const std::function<void()>& work) {
  std::vector<double> took;
  const auto start = SteadyClock::now();
  while (std::chrono::duration<double>(SteadyClock::now() - start).count() < seconds) {
    const auto before = SteadyClock::now();
    work();
    took.push_back(std::chrono::duration<double, std::micro>(SteadyClock::now() - before).count());
  }
  std::ranges::sort(took);
  return {.p50 = took[took.size() / 2], .p99 = took[took.size() * 99 / 100]};
}

void compare(const char* what, const Target& floor, const Target& ours, double seconds,
             std::size_t clients, MakeCaller make) {
  double floor_best = 0;
  double ours_best = 0;
  for (int i = 0; i < 3; ++i) {  // in turns, so that both see the same machine
    floor_best = std::max(floor_best, rate(seconds, clients, [&] { return make(floor.port()); }));
    ours_best = std::max(ours_best, rate(seconds, clients, [&] { return make(ours.port()); }));
  }
  std::printf("%2zu clients, %-20s floor %8.0f/s   dynolog %8.0f/s   %5.1f %%\n", clients, what,
              floor_best, ours_best, 100 * ours_best / floor_best);
}

void one_client(const char* when, const Target& target, double seconds) {
  const Latency held = latency(seconds, calls_on_a_held_connection(target.port()));
  const Latency fresh = latency(seconds, calls_of_their_own(target.port()));
  std::printf(
      "1 client, %-10s %-8s held p50 %6.1f us, p99 %6.1f us; connection per call p50 %6.1f us, "
      "p99 %6.1f us\n",
      when, target.name().c_str(), held.p50, held.p99, fresh.p50, fresh.p99);
}

void with_idle(const Target& target, double seconds) {
  std::vector<UniqueFd> idle;
  for (int i = 0; i < kIdle; ++i) idle.push_back(connect_to(target.port()));
  one_client("1,000 idle", target, seconds);
}

}  // namespace

int main(int argc, char** argv) {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, 8192);
  ::setrlimit(RLIMIT_NOFILE, &limit);
  if (argc > 1 && std::string(argv[1]) == "--serve") return serve();
  const double seconds = argc > 1 ? std::atof(argv[1]) : 2;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe");
  const Target floor("floor", {self.parent_path() / "floor_rpc"});
  const Target ours("dynolog", {self, "--serve"});
  if (floor.port() == 0 || ours.port() == 0) {
    std::fprintf(stderr, "a server did not start (floor_rpc is to lie beside this program)\n");
    return 1;
  }
  for (const std::size_t clients : {std::size_t{1}, kClients}) {
    compare("connection per call", floor, ours, seconds, clients, calls_of_their_own);
    compare("held connections", floor, ours, seconds, clients, calls_on_a_held_connection);
  }
  for (const Target* target : {&floor, &ours}) one_client("alone", *target, seconds);
  with_idle(floor, seconds);
  with_idle(ours, seconds);
  return 0;
}
