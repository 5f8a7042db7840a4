// The server over real sockets: existing clients' bytes, hostile clients, limits, and identity.
#include "rpc/server.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <future>
#include <thread>

#include "base/file.h"
#include "net/framing.h"
#include "rpc/methods/all_methods.h"
#include "rpc/protocol/codec.h"
#include "rpc/protocol/metrics_codec.h"
#include "testing/patience.h"
#include "testing/user_namespace.h"

namespace dynolog::rpc {
namespace {

using std::chrono_literals::operator""ms;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

// --- fakes
// ----------------------------------------------------------------------------------------

class FakeStatus final : public StatusService {
 public:
  StatusReply status() override {
    StatusReply reply;
    reply.version = "1.0.0";
    reply.uptime_s = 1;
    return reply;
  }
  std::string version() const override { return "1.0.0"; }
};

class FakeProcesses final : public ProcessService {
 public:
  ListProcessesReply list(const Caller& caller) override {
    callers.push_back(caller);
    ListProcessesReply reply;
    ProcessRow row;
    row.pid = 42;
    row.command = std::string(command_size, 'c');
    reply.processes.push_back(row);
    return reply;
  }
  void socket_directory(const Caller& caller, Done<SocketDirectoryReply> done) override {
    callers.push_back(caller);
    late = std::move(done);
  }
  std::vector<Caller> callers;
  std::size_t command_size = 10;
  Done<SocketDirectoryReply> late;
};

class FakeTraces final : public TraceService {
 public:
  class FakeFollowing final : public Following {
   public:
    explicit FakeFollowing(FakeTraces& traces) : traces_(traces) {}
    ~FakeFollowing() override {
      traces_.on_frame = nullptr;
      ++traces_.ended;
      if (traces_.on_ended) traces_.on_ended();
    }

   private:
    FakeTraces& traces_;
  };

  void prepare(const Caller&, PrepareRequest, Done<PrepareReply> done) override {
    done(fail(ErrorKind::exhausted, "too many sessions"));
  }
  void commit(const Caller&, CommitRequest request, Done<CommitReply> done) override {
    done(CommitReply{.session = request.session, .staged = 3});
  }
  Result<std::unique_ptr<Following>> follow(const Caller&, const SessionRequest& request,
                                            std::function<void(const FollowFrame&)> sink) override {
    if (request.session == "none") return fail(ErrorKind::not_found, "no such session");
    sink(FollowFrame{.session = request.session, .updates = {}, .done = request.session == "over"});
    on_frame = std::move(sink);
    if (on_followed) on_followed();
    return std::make_unique<FakeFollowing>(*this);
  }
  void cancel(const Caller&, SessionRequest, Done<CancelReply> done) override {
    done(CancelReply{});
  }
  // A file of two pieces.
  void fetch(const Caller& caller, FetchRequest request, Done<FetchReply> done) override {
    callers.push_back(caller);
    if (request.offset > 4) return done(fail(ErrorKind::invalid, "there are only 6 bytes"));
    done(FetchReply{.offset = request.offset,
                    .plain_bytes = request.offset == 0 ? 4U : 2U,
                    .total_bytes = 6,
                    .crc32 = 0xffffffff,
                    .stamp = request.session + ":" + std::to_string(request.pid),
                    .data = "H4sI",
                    .last = request.offset == 4,
                    .side_car = request.offset == 4 ? "{}" : ""});
  }
  void release(const Caller& caller, ReleaseRequest request, Done<ReleaseReply> done) override {
    callers.push_back(caller);
    done(ReleaseReply{.removed = request.file == "/home/a/t.json"});
  }
  ListTracesReply list_traces(const Caller& caller) override {
    callers.push_back(caller);
    ListTracesReply reply;
    SessionRow row;
    row.session = "aa";
    row.kept_bytes = 12;
    reply.sessions.push_back(row);
    return reply;
  }
  Result<DeleteTraceReply> delete_trace(const Caller& caller,
                                        const SessionRequest& request) override {
    callers.push_back(caller);
    if (request.session != "aa") return fail(ErrorKind::not_found, "no session");
    return DeleteTraceReply{.freed_bytes = 12};
  }
  void legacy_trace(const Caller& caller, LegacyTraceRequest request,
                    Done<LegacyTraceReply> done) override {
    callers.push_back(caller);
    requests.push_back(std::move(request));
    LegacyTraceReply reply;
    reply.processes_matched = {7};
    reply.activity_profilers_triggered = {7};
    done(reply);
  }

  std::vector<Caller> callers;
  std::vector<LegacyTraceRequest> requests;
  std::function<void(const FollowFrame&)> on_frame;
  std::function<void()> on_followed;
  std::function<void()> on_ended;
  int ended = 0;
};

class FakeMetrics final : public MetricsService {
 public:
  void query(QueryMetricsRequest request, DoneText done) override {
    if (request.expressions.empty()) return done(fail(ErrorKind::invalid, "no metric is named"));
    QueryMetricsReply reply{.host = "here", .begin_ms = 5, .step_ms = 1000, .results = {}};
    reply.results.push_back({.selector = request.expressions[0].selector,
                             .metric = "cpu.time",
                             .unit = "seconds/s",
                             .help = "",
                             .series = {{.labels = {{{"cpu", "0"}}}, .values = {0.5, {}}}}});
    done(encode(reply));
  }
  void list(ListMetricsRequest request, DoneText done) override {
    done(fail(ErrorKind::not_found, "there is no metric '" + request.selector + "'"));
  }
};

class FakeDiagnosis final : public DiagnosisService {
 public:
  void diagnose(const Caller& caller, DiagnoseRequest request, Done<DiagnoseReply> done) override {
    callers.push_back(caller);
    DiagnoseReply reply;
    Finding finding;
    finding.check = "registered";
    finding.pid = request.pids.empty() ? 0 : request.pids.front();
    reply.findings.push_back(finding);
    done(reply);
  }
  std::vector<Caller> callers;
};

class FakeLogLevel final : public LogService {
 public:
  LogLevelReply log_level() const override { return {.level = level, .configured = "info"}; }
  Result<LogLevelReply> set_log_level(const Caller& caller,
                                      const SetLogLevelRequest& request) override {
    callers.push_back(caller);
    if (!caller.host_root) return fail(ErrorKind::denied, "only root");
    level = request.level;
    return log_level();
  }
  std::string level = "info";
  std::vector<Caller> callers;
};

// Believes what the kernel says; `hold` keeps the answers for later.
class FakeResolver final : public CallerResolver {
 public:
  void resolve_unix(const UnixPeer& peer, std::function<void(Result<Caller>)> done) override {
    answer(peer.uid, "unix", std::move(done));
  }
  void resolve_tcp(const TcpPeer& peer, std::function<void(Result<Caller>)> done) override {
    answer(peer.uid, "tcp", std::move(done));
  }
  bool hold = false;
  std::function<void()> on_held;
  std::vector<std::function<void()>> held;
  int asked = 0;
  std::optional<Error> refusal;

 private:
  void answer(Uid uid, const std::string& via, std::function<void(Result<Caller>)> done) {
    ++asked;
    if (refusal) return done(std::unexpected(*refusal));
    Caller caller;
    caller.tenant.uid = uid;
    caller.host_root = uid == kRootUid;
    caller.via = via;
    if (!hold) return done(caller);
    held.push_back([caller, done = std::move(done)] { done(caller); });
    if (on_held) on_held();
  }
};

// --- a blocking client
// ----------------------------------------------------------------------------

class Client {
 public:
  explicit Client(UniqueFd socket) : socket_(std::move(socket)) { be_patient(socket_.get()); }
  static Client tcp(int port, bool v6 = false) {
    UniqueFd socket(::socket(v6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in v4_address{};
    v4_address.sin_family = AF_INET;
    v4_address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    v4_address.sin_port = htons(static_cast<std::uint16_t>(port));
    sockaddr_in6 v6_address{};
    v6_address.sin6_family = AF_INET6;
    v6_address.sin6_addr = in6addr_loopback;
    v6_address.sin6_port = htons(static_cast<std::uint16_t>(port));
    const auto* address =
        v6 ? reinterpret_cast<sockaddr*>(&v6_address) : reinterpret_cast<sockaddr*>(&v4_address);
    if (::connect(socket.get(), address, v6 ? sizeof v6_address : sizeof v4_address) != 0) {
      socket.reset();
    }
    return Client(std::move(socket));
  }
  static Client unix_socket(const std::string& path) {
    UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path.data(), path.size());
    if (::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
      socket.reset();
    }
    return Client(std::move(socket));
  }

  [[nodiscard]] bool connected() const { return socket_.valid(); }
  [[nodiscard]] int fd() const { return socket_.get(); }
  bool send_bytes(std::string_view bytes) const {
    return ::send(fd(), bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
           static_cast<ssize_t>(bytes.size());
  }
  bool send(std::string_view json) const { return send_bytes(encode_frame(json)); }
  // "" at the connection's end.
  std::string receive() {
    for (;;) {
      auto frame = decoder_.next();
      if (!frame) return "unreadable: " + frame.error().message;
      if (*frame) return **frame;
      std::array<char, 65536> buffer;
      const auto size = ::recv(fd(), buffer.data(), buffer.size(), 0);
      if (size <= 0) return "";
      decoder_.append({buffer.data(), static_cast<std::size_t>(size)});
    }
  }
  // Everything until the connection's end.
  std::string receive_raw() const {
    std::string all;
    std::array<char, 4096> buffer;
    for (;;) {
      const auto size = ::recv(fd(), buffer.data(), buffer.size(), 0);
      if (size <= 0) return all;
      all.append(buffer.data(), static_cast<std::size_t>(size));
    }
  }
  std::string call(std::string_view json) {
    send(json);
    return receive();
  }
  void reset_on_close() const {
    const linger now{.l_onoff = 1, .l_linger = 0};
    ::setsockopt(fd(), SOL_SOCKET, SO_LINGER, &now, sizeof now);
  }
  void close() { socket_.reset(); }

 private:
  UniqueFd socket_;
  FrameDecoder decoder_{kMaxReplyBytes};
};

std::string error_code(const std::string& reply) {
  const auto error = decode_error_reply(reply);
  return error ? error->code : "no error reply: " + reply;
}

// --- fixture
// --------------------------------------------------------------------------------------

// The loop runs on a thread of its own, clients block on the test's.
class ServerTest : public testing::Test {
 protected:
  ServerTest() {
    std::string pattern = std::filesystem::temp_directory_path() / "dynolog-rpc-XXXXXX";
    directory_ = ::mkdtemp(pattern.data());
    ::chmod(directory_.c_str(), 0755);  // other users are to reach the socket in it
    options_.unix_path = directory_ + "/rpc.sock";
    options_.tcp_port = 0;
  }
  ~ServerTest() override {
    if (thread_.joinable()) {
      on_loop([this] { server_.reset(); });
      loop_.stop();
      thread_.join();
    }
    server_.reset();
    std::filesystem::remove_all(directory_);
  }

  void start() {
    server_ = Server::start(loop_, *log_, options_,
                            Services{.status = status_,
                                     .processes = processes_,
                                     .traces = traces_,
                                     .diagnosis = diagnosis_,
                                     .log = log_level_},
                            metrics_, resolver_);
    port_ = server_->tcp_port();
    thread_ = std::jthread([this] { loop_.run(); });
  }
  // Runs `work` on the loop's thread and waits for it.
  template <class Work>
  auto on_loop(Work work) -> decltype(work()) {
    const auto task = std::make_shared<std::packaged_task<decltype(work())()>>(work);
    auto result = task->get_future();
    loop_.post([task] { (*task)(); });
    return result.get();
  }
  // Until what the loop posted to itself has run: such work queues behind a first task of ours, but
  // before a second.
  int followings_ended() {
    on_loop([] {});
    return on_loop([this] { return traces_.ended; });
  }
  ServerCounters counters() {
    return on_loop([this] { return server_->counters(); });
  }
  // Until the loop has seen what the clients did.
  void wait_for(const std::function<bool(const ServerCounters&)>& condition) {
    const auto limit = std::chrono::steady_clock::now() + kPatience;
    while (!condition(counters())) {
      ASSERT_LT(std::chrono::steady_clock::now(), limit);
      std::this_thread::yield();
    }
  }
  Client tcp() { return Client::tcp(port_); }
  Client local() { return Client::unix_socket(options_.unix_path); }
  void expect_served() {
    EXPECT_EQ(tcp().call(R"({"fn":"getStatus"})"), R"({"status":1})");
    EXPECT_THAT(local().call(R"({"fn":"daemonStatus"})"), HasSubstr("\"schema\""));
  }

  EventLoop loop_;
  std::unique_ptr<Log> log_ = make_silent_log();
  std::string directory_;
  ServerOptions options_;
  FakeStatus status_;
  FakeProcesses processes_;
  FakeTraces traces_;
  FakeDiagnosis diagnosis_;
  FakeLogLevel log_level_;
  FakeMetrics metrics_;
  FakeResolver resolver_;
  std::unique_ptr<Server> server_;
  int port_ = 0;
  std::jthread thread_;
};

// --- existing clients
// -----------------------------------------------------------------------------

TEST_F(ServerTest, AnswersTheExistingClientsBytesAndCloses) {
  start();
  const std::string request =
      "{\n    \"fn\": \"setKinetOnDemandRequest\",\n    \"config\": "
      "\"ACTIVITIES_LOG_FILE=/tmp/t.json\\nPROFILE_START_TIME=0\\nACTIVITIES_DURATION_MSECS=500\\n"
      "PROFILE_REPORT_INPUT_SHAPES=false\\nPROFILE_WITH_STACK=false\\nPROFILE_WITH_FLOPS=false\\n"
      "PROFILE_WITH_MODULES=false\",\n    \"job_id\": 0,\n    \"pids\": [0],\n    "
      "\"process_limit\": 3\n}";
  std::string bytes(4, '\0');
  const auto length = static_cast<std::int32_t>(request.size());
  std::memcpy(bytes.data(), &length, 4);
  bytes += request;
  const Client client = tcp();
  ASSERT_TRUE(client.send_bytes(bytes));
  const std::string reply =
      R"({"activityProfilersBusy":0,"activityProfilersTriggered":[7],)"
      R"("eventProfilersBusy":0,"eventProfilersTriggered":[],"processesMatched":[7]})";
  EXPECT_EQ(client.receive_raw(), encode_frame(reply));  // and then the end
  ASSERT_EQ(traces_.requests.size(), 1U);
  EXPECT_THAT(traces_.requests[0].config,
              testing::EndsWith("PROFILE_WITH_FLOPS=false\nPROFILE_WITH_MODULES=false"));
  EXPECT_EQ(traces_.requests[0].pids, std::vector<std::int64_t>{0});
  EXPECT_EQ(traces_.requests[0].process_limit, 3);
  EXPECT_EQ(traces_.callers[0].tenant.uid.value, ::getuid());
}

TEST_F(ServerTest, AnswersTheExistingCallsToTheLetter) {
  start();
  const std::vector<std::pair<std::string, std::string>> calls = {
      {R"({"fn":"getStatus"})", R"({"status":1})"},
      {R"({"fn":"getVersion"})", R"({"version":"1.0.0"})"},
      {R"({"fn":"dcgmProfPause","duration_s":300})", R"({"status":false})"},
      {R"({"fn":"dcgmProfPause"})", R"({"status":"failed"})"},
      {R"({"fn":"dcgmProfResume"})", R"({"status":false})"},
      {R"({"fn":"setKinetOnDemandRequest","config":"A=1"})", R"({"status":"failed"})"},
  };
  for (const auto& [request, reply] : calls) {
    const Client client = tcp();
    client.send(request);
    EXPECT_EQ(client.receive_raw(), encode_frame(reply)) << request;
  }
  for (const std::string request : {R"({"fn":"setKinetOnDemandRequest","config":5,"pids":[0]})",
                                    R"({"fn":"setKinetOnDemandRequest","config":"","pids":"x"})",
                                    R"({"fn":"dcgmProfPause","duration_s":"x"})"}) {
    EXPECT_THAT(tcp().call(request), StartsWith(R"({"status":"failed with exception = )"))
        << request;
  }
  EXPECT_THAT(traces_.requests, IsEmpty());
  EXPECT_EQ(counters().errors, 5U) << "those that failed, whatever the shape of the answer";
}

TEST_F(ServerTest, OwnMethodsKeepTheConnection) {
  start();
  Client client = local();
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT(client.call(R"({"fn":"daemonStatus"})"), HasSubstr("\"schema\""));
    EXPECT_THAT(client.call(R"({"fn":"listProcesses"})"), HasSubstr("42"));
  }
  EXPECT_EQ(counters().accepted, 1U);
}

TEST_F(ServerTest, PipelinedRequestsAreAnsweredInOrder) {
  start();
  Client client = local();
  std::string all;
  for (int i = 0; i < 200; ++i) {
    all += encode_frame(i % 2 == 0 ? R"({"fn":"daemonStatus"})" : R"({"fn":"listProcesses"})");
  }
  client.send_bytes(all);
  for (int i = 0; i < 200; ++i) {
    EXPECT_THAT(client.receive(), HasSubstr(i % 2 == 0 ? "uptime" : "processes")) << i;
  }
}

TEST_F(ServerTest, EveryMethodOfTheTableHasAnAnswer) {
  start();
  for (const Method& method : all_methods()) {
    Client client = local();
    if (method.name == "socketDirectory") continue;  // answered late: below
    const std::string reply = client.call(encode_request(method.name));
    EXPECT_THAT(reply, testing::Not(IsEmpty())) << method.name;
    EXPECT_NE(error_code(reply), "unknown_method") << method.name;
  }
}

TEST_F(ServerTest, ErrorsOfServicesAreAnswered) {
  start();
  Client client = local();
  EXPECT_EQ(error_code(client.call(encode(PrepareRequest{}))), "exhausted");
  EXPECT_EQ(error_code(client.call(R"({"fn":"commitTrace","session":5})")), "bad_request");
  EXPECT_EQ(error_code(client.call(R"({"fn":"followTrace","session":"none"})")), "not_found");
  EXPECT_THAT(client.call(encode(CommitRequest{.session = "x", .deadline_s = 0})),
              HasSubstr("\"staged\":3"));
  EXPECT_EQ(counters().errors, 3U);
}

// --- hostile clients
// ------------------------------------------------------------------------------

TEST_F(ServerTest, ASilentClientAndHalfAHeaderDelayNobody) {
  start();
  const Client silent = tcp();
  const Client silent_local = local();
  const Client half = tcp();
  half.send_bytes(std::string_view("\x10\x00", 2));
  expect_served();
}

TEST_F(ServerTest, ImpossibleLengthsAreAnsweredAndCostNothing) {
  start();
  for (const std::int32_t length : {-1, 0, 2147483647, (1 << 20) + 1}) {
    Client client = tcp();
    std::string bytes(4, '\0');
    std::memcpy(bytes.data(), &length, 4);
    client.send_bytes(bytes);
    client.send_bytes(std::string(100000, 'x'));  // unread by the server: no reset may follow
    EXPECT_EQ(error_code(client.receive()), "bad_request") << length;
    EXPECT_EQ(client.receive(), "");
  }
  EXPECT_EQ(counters().malformed, 4U);
  expect_served();
}

TEST_F(ServerTest, UnreadableAndUnknownRequestsAreAnsweredAndEndTheConnection) {
  start();
  const std::vector<std::pair<std::string, std::string>> requests = {
      {"garbage", "bad_request"},
      {"[]", "bad_request"},
      {"{}", "bad_request"},
      {R"({"fn":5})", "bad_request"},
      {R"({"fn":1e999})", "bad_request"},
      {"{\"fn\":\"\xff\xfe\"}", "bad_request"},
      {R"({"fn":"getStatus")", "bad_request"},
      {R"({"fn":"noSuchCall"})", "unknown_method"},
  };
  for (const auto& [request, code] : requests) {
    Client client = tcp();
    EXPECT_EQ(error_code(client.call(request)), code) << request;
    EXPECT_EQ(client.receive(), "") << request;
  }
  EXPECT_EQ(counters().malformed, requests.size() - 1);
  EXPECT_EQ(counters().errors, requests.size());
  expect_served();
}

TEST_F(ServerTest, DeepNestingIsRefused) {
  start();
  Client client = tcp();
  const std::string deep = R"({"a":)" + std::string(100000, '[') + std::string(100000, ']') + "}";
  EXPECT_EQ(error_code(client.call(deep)), "bad_request");
  EXPECT_EQ(counters().malformed, 1U);
  expect_served();
}

TEST_F(ServerTest, HttpGetsAnHttpAnswer) {
  start();
  const Client client = tcp();
  client.send_bytes("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
  const std::string reply = client.receive_raw();
  EXPECT_THAT(reply, StartsWith("HTTP/1.1 400 Bad Request\r\n"));
  EXPECT_THAT(reply, HasSubstr("dyno"));
  const auto body = reply.find("\r\n\r\n");
  ASSERT_NE(body, std::string::npos);
  EXPECT_THAT(reply, HasSubstr("Content-Length: " + std::to_string(reply.size() - body - 4)));
  EXPECT_EQ(counters().http, 1U);
}

TEST_F(ServerTest, ClientsThatCloseOrResetBeforeTheReplyHarmNobody) {
  processes_.command_size = 300000;  // a reply that does not fit into the socket at once
  start();
  for (int i = 0; i < 20; ++i) {
    for (const bool reset : {false, true}) {
      const Client client = tcp();
      if (reset) client.reset_on_close();
      client.send(i % 2 == 0 ? R"({"fn":"getStatus"})" : R"({"fn":"listProcesses"})");
      const Client other = local();
      other.send(R"({"fn":"listProcesses"})");
    }
  }
  wait_for([](const ServerCounters& seen) { return seen.connections == 0; });
  EXPECT_GE(counters().reply_unread, 40U) << "over the unix socket each is known";
  expect_served();
}

TEST_F(ServerTest, WhoIsGoneBeforeTheReplyIsCounted) {
  start();
  const std::uint64_t counted = on_loop([this] {
    // On the loop's thread, so that nothing is answered before they are gone.
    for (const std::string request : {R"({"fn":"getStatus"})", R"({"fn":"listProcesses"})"}) {
      const Client reset = tcp();
      reset.reset_on_close();
      reset.send(request);
      local().send(request);
    }
    return server_->counters().reply_unread;
  });
  EXPECT_EQ(counted, 0U);
  wait_for([](const ServerCounters& seen) { return seen.reply_unread == 4; });
  // An orderly end over TCP is told from a client that waits by what the kernel answers to the
  // reply: mostly at once, else too late.
  wait_for([this](const ServerCounters& seen) {
    on_loop([this] { tcp().send(R"({"fn":"getStatus"})"); });
    return seen.reply_unread > 4;
  });
  expect_served();
}

TEST_F(ServerTest, WhoGoesWithoutReadingTheReplyIsCounted) {
  start();
  {
    const Client over_tcp = tcp();
    const Client over_unix = local();
    over_tcp.send(R"({"fn":"daemonStatus"})");
    over_unix.send(R"({"fn":"daemonStatus"})");
    wait_for([](const ServerCounters& seen) { return seen.requests == 2; });
    char first = 0;
    for (const Client* client : {&over_tcp, &over_unix}) {
      ASSERT_EQ(::recv(client->fd(), &first, 1, MSG_PEEK), 1) << "the reply is here, unread";
    }
    EXPECT_EQ(counters().reply_unread, 0U);
  }
  wait_for([](const ServerCounters& seen) { return seen.reply_unread == 2; });
  Client well = tcp();
  EXPECT_THAT(well.call(R"({"fn":"daemonStatus"})"), HasSubstr("schema"));
  well.close();
  wait_for([](const ServerCounters& seen) { return seen.connections == 0; });
  EXPECT_EQ(counters().reply_unread, 2U) << "who has read it may go";
}

TEST_F(ServerTest, AnIncompleteRequestIsToldSoInTime) {
  options_.request_time = 30ms;
  start();
  Client client = tcp();
  client.send_bytes(encode_frame(R"({"fn":"getStatus"})").substr(0, 10));
  EXPECT_EQ(error_code(client.receive()), "timed_out");
  EXPECT_EQ(client.receive(), "");
  EXPECT_EQ(counters().timed_out, 1U);
}

TEST_F(ServerTest, IdleConnectionsAreClosed) {
  options_.idle_time = 30ms;
  start();
  Client never = tcp();
  EXPECT_EQ(never.receive(), "");
  Client once = local();
  EXPECT_THAT(once.call(R"({"fn":"daemonStatus"})"), HasSubstr("schema"));
  EXPECT_EQ(once.receive(), "");
  EXPECT_EQ(counters().timed_out, 2U);
}

TEST_F(ServerTest, AnotherIdleTimeCountsForOpenConnectionsToo) {
  start();
  Client silent = tcp();
  Client once = local();
  EXPECT_THAT(once.call(R"({"fn":"daemonStatus"})"), HasSubstr("schema"));
  Client half = local();
  half.send_bytes(std::string_view("\x10\x00", 2));
  wait_for([](const ServerCounters& seen) { return seen.connections == 3; });
  ServerLimits limits = options_;
  limits.idle_time = 30ms;
  on_loop([&] { server_->set_limits(limits); });
  EXPECT_EQ(silent.receive(), "");
  EXPECT_EQ(once.receive(), "");
  EXPECT_EQ(tcp().receive(), "") << "and for new ones";
  // What has begun a request has its own time.
  EXPECT_EQ(counters().connections, 1U);
}

TEST_F(ServerTest, ALongerIdleTimeIsTakenUpBeforeTheOldOneEnds) {
  start();
  Client client = local();
  EXPECT_THAT(client.call(R"({"fn":"daemonStatus"})"), HasSubstr("schema"));
  ServerLimits limits = options_;
  std::promise<void> later;
  Timer timer;
  on_loop([&] {
    limits.idle_time = 30ms;
    server_->set_limits(limits);
    limits.idle_time = 300'000ms;
    server_->set_limits(limits);
    timer = loop_.after(60ms, [&] { later.set_value(); });  // the old one would have ended by then
  });
  later.get_future().wait();
  EXPECT_THAT(client.call(R"({"fn":"daemonStatus"})"), HasSubstr("schema"));
  on_loop([&] { timer.cancel(); });
}

TEST_F(ServerTest, OtherLimitsCountForWhoComesAndCloseNobody) {
  start();
  std::vector<Client> held;
  for (int i = 0; i < 6; ++i) {
    held.push_back(tcp());
    EXPECT_THAT(held.back().call(R"({"fn":"daemonStatus"})"), HasSubstr("schema"));
  }
  ServerLimits limits = options_;
  limits.max_connections = 4;
  limits.loopback_identity = false;
  on_loop([&] { server_->set_limits(limits); });
  EXPECT_EQ(counters().connections, 6U);
  EXPECT_EQ(error_code(held[0].call(R"({"fn":"listProcesses"})")), "not_identified");
  Client another = local();
  EXPECT_THAT(another.call(R"({"fn":"daemonStatus"})"), HasSubstr("schema"));
  EXPECT_EQ(error_code(held[5].receive()), "exhausted") << "the newest of the most";
  EXPECT_EQ(counters().over_limit, 1U);
  on_loop([&] { server_->set_limits(options_); });
  EXPECT_THAT(held[0].call(R"({"fn":"listProcesses"})"), HasSubstr("42"));
  expect_served();
}

TEST_F(ServerTest, AReaderThatDoesNotReadItsReplyIsClosed) {
  options_.request_time = 30ms;
  processes_.command_size = 4U << 20U;
  start();
  const Client client = local();
  client.send(R"({"fn":"listProcesses"})");
  wait_for([](const ServerCounters& seen) { return seen.accepted == 1 && seen.connections == 0; });
  EXPECT_LT(client.receive_raw().size(), 4U << 20U);
}

TEST_F(ServerTest, LargeRepliesArriveWhole) {
  processes_.command_size = 4U << 20U;
  start();
  Client client = local();
  EXPECT_GT(client.call(R"({"fn":"listProcesses"})").size(), 4U << 20U);
  processes_.command_size = 10;
  EXPECT_THAT(client.call(R"({"fn":"listProcesses"})"), HasSubstr("42"));
}

TEST_F(ServerTest, ALateAnswerToAClosedConnectionGoesNowhere) {
  std::promise<void> asked;
  start();
  Client client = local();
  client.send(R"({"fn":"socketDirectory"})");
  wait_for([](const ServerCounters& seen) { return seen.requests == 1; });
  on_loop([this] { processes_.late(SocketDirectoryReply{.directory = "/x"}); });
  EXPECT_THAT(client.receive(), HasSubstr("/x"));
  on_loop([this] { processes_.late(SocketDirectoryReply{.directory = "/twice"}); });
  client.send(R"({"fn":"socketDirectory"})");
  wait_for([](const ServerCounters& seen) { return seen.requests == 2; });
  client.close();
  on_loop([this] { processes_.late(SocketDirectoryReply{.directory = "/y"}); });
  wait_for([](const ServerCounters& seen) { return seen.connections == 0; });
  expect_served();
}

// 0 or an errno.
int send_with_descriptor(int socket, std::string bytes, int sent) {
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  iovec piece{bytes.data(), bytes.size()};
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(header), &sent, sizeof sent);
  return ::sendmsg(socket, &message, MSG_NOSIGNAL) < 0 ? errno : 0;
}

TEST_F(ServerTest, DescriptorsCannotBeSentAlong) {
  start();
  const Client client = local();
  const int off = 0;
  const UniqueFd probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (::setsockopt(probe.get(), SOL_SOCKET, 83 /* SO_PASSRIGHTS */, &off, sizeof off) != 0) {
    GTEST_SKIP() << "this kernel has no SO_PASSRIGHTS";
  }
  EXPECT_EQ(send_with_descriptor(client.fd(), "x", client.fd()), EPERM);
}

// Its close() takes a minute, because its peer reads nothing; the tests' patience is half of that.
struct LingeringSocket {
  LingeringSocket() : listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    ::bind(listener.get(), generic, size);
    ::listen(listener.get(), 1);
    ::getsockname(listener.get(), generic, &size);
    socket.reset(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(::connect(socket.get(), generic, size), 0);
    peer.reset(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
    const linger wait{.l_onoff = 1, .l_linger = 60};
    ::setsockopt(socket.get(), SOL_SOCKET, SO_LINGER, &wait, sizeof wait);
    const std::string bulk(1U << 20U, 'x');
    while (::send(socket.get(), bulk.data(), bulk.size(), MSG_DONTWAIT | MSG_NOSIGNAL) > 0) {
    }
  }
  UniqueFd listener, socket, peer;
};

// As before Linux 6.16.
TEST_F(ServerTest, OlderKernelsWayIsNotHeldUpByASocketSentAlong) {
  options_.refuse_descriptors = false;
  start();
  std::vector<LingeringSocket> lingering(3);
  const Client client = local();
  wait_for([](const ServerCounters& seen) { return seen.accepted == 1; });
  on_loop([&] {  // while the server does not read, so that the last references lie in the messages
    for (LingeringSocket& one : lingering) {
      ASSERT_EQ(send_with_descriptor(client.fd(), "x", one.socket.get()), 0);
      one.socket.reset();
    }
  });
  expect_served();  // in half a minute
  EXPECT_EQ(client.receive_raw(), "") << "who sends descriptors is cut off";
  EXPECT_EQ(counters().malformed, 1U);
}

TEST_F(ServerTest, OlderKernelsWayEndsConnectionsWithSocketsSentAlong) {
  options_.refuse_descriptors = false;
  resolver_.hold = true;
  start();
  LingeringSocket lingering;
  const Client client = local();
  client.send(R"({"fn":"listProcesses"})");
  wait_for([](const ServerCounters& seen) { return seen.requests == 1; });
  // Not read while a request is at work.
  ASSERT_EQ(send_with_descriptor(client.fd(), "x", lingering.socket.get()), 0);
  lingering.socket.reset();
  auto ended = std::async(std::launch::async, [this] { on_loop([this] { server_.reset(); }); });
  EXPECT_EQ(ended.wait_for(kPatience), std::future_status::ready);
}

TEST_F(ServerTest, OlderKernelsWayServesHonestClients) {
  options_.refuse_descriptors = false;
  options_.pin_by_kernel = false;
  start();
  expect_served();
  EXPECT_THAT(local().call(R"({"fn":"listProcesses"})"), HasSubstr("\"pid\":42"));
}

// As with the subordinate ids of rootless containers.
TEST_F(ServerTest, AUidOfAnotherUsersNamespaceIsSaidToBeOne) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can map another user's ids";
  start();
  std::array<int, 2> ready{};
  std::array<int, 2> go{};
  ASSERT_EQ(::pipe(ready.data()), 0);
  ASSERT_EQ(::pipe(go.data()), 0);
  const pid_t pid = ::fork();
  ASSERT_GE(pid, 0);
  if (pid == 0) {
    const bool made = ::setresuid(23456, 23456, 23456) == 0 && ::unshare(CLONE_NEWUSER) == 0;
    char byte = made ? 'y' : 'n';
    if (::write(ready[1], &byte, 1) != 1 || ::read(go[0], &byte, 1) != 1) ::_exit(1);
    if (::setresuid(0, 0, 0) != 0) ::_exit(2);  // 100999 outside
    Client client = local();
    ::_exit(client.call(R"({"fn":"listProcesses"})").empty() ? 3 : 0);
  }
  char made = 0;
  ASSERT_EQ(::read(ready[0], &made, 1), 1);
  const std::string map = fmt::format("/proc/{}/uid_map", pid);
  const UniqueFd mapping(::open(map.c_str(), O_WRONLY | O_CLOEXEC));
  const bool mapped = made == 'y' && ::write(mapping.get(), "0 100999 1", 10) == 10;
  ASSERT_EQ(::write(go[1], "g", 1), 1);
  int status = 0;
  ::waitpid(pid, &status, 0);
  for (const int fd : {ready[0], ready[1], go[0], go[1]}) ::close(fd);
  if (!mapped) GTEST_SKIP() << "this kernel lets users make no user namespaces";
  ASSERT_EQ(status, 0);
  EXPECT_THAT(local().call(R"({"fn":"listProcesses"})"), HasSubstr("pid"));
  const auto callers = on_loop([this] { return processes_.callers; });
  ASSERT_EQ(callers.size(), 2U);
  EXPECT_EQ(callers[0].tenant.uid, Uid{100999});
  EXPECT_TRUE(callers[0].in_foreign_user_namespace);
  EXPECT_FALSE(callers[1].in_foreign_user_namespace);
}

TEST_F(ServerTest, ClientsThatShutTheirWritingSideAreKnown) {
  start();
  for (int i = 0; i < 50; ++i) {
    Client client = tcp();
    client.send(R"({"fn":"listProcesses"})");
    ::shutdown(client.fd(), SHUT_WR);
    EXPECT_THAT(client.receive(), HasSubstr("\"pid\":42"));
  }
}

// --- following
// ------------------------------------------------------------------------------------

TEST_F(ServerTest, AFollowedTraceStreamsUntilItsLastFrame) {
  start();
  Client client = local();
  EXPECT_THAT(client.call(R"({"fn":"followTrace","session":"s"})"), HasSubstr("\"done\":false"));
  on_loop(
      [this] { traces_.on_frame(FollowFrame{.session = "s", .updates = {{}}, .done = false}); });
  EXPECT_THAT(client.receive(), HasSubstr("\"updates\":[{"));
  on_loop([this] {
    const auto sink = traces_.on_frame;
    sink(FollowFrame{.session = "s", .updates = {}, .done = true});
    EXPECT_EQ(traces_.ended, 0) << "destroyed inside its own callback";
    sink(FollowFrame{.session = "late", .updates = {}, .done = false});
  });
  EXPECT_THAT(client.receive(), HasSubstr("\"done\":true"));
  EXPECT_EQ(followings_ended(), 1);
  EXPECT_THAT(client.call(R"({"fn":"daemonStatus"})"), HasSubstr("uptime"));  // goes on
}

TEST_F(ServerTest, ATraceThatIsOverIsFollowedByOneFrame) {
  start();
  Client client = local();
  EXPECT_THAT(client.call(R"({"fn":"followTrace","session":"over"})"), HasSubstr("\"done\":true"));
  EXPECT_THAT(client.call(R"({"fn":"daemonStatus"})"), HasSubstr("uptime"));
  EXPECT_EQ(followings_ended(), 1);
}

TEST_F(ServerTest, TheClientsEndEndsTheFollowing) {
  std::promise<void> ended;
  traces_.on_ended = [&] { ended.set_value(); };
  start();
  Client client = local();
  EXPECT_THAT(client.call(R"({"fn":"followTrace","session":"s"})"), HasSubstr("done"));
  client.close();
  ended.get_future().get();
  traces_.on_ended = nullptr;
}

TEST_F(ServerTest, AFileIsFetchedPieceByPieceAndReleased) {
  start();
  Client client = local();
  const auto first =
      decode_fetch_reply(client.call(encode(FetchRequest{.session = "s", .pid = 7, .offset = 0})));
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_EQ(first->stamp, "s:7");
  EXPECT_EQ(first->crc32, 0xffffffffU);
  EXPECT_FALSE(first->last);
  const auto second = decode_fetch_reply(
      client.call(encode(FetchRequest{.session = "s", .pid = 7, .offset = first->plain_bytes})));
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_TRUE(second->last);
  EXPECT_EQ(second->side_car, "{}");
  EXPECT_EQ(error_code(client.call(
                encode(FetchRequest{.session = "s", .pid = 7, .offset = std::uint64_t{1} << 63U}))),
            "bad_request");
  const auto released = decode_release_reply(
      client.call(encode(ReleaseRequest{.session = "s", .pid = 7, .file = "/home/a/t.json"})));
  ASSERT_TRUE(released) << released.error().message;
  EXPECT_TRUE(released->removed);
  EXPECT_EQ(counters().accepted, 1U);
}

TEST_F(ServerTest, TracesAreListedAndDeleted) {
  start();
  Client client = local();
  const auto listed = decode_list_traces_reply(client.call(encode_request("listTraces")));
  ASSERT_TRUE(listed) << listed.error().message;
  ASSERT_EQ(listed->sessions.size(), 1U);
  EXPECT_EQ(listed->sessions[0].kept_bytes, 12U);
  const auto deleted = decode_delete_trace_reply(
      client.call(encode_request("deleteTrace", SessionRequest{.session = "aa"})));
  ASSERT_TRUE(deleted) << deleted.error().message;
  EXPECT_EQ(deleted->freed_bytes, 12U);
  EXPECT_EQ(error_code(client.call(encode_request("deleteTrace", SessionRequest{.session = "bb"}))),
            "not_found");
}

TEST_F(ServerTest, MetricsAreForEverybody) {
  start();
  QueryMetricsRequest request;
  request.expressions.push_back({.selector = "cpu.time", .by = {}});
  Client client = tcp();
  const auto reply = decode_query_metrics_reply(client.call(encode(request)));
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_EQ(reply->results.at(0).selector, "cpu.time");
  EXPECT_THAT(client.call(encode(ListMetricsRequest{.selector = "x"})), HasSubstr("no metric 'x'"));
  EXPECT_THAT(client.call(R"({"fn":"queryMetrics","expressions":7})"),
              HasSubstr("\"expressions\\\" is not a list"));
}

TEST_F(ServerTest, ADiagnosisIsForKnownCallers) {
  start();
  DiagnoseRequest request;
  request.pids = {7};
  const auto reply = decode_diagnose_reply(local().call(encode(request)));
  ASSERT_TRUE(reply) << reply.error().message;
  ASSERT_EQ(reply->findings.size(), 1U);
  EXPECT_EQ(reply->findings[0].pid, 7);
  EXPECT_EQ(diagnosis_.callers[0].tenant.uid.value, ::getuid());
}

TEST_F(ServerTest, WhoIsNotKnownNeitherFetchesNorDiagnoses) {
  resolver_.refusal = Error{ErrorKind::not_identified, "who are you"};
  start();
  for (const std::string& request :
       {encode(FetchRequest{.session = "s", .pid = 7, .offset = 0}),
        encode(ReleaseRequest{.session = "s", .pid = 7, .file = ""}), encode_request("listTraces"),
        encode_request("deleteTrace", SessionRequest{.session = "aa"}), encode(DiagnoseRequest{}),
        encode(SetLogLevelRequest{"debug"})}) {
    EXPECT_EQ(error_code(local().call(request)), "not_identified") << request;
  }
  EXPECT_THAT(traces_.callers, IsEmpty());
  EXPECT_THAT(diagnosis_.callers, IsEmpty());
  EXPECT_THAT(log_level_.callers, IsEmpty());
  EXPECT_THAT(local().call(encode_request("logLevel")), HasSubstr("\"level\":\"info\""));
}

TEST_F(ServerTest, WhoSetsTheLogLevelIsKnownToTheService) {
  start();
  const std::string reply = local().call(encode(SetLogLevelRequest{"debug"}));
  ASSERT_EQ(log_level_.callers.size(), 1U);
  EXPECT_EQ(log_level_.callers[0].tenant.uid.value, ::getuid());
  if (::getuid() == 0) {
    EXPECT_EQ(decode_log_level_reply(reply)->level, "debug");
  } else {
    EXPECT_EQ(error_code(reply), "denied");
  }
  EXPECT_EQ(error_code(local().call(R"({"fn":"setLogLevel"})")), "bad_request");
}

TEST_F(ServerTest, AFurtherRequestWhileFollowingIsRefused) {
  start();
  Client client = local();
  EXPECT_THAT(client.call(R"({"fn":"followTrace","session":"s"})"), HasSubstr("done"));
  EXPECT_EQ(error_code(client.call(R"({"fn":"daemonStatus"})")), "bad_request");
  EXPECT_EQ(client.receive(), "");
  EXPECT_EQ(followings_ended(), 1);
}

TEST_F(ServerTest, AFollowerThatDoesNotReadIsClosed) {
  start();
  Client client = local();
  EXPECT_THAT(client.call(R"({"fn":"followTrace","session":"s"})"), HasSubstr("done"));
  on_loop([this] {
    FollowFrame frame{.session = "s", .updates = {}, .done = false};
    frame.updates.resize(100);
    for (int i = 0; i < 1000 && server_->counters().connections > 0; ++i) {
      if (traces_.on_frame) traces_.on_frame(frame);
    }
    EXPECT_EQ(server_->counters().connections, 0U);
  });
  EXPECT_EQ(followings_ended(), 1);
}

TEST_F(ServerTest, TheServersEndEndsFollowings) {
  start();
  Client client = local();
  EXPECT_THAT(client.call(R"({"fn":"followTrace","session":"s"})"), HasSubstr("done"));
  on_loop([this] { server_.reset(); });
  EXPECT_EQ(traces_.ended, 1);
  EXPECT_EQ(client.receive(), "");
  EXPECT_FALSE(std::filesystem::exists(options_.unix_path));
}

// --- limits
// ---------------------------------------------------------------------------------------

TEST_F(ServerTest, ThreeHundredIdleConnectionsAreNoMatter) {
  start();
  std::vector<Client> idle;
  for (int i = 0; i < 300; ++i) idle.push_back(i % 2 == 0 ? tcp() : local());
  // Root and the daemon's own user are exempt from the limit per user.
  wait_for([](const ServerCounters& seen) { return seen.connections == 300; });
  expect_served();
}

// Connects as another user, in a process of its own that lives until it is told to end.
class OtherUser {
 public:
  OtherUser(uid_t uid, const std::function<void()>& work) {
    std::array<int, 2> done{};
    std::array<int, 2> go{};
    EXPECT_EQ(::pipe2(done.data(), O_CLOEXEC), 0);
    EXPECT_EQ(::pipe2(go.data(), O_CLOEXEC), 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::close(go[1]);
      if (::setresuid(uid, uid, uid) != 0) ::_exit(100);
      work();
      char byte = 0;
      if (::write(done[1], &byte, 1) != 1) ::_exit(101);
      static_cast<void>(::read(go[0], &byte, 1));
      ::_exit(0);
    }
    ::close(done[1]);
    ::close(go[0]);
    go_ = UniqueFd(go[1]);
    const UniqueFd ready(done[0]);
    char byte = 0;
    EXPECT_EQ(::read(ready.get(), &byte, 1), 1);
  }
  ~OtherUser() { end(); }
  void end() {
    if (!go_.valid()) return;
    go_.reset();
    ::waitpid(pid_, nullptr, 0);
  }

 private:
  pid_t pid_ = -1;
  UniqueFd go_;
};

// What other users' processes were answered: they cannot tell the test themselves.
class Replies {
 public:
  explicit Replies(const std::string& directory) : directory_(directory + "/replies") {
    EXPECT_EQ(::mkdir(directory_.c_str(), 0777), 0);
    ::chmod(directory_.c_str(), 0777);
  }
  void put(const std::string& name, const std::string& reply) const {
    const UniqueFd file(::open((directory_ + "/" + name).c_str(), O_CREAT | O_WRONLY, 0666));
    static_cast<void>(write_all(file.get(), reply));
  }
  [[nodiscard]] std::string get(const std::string& name) const {
    return read_file(directory_ + "/" + name, 100000).value_or("nothing");
  }

 private:
  std::string directory_;
};

constexpr std::string_view kStatusCall = R"({"fn":"daemonStatus"})";

TEST_F(ServerTest, AUserIsHeldToItsLimitOverEachTransportAndRootIsNot) {
  if (::getuid() != 0) GTEST_SKIP() << "needs root to become another user";
  options_.max_connections_per_uid = 5;
  start();
  std::vector<Client> held;
  const Replies replies(directory_);
  OtherUser other(23456, [&] {
    for (const bool over_tcp : {true, false}) {
      for (int i = 0; i < 5; ++i) {
        held.push_back(over_tcp ? tcp() : local());
        static_cast<void>(held.back().call(kStatusCall));  // it is accepted now
      }
      replies.put(over_tcp ? "tcp" : "unix", (over_tcp ? tcp() : local()).receive());
    }
  });
  EXPECT_EQ(error_code(replies.get("tcp")), "exhausted");
  EXPECT_EQ(error_code(replies.get("unix")), "exhausted");
  EXPECT_EQ(counters().over_limit, 2U);
  for (int i = 0; i < 10; ++i) held.push_back(tcp());  // root
  wait_for([](const ServerCounters& seen) { return seen.connections == 20; });
  other.end();
  wait_for([](const ServerCounters& seen) { return seen.connections == 10; });
}

// In a container its root gives a socket to any uid; that must cost that user nothing.
TEST_F(ServerTest, TcpInAnotherUsersNameTakesNoPlacesOnTheUnixSocket) {
  if (::getuid() != 0) GTEST_SKIP() << "needs root to become another user";
  options_.max_connections_per_uid = 3;
  options_.max_connections = 8;
  start();
  std::vector<Client> held;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(port_));
  for (int i = 0; i < 8; ++i) {
    UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    ASSERT_EQ(::fchown(socket.get(), 23457, 23457), 0);
    ASSERT_EQ(::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    held.emplace_back(std::move(socket));
    static_cast<void>(held.back().call(kStatusCall));
  }
  EXPECT_EQ(counters().over_limit, 5U) << "the uid was not taken from the socket";
  const Replies replies(directory_);
  const OtherUser bob(23457, [&] {
    for (int i = 0; i < 3; ++i) held.push_back(local());
    replies.put("bob", held.back().call(kStatusCall));
  });
  EXPECT_THAT(replies.get("bob"), HasSubstr("uptime"));
}

// Each connection from another of its uids, as many as the daemon takes in all.
TEST_F(ServerTest, SubordinateUidsOverTcpDoNotLockUsersOut) {
  if (!can_enter_user_namespace()) GTEST_SKIP() << "no user namespaces of other users here";
  options_.max_connections = 8;
  options_.max_connections_per_uid = 4;
  start();
  std::vector<Client> held;
  const Replies replies(directory_);
  const OtherUser mallory(0, [&] {
    std::string answered;
    if (!enter_user_namespace(23456, 100000, 20)) ::_exit(102);
    for (uid_t uid = 1; uid <= 8; ++uid) {
      if (::seteuid(uid) != 0) ::_exit(103);
      held.push_back(tcp());
      answered += held.back().call(kStatusCall).empty() ? "no " : "yes ";
      if (::seteuid(0) != 0) ::_exit(104);
    }
    replies.put("mallory", answered);
  });
  EXPECT_EQ(replies.get("mallory"), "yes yes yes yes yes yes yes yes ");
  // A lower uid than those: whom a tie is decided against must not be who has the lowest.
  const OtherUser bob(23457, [&] {
    Client first = local();
    replies.put("first", first.call(kStatusCall));
    Client second = local();
    replies.put("second", second.call(kStatusCall));
    replies.put("first again", first.call(kStatusCall));
    held.push_back(std::move(first));
  });
  EXPECT_THAT(replies.get("first"), HasSubstr("uptime"));
  EXPECT_THAT(replies.get("second"), HasSubstr("uptime"));
  EXPECT_THAT(replies.get("first again"), HasSubstr("uptime"));
  Client late = tcp();
  static_cast<void>(late.call(kStatusCall));
  EXPECT_THAT(local().call(kStatusCall), HasSubstr("uptime"));
}

TEST_F(ServerTest, SubordinateUidsAreOneUserOnTheUnixSocket) {
  if (!can_enter_user_namespace()) GTEST_SKIP() << "no user namespaces of other users here";
  options_.max_connections_per_uid = 3;
  start();
  std::vector<Client> held;
  const Replies replies(directory_);
  const OtherUser mallory(0, [&] {
    if (!enter_user_namespace(23456, 100000, 20)) ::_exit(102);
    for (uid_t uid = 1; uid <= 4; ++uid) {
      if (::seteuid(uid) != 0) ::_exit(103);
      held.push_back(local());
      replies.put(std::to_string(uid), held.back().call(kStatusCall));
      if (::seteuid(0) != 0) ::_exit(104);
    }
  });
  EXPECT_THAT(replies.get("3"), HasSubstr("uptime"));
  EXPECT_EQ(error_code(replies.get("4")), "exhausted");
}

// Whoever connected has ended and left its socket to another: its user namespace is not known.
TEST_F(ServerTest, ConnectionsWhoseMakerHasEndedAreOneUsers) {
  if (::getuid() != 0) GTEST_SKIP() << "needs root to become another user";
  options_.max_connections = 4;
  start();
  std::vector<UniqueFd> held;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, options_.unix_path.data(), options_.unix_path.size());
  for (uid_t uid = 100001; uid <= 100004; ++uid) {
    held.emplace_back(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    OtherUser maker(uid, [&] {
      if (::connect(held.back().get(), reinterpret_cast<sockaddr*>(&address), sizeof address) !=
          0) {
        ::_exit(102);
      }
    });
    maker.end();
  }
  const Replies replies(directory_);
  const OtherUser bob(23457, [&] {
    Client first = local();
    replies.put("first", first.call(kStatusCall));
    Client second = local();
    replies.put("second", second.call(kStatusCall));
    replies.put("first again", first.call(kStatusCall));
  });
  EXPECT_THAT(replies.get("first"), HasSubstr("uptime"));
  EXPECT_THAT(replies.get("second"), HasSubstr("uptime"));
  EXPECT_THAT(replies.get("first again"), HasSubstr("uptime"));
}

TEST_F(ServerTest, AtTheLimitTheHeaviestUserGivesWay) {
  if (::getuid() != 0) GTEST_SKIP() << "needs root to become another user";
  options_.max_connections = 8;
  options_.max_connections_per_uid = 100;
  start();
  std::vector<Client> held;
  const OtherUser heavy(23456, [&] {
    for (int i = 0; i < 8; ++i) held.push_back(local());
    // Until all were accepted: the last one's answer comes after them.
    static_cast<void>(held.back().call(R"({"fn":"daemonStatus"})"));
  });
  EXPECT_EQ(counters().connections, 8U);
  Client mine = local();
  EXPECT_THAT(mine.call(R"({"fn":"daemonStatus"})"), HasSubstr("uptime"));
  EXPECT_EQ(counters().connections, 8U);
  EXPECT_EQ(counters().over_limit, 1U);
}

TEST_F(ServerTest, WithoutDescriptorsConnectionsAreTurnedAwayInsteadOfSpinning) {
  start();
  expect_served();
  // Each kind of object is used once before: UBSan needs descriptors to look at a new one.
  EXPECT_EQ(error_code(local().call("garbage")), "bad_request");
  Client early = local();
  EXPECT_THAT(early.call(R"({"fn":"daemonStatus"})"), HasSubstr("uptime"));
  // No connection is about to end, which would free a descriptor again.
  wait_for([](const ServerCounters& seen) { return seen.connections == 1; });
  // New descriptors fail from here on, in the server as well.
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  std::vector<Client> waiting;
  for (int i = 0; i < 3; ++i) {
    waiting.emplace_back(UniqueFd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)));
  }
  std::vector<UniqueFd> fill;
  rlimit low = before;
  low.rlim_cur = 64 + static_cast<rlim_t>(waiting.back().fd());
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &low), 0);
  for (;;) {
    UniqueFd fd(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    if (!fd.valid()) break;
    fill.push_back(std::move(fd));
  }
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, options_.unix_path.data(), options_.unix_path.size());
  for (Client& client : waiting) {
    ASSERT_EQ(::connect(client.fd(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(error_code(client.receive()), "exhausted");
  }
  EXPECT_THAT(early.call(R"({"fn":"daemonStatus"})"), HasSubstr("uptime"));
  fill.clear();
  ::setrlimit(RLIMIT_NOFILE, &before);
  expect_served();
}

// --- identity
// -------------------------------------------------------------------------------------

TEST_F(ServerTest, ACallerIsKnownOverEachTransport) {
  start();
  EXPECT_THAT(tcp().call(R"({"fn":"listProcesses"})"), HasSubstr("42"));
  EXPECT_THAT(local().call(R"({"fn":"listProcesses"})"), HasSubstr("42"));
  Client v6 = Client::tcp(port_, true);
  if (v6.connected()) {
    EXPECT_THAT(v6.call(R"({"fn":"listProcesses"})"), HasSubstr("42"));
  }
  ASSERT_GE(processes_.callers.size(), 2U);
  EXPECT_EQ(processes_.callers[0].via, "tcp");
  EXPECT_EQ(processes_.callers[1].via, "unix");
  for (const Caller& caller : processes_.callers) EXPECT_EQ(caller.tenant.uid.value, ::getuid());
}

TEST_F(ServerTest, AClosedClientIsNotRoot) {
  // Resolved while open, gone before the method could act.
  resolver_.hold = true;
  std::promise<void> held;
  resolver_.on_held = [&] { held.set_value(); };
  start();
  Client client = tcp();
  client.send(R"({"fn":"setKinetOnDemandRequest","config":"A=1","pids":[0]})");
  held.get_future().get();
  resolver_.on_held = nullptr;
  client.close();
  on_loop([this] { resolver_.held.at(0)(); });
  resolver_.hold = false;

  // Gone before it was even looked up.
  for (int i = 0; i < 20; ++i) {
    on_loop([&] {  // the loop is busy while the client comes and goes
      const Client hasty = tcp();
      hasty.send(R"({"fn":"setKinetOnDemandRequest","config":"A=1","pids":[0]})");
    });
  }
  wait_for([](const ServerCounters& seen) { return seen.accepted == 21 && seen.connections == 0; });
  EXPECT_THAT(traces_.requests, IsEmpty());
  EXPECT_EQ(counters().not_identified, 21U);
}

TEST_F(ServerTest, AnotherUserIsThatUserAndNobodyAfterItsEnd) {
  if (::getuid() != 0) GTEST_SKIP() << "needs root to become another user";
  resolver_.hold = true;
  start();
  OtherUser other(23456, [&] {
    for (const auto& client :
         {std::make_shared<Client>(local()), std::make_shared<Client>(tcp())}) {
      client->send(R"({"fn":"listProcesses"})");
      static std::vector<std::shared_ptr<Client>> open;
      open.push_back(client);
    }
  });
  wait_for([](const ServerCounters& seen) { return seen.requests == 2; });
  on_loop([this] { resolver_.held.at(0)(); });
  on_loop([this] { resolver_.held.at(1)(); });
  ASSERT_EQ(processes_.callers.size(), 2U);
  for (const Caller& caller : processes_.callers) EXPECT_EQ(caller.tenant.uid.value, 23456U);
  other.end();

  OtherUser gone(23456, [&] {
    for (const auto& client :
         {std::make_shared<Client>(local()), std::make_shared<Client>(tcp())}) {
      client->send(R"({"fn":"listProcesses"})");
      static std::vector<std::shared_ptr<Client>> open;
      open.push_back(client);
    }
  });
  wait_for([](const ServerCounters& seen) { return seen.requests == 4; });
  gone.end();
  on_loop([this] { resolver_.held.at(2)(); });
  on_loop([this] { resolver_.held.at(3)(); });
  EXPECT_EQ(processes_.callers.size(), 2U);
  EXPECT_EQ(counters().not_identified, 2U);
}

TEST_F(ServerTest, LoopbackIdentityCanBeSwitchedOff) {
  options_.loopback_identity = false;
  start();
  Client client = tcp();
  EXPECT_EQ(error_code(client.call(R"({"fn":"listProcesses"})")), "not_identified");
  EXPECT_THAT(client.call(R"({"fn":"daemonStatus"})"), HasSubstr("uptime"));
  EXPECT_THAT(local().call(R"({"fn":"listProcesses"})"), HasSubstr("42"));
  EXPECT_EQ(resolver_.asked, 1);
}

TEST_F(ServerTest, RootOverTcpCanBeSwitchedOff) {
  if (::getuid() != 0) GTEST_SKIP() << "needs root";
  options_.loopback_root = false;
  start();
  const std::string reply = tcp().call(R"({"fn":"listProcesses"})");
  EXPECT_EQ(error_code(reply), "denied");
  EXPECT_THAT(reply, HasSubstr("unix socket"));
  EXPECT_THAT(local().call(R"({"fn":"listProcesses"})"), HasSubstr("42"));
}

TEST_F(ServerTest, TheResolversRefusalIsTheAnswer) {
  resolver_.refusal = Error{ErrorKind::denied, "held by two users"};
  start();
  const std::string reply = tcp().call(R"({"fn":"listProcesses"})");
  EXPECT_EQ(error_code(reply), "denied");
  EXPECT_THAT(reply, HasSubstr("held by two users"));
}

TEST_F(ServerTest, AUnixCallerIsResolvedOnceForItsConnection) {
  start();
  Client client = local();
  for (int i = 0; i < 3; ++i) static_cast<void>(client.call(R"({"fn":"listProcesses"})"));
  EXPECT_EQ(resolver_.asked, 1);
  Client other = tcp();
  for (int i = 0; i < 3; ++i) static_cast<void>(other.call(R"({"fn":"listProcesses"})"));
  EXPECT_EQ(resolver_.asked, 4) << "a TCP socket's holder may change";
}

// --- listening
// ------------------------------------------------------------------------------------

TEST_F(ServerTest, ListensOnBothLoopbacksAndTheSocketForEverybody) {
  start();
  const auto listening = server_->listening();
  ASSERT_GE(listening.size(), 2U);
  EXPECT_EQ(listening[0].name, "unix:" + options_.unix_path);
  EXPECT_EQ(listening[1].name, "tcp:127.0.0.1:" + std::to_string(port_));
  for (const auto& one : listening) EXPECT_TRUE(one.up) << one.name << ": " << one.problem;
  struct stat status{};
  ASSERT_EQ(::stat(options_.unix_path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0666U);
}

TEST_F(ServerTest, AStaleSocketIsReplacedALiveOneIsLeftAlone) {
  {
    const UniqueFd stale(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, options_.unix_path.data(), options_.unix_path.size());
    ASSERT_EQ(::bind(stale.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  }
  start();
  EXPECT_TRUE(server_->listening().at(0).up);
  ServerOptions same = options_;
  same.tcp_port = port_;
  on_loop([&] {
    auto second = Server::start(loop_, *log_, same,
                                Services{.status = status_,
                                         .processes = processes_,
                                         .traces = traces_,
                                         .diagnosis = diagnosis_,
                                         .log = log_level_},
                                metrics_, resolver_);
    const auto listening = second->listening();
    EXPECT_FALSE(listening.at(0).up);
    EXPECT_THAT(listening.at(0).problem, HasSubstr("pid " + std::to_string(::getpid())));
    EXPECT_FALSE(listening.at(1).up);
    EXPECT_THAT(listening.at(1).problem, HasSubstr("taken"));
    second.reset();
  });
  expect_served();  // the first one's socket is still there
}

TEST_F(ServerTest, AFileInTheWayIsLeftAlone) {
  const UniqueFd file(::open(options_.unix_path.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
  start();
  EXPECT_FALSE(server_->listening().at(0).up);
  EXPECT_THAT(server_->listening().at(0).problem, HasSubstr("no socket"));
  EXPECT_EQ(tcp().call(R"({"fn":"getStatus"})"), R"({"status":1})");
  on_loop([this] { server_.reset(); });
  EXPECT_TRUE(std::filesystem::exists(options_.unix_path));
}

TEST_F(ServerTest, BeyondLoopbackNeedsAChoice) {
  options_.tcp_address = "0.0.0.0";
  start();
  ASSERT_EQ(server_->listening().size(), 2U);
  EXPECT_FALSE(server_->listening()[1].up);
  EXPECT_THAT(server_->listening()[1].problem, HasSubstr("--rpc_auth=none"));
  EXPECT_THAT(local().call(R"({"fn":"daemonStatus"})"), HasSubstr("uptime"));
}

TEST_F(ServerTest, WithAuthNoneLoopbackIsStillIdentified) {
  options_.tcp_address = "0.0.0.0";
  options_.auth = RpcAuth::none;
  start();
  EXPECT_THAT(tcp().call(R"({"fn":"listProcesses"})"), HasSubstr("42"));
}

}  // namespace
}  // namespace dynolog::rpc
