// Encoding on the pipeline's thread, compressing and sending on one of its own.
#include "sinks/otlp.h"

#include <pthread.h>
#include <signal.h>
#include <sys/utsname.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <utility>

#include "base/url.h"
#include "metrics/interval_values.h"
#include "net/event_loop.h"
#include "net/gzip.h"
#include "net/http_client.h"
#include "sinks/otlp_encoding.h"
#include "sinks/otlp_queue.h"

namespace dynolog {
namespace {

using Attributes = std::vector<std::pair<std::string, std::string>>;

constexpr std::string_view kStandardPath = "/v1/metrics";
constexpr auto kLastWords = std::chrono::milliseconds(500);
// Not yet compressed, for a thread that gets no CPU.
constexpr std::size_t kMaxUncompressed = 64U << 20U;

// The conventions' name for this machine's architecture.
std::string architecture() {
  utsname name{};
  if (::uname(&name) != 0) return {};
  const std::string_view machine = name.machine;
  if (machine == "x86_64") return "amd64";
  if (machine == "aarch64") return "arm64";
  return std::string(machine);
}

// Ours; the user's attributes win.
Attributes resource_attributes(const OtlpSinkOptions& options, const OtlpAbout& about) {
  Attributes attributes = {
      {"service.name", "dynolog"},
      {"service.version", about.version},
      {"service.instance.id", about.host_id.empty() ? about.host : about.host_id},
      {"host.name", about.host},
      {"host.id", about.host_id},
      {"host.arch", architecture()},
      {"os.type", "linux"}};
  for (const auto& [key, value] : options.resource_attributes) {
    const auto known = std::ranges::find(attributes, key, &Attributes::value_type::first);
    if (known != attributes.end()) {
      known->second = value;
    } else {
      attributes.emplace_back(key, value);
    }
  }
  if (!options.service_name.empty()) attributes.front().second = options.service_name;
  std::erase_if(attributes, [](const auto& attribute) { return attribute.second.empty(); });
  return attributes;
}

HttpClientOptions client_options(const OtlpSinkOptions& options, const HttpUrl& url,
                                 const OtlpAbout& about) {
  HttpClientOptions client;
  client.to = {.host = url.host, .port = url.port, .unix_path = {}};
  client.executable = about.executable;
  client.user_agent = "dynolog/" + about.version;
  client.tls = url.tls;
  client.tls_ca = options.tls_ca;
  client.tls_certificate = options.tls_certificate;
  client.tls_key = options.tls_key;
  client.ca_hint = "--otlp_ssl_ca_cert_path may name the file of its CA";
  client.certificate_hint =
      "a certificate of this host's own is given by --otlp_ssl_client_cert_path and "
      "--otlp_ssl_client_key_path";
  return client;
}

OtlpQueueOptions queue_options(const OtlpSinkOptions& options, const HttpUrl& url) {
  OtlpQueueOptions queue;
  queue.target = url.path.empty() || url.path == "/" ? std::string(kStandardPath) : url.path;
  queue.fields = options.headers;
  queue.fields.emplace_back("Content-Type", "application/x-protobuf");
  if (options.compress) queue.fields.emplace_back("Content-Encoding", "gzip");
  queue.timeout = options.timeout;
  queue.max_batches = options.max_queued;
  queue.max_bytes = options.max_queued_bytes;
  return queue;
}

class OtlpSink final : public Sink {
 public:
  OtlpSink(const OtlpSinkOptions& options, const OtlpAbout& about, const Clock& clock, Log& log)
      : options_(options),
        clock_(clock),
        log_(log),
        interval_(options.interval),
        means_(std::chrono::hours(24), IntervalValues::Of::gauges),
        encoder_({.resource = resource_attributes(options, about),
                  .version = about.version,
                  .boot = about.boot,
                  .started = about.started}) {}
  OtlpSink(const OtlpSink&) = delete;
  OtlpSink& operator=(const OtlpSink&) = delete;

  ~OtlpSink() override {
    if (!thread_.joinable()) return;
    loop_.post([this] {
      if (queue_->problem()) return loop_.stop();  // it would not be quick
      give_up_ = loop_.after(kLastWords, [this] { loop_.stop(); });
      queue_->when_empty([this] { loop_.stop(); });
    });
    thread_.join();
  }

  Status begin(const HttpUrl& url, const OtlpAbout& about) {
    auto client = HttpClient::make(loop_, log_, client_options(options_, url, about));
    if (!client) return std::unexpected(std::move(client.error()));
    client_ = std::move(*client);
    queue_ = std::make_unique<OtlpQueue>(
        OtlpQueue::World{.loop = loop_, .clock = clock_, .log = log_, .client = *client_},
        queue_options(options_, url));
    thread_ = std::thread([this] {
      ::pthread_setname_np(::pthread_self(), "otlp");
      loop_.run();
    });
    return {};
  }

  [[nodiscard]] std::string_view name() const override { return "otlp"; }

  [[nodiscard]] Status consume(const Frame& frame) override {
    means_.add(frame);
    if (interval_.is_due(frame.wall())) {
      for (OtlpBatch& batch : encoder_.encode(frame, means_)) hand_over(std::move(batch));
      means_.restart();
    }
    if (auto problem = queue_->problem()) return std::unexpected(std::move(*problem));
    return {};
  }
  [[nodiscard]] Status consume(const Event&) override { return {}; }

  [[nodiscard]] SinkQueue queue() const override {
    SinkQueue queue = queue_->counts();
    queue.dropped += not_handed_over_;
    return queue;
  }

 private:
  void hand_over(OtlpBatch batch) {
    if (uncompressed_ > kMaxUncompressed) {
      ++not_handed_over_;
      return;
    }
    uncompressed_ += batch.bytes.size();
    loop_.post([this, batch = std::move(batch)]() mutable {
      uncompressed_ -= batch.bytes.size();
      auto bytes = options_.compress ? gzip(batch.bytes) : Result<std::string>(batch.bytes);
      if (!bytes) return log_.warning("OTLP: {}", bytes.error().message);
      bytes->shrink_to_fit();
      queue_->put({std::make_shared<const std::string>(std::move(*bytes)), batch.points});
    });
  }

  const OtlpSinkOptions options_;
  const Clock& clock_;
  Log& log_;
  ReportingInterval interval_;
  IntervalValues means_;
  OtlpEncoder encoder_;
  std::uint64_t not_handed_over_ = 0;
  std::atomic<std::size_t> uncompressed_ = 0;

  EventLoop loop_;
  std::unique_ptr<HttpClient> client_;
  std::unique_ptr<OtlpQueue> queue_;
  Timer give_up_;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace

Result<std::unique_ptr<Sink>> make_otlp_sink(const OtlpSinkOptions& options, const Clock& clock,
                                             Log& log, OtlpAbout about) {
  const auto url = parse_http_url(options.endpoint);
  if (!url) return with_context(url.error(), options.endpoint);
  auto sink = std::make_unique<OtlpSink>(options, about, clock, log);
  // The thread inherits the mask: signals are the main thread's.
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  auto begun = sink->begin(*url, about);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (!begun) return std::unexpected(std::move(begun.error()));
  return sink;
}

}  // namespace dynolog
