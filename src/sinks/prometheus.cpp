// Sink `prometheus`: what it keeps of a frame, and what it answers.
#include "sinks/prometheus.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/text.h"
#include "net/http_server.h"
#include "net/http_text.h"
#include "sinks/prometheus_page.h"

namespace dynolog {
namespace {

constexpr std::size_t kMaxSecretFile = 4096;
// A frame is stale when it is older than so many intervals, and than this.
constexpr int kFreshIntervals = 5;
constexpr auto kFreshAtLeast = std::chrono::seconds(10);

constexpr std::string_view kTextType = "text/plain; version=0.0.4; charset=utf-8";
constexpr std::string_view kOpenMetricsType =
    "application/openmetrics-text; version=1.0.0; charset=utf-8";

// OpenMetrics for who asks for it at least as eagerly as for text.
PageFormat format_for(std::string_view accept) {
  double open_metrics = 0;
  double text = 0;
  for (const MediaRange& range : parse_accept(accept)) {
    if (range.type == "application/openmetrics-text") {
      const bool known = range.version.empty() || range.version == "1.0.0";
      if (known) open_metrics = std::max(open_metrics, range.quality);
    } else if (range.type == "text/plain" || range.type == "text/*") {
      text = std::max(text, range.quality);
    }
  }
  return open_metrics > 0 && open_metrics >= text ? PageFormat::open_metrics : PageFormat::text;
}

Result<std::optional<std::string>> read_secret(const std::string& file) {
  if (file.empty()) return std::nullopt;
  auto text = read_file(file, kMaxSecretFile);
  if (!text) return with_context(std::move(text.error()), file);
  const std::string_view line = trim(split(*text, '\n').front());
  if (line.empty()) {
    return fail(ErrorKind::invalid, file + ": its first line is empty and should be the secret");
  }
  return std::string(line);
}

Result<HttpCredentials> read_credentials(const PrometheusSinkOptions& options) {
  auto basic = read_secret(options.basic_auth_file);
  if (!basic) return std::unexpected(std::move(basic.error()));
  if (*basic && !(*basic)->contains(':')) {
    return fail(ErrorKind::invalid,
                options.basic_auth_file + ": its first line should be user:password");
  }
  auto token = read_secret(options.token_file);
  if (!token) return std::unexpected(std::move(token.error()));
  return HttpCredentials{std::move(*basic), std::move(*token)};
}

HttpServerOptions server_options(const PrometheusSinkOptions& options) {
  HttpServerOptions server;
  server.address = options.address.empty() ? "127.0.0.1" : options.address;
  server.port = options.port;
  server.thread_name = "prometheus";
  server.tls_certificate = options.tls_certificate;
  server.tls_key = options.tls_key;
  server.tls_client_ca = options.tls_client_ca;
  return server;
}

class ServingSink final : public PrometheusSink {
 public:
  ServingSink(const PrometheusSinkOptions& options, Catalogue catalogue, const Clock& clock,
              PrometheusAbout about)
      : options_(options),
        catalogue_(catalogue),
        clock_(clock),
        about_(std::move(about)),
        page_(catalogue, options.families, options.max_series) {}

  Status begin() {
    if (auto credentials = read_credentials(options_); !credentials) {
      return std::unexpected(std::move(credentials.error()));
    }
    auto server = HttpServer::start(server_options(options_),
                                    [this](const HttpRequest& request) { return answer(request); });
    if (!server) return std::unexpected(std::move(server.error()));
    server_ = std::move(*server);
    return {};
  }

  [[nodiscard]] std::string_view name() const override { return "prometheus"; }
  [[nodiscard]] int port() const override { return server_->port(); }

  [[nodiscard]] Status consume(const Frame& frame) override {
    const std::scoped_lock lock(mutex_);
    newest_ = frame;  // into memory that is there already
    has_frame_ = true;
    if (left_out_ == 0) return {};
    return fail(ErrorKind::exhausted,
                fmt::format("{} series have no line on the page, which holds {}", left_out_,
                            options_.max_series));
  }
  [[nodiscard]] Status consume(const Event&) override { return {}; }

 private:
  // All below is on the server's thread.
  HttpResponse answer(const HttpRequest& request) {
    if (request.path == "/healthz") return {.body = "ok\n"};
    if (request.path == "/readyz") {
      return is_fresh() ? HttpResponse{.body = "ready\n"} : not_fresh();
    }
    if (request.path != "/metrics" && request.path != "/") {
      return {.status = 404, .body = "there is nothing here; the figures are at /metrics\n"};
    }
    const auto credentials = read_credentials(options_);
    if (!credentials) {
      return {.status = 503,
              .body = "nobody can be let in: the file of the password or token is not readable\n"};
    }
    if (!is_authorised(request.authorization, *credentials)) {
      return {.status = 401,
              .body = "a password or a token is needed\n",
              .authenticate = credentials->basic ? "Basic realm=\"dynolog\", charset=\"UTF-8\""
                                                 : "Bearer realm=\"dynolog\""};
    }
    return request.path == "/" ? index() : metrics(request);
  }

  [[nodiscard]] bool is_fresh() {
    const std::scoped_lock lock(mutex_);
    if (!has_frame_) return false;
    const Nanoseconds limit =
        std::max<Nanoseconds>(kFreshAtLeast, kFreshIntervals * about_.interval);
    return clock_.monotonic() - newest_.monotonic() <= limit;
  }

  static HttpResponse not_fresh() {
    return {.status = 503, .body = "there are no fresh figures; `dyno status` may say why\n"};
  }

  [[nodiscard]] HttpResponse index() const {
    return {.content_type = "text/html; charset=utf-8",
            .body = fmt::format(
                "<!DOCTYPE html>\n<html lang=\"en\"><head><title>dynolog</title></head>\n<body>"
                "<h1>dynolog {}</h1>\n<p><a href=\"/metrics\">Metrics</a> of this host, for "
                "Prometheus. <a href=\"/healthz\">Does it serve?</a> <a href=\"/readyz\">Are its "
                "figures fresh?</a></p>\n</body></html>\n",
                about_.version)};
  }

  HttpResponse metrics(const HttpRequest& request) {
    const auto collectors = query_values(request.query, "collect[]");
    if (!collectors) return {.status = 400, .body = collectors.error().message + "\n"};
    // One that there is not is left out already: scrape configs are written for many versions.
    const auto excluded = query_values(request.query, "exclude[]");
    if (!excluded) return {.status = 400, .body = excluded.error().message + "\n"};
    if (!collectors->empty() && !excluded->empty()) {
      return {.status = 400, .body = "collect[] and exclude[] exclude each other: give one\n"};
    }
    for (const std::string& name : *collectors) {
      if (!has_collector(catalogue_, name)) return unknown(name);
    }
    if (!is_fresh()) return not_fresh();
    {
      const std::scoped_lock lock(mutex_);
      rendered_ = newest_;
    }
    const PageFormat format = format_for(request.accept);
    HttpResponse response;
    response.content_type = format == PageFormat::text ? kTextType : kOpenMetricsType;
    response.body.reserve(page_bytes_ + page_bytes_ / 8);
    page_.render(rendered_, format, {.only = *collectors, .without = *excluded}, response.body);
    page_bytes_ = std::max(page_bytes_, response.body.size());
    const std::scoped_lock lock(mutex_);
    left_out_ = page_.left_out();
    return response;
  }

  [[nodiscard]] HttpResponse unknown(const std::string& name) const {
    std::vector<std::string_view> names;
    for (const CatalogueSection& section : catalogue_) names.push_back(section.name);
    return {.status = 400,
            .body = fmt::format("there is no collector '{}'; there are: {}\n", clean_text(name, 64),
                                fmt::join(names, ", "))};
  }

  const PrometheusSinkOptions options_;
  const Catalogue catalogue_;
  const Clock& clock_;
  const PrometheusAbout about_;

  std::mutex mutex_;  // guards what follows; held to copy a frame, never to render one
  Frame newest_;
  bool has_frame_ = false;
  std::size_t left_out_ = 0;

  // The server's thread's own.
  PrometheusPage page_;
  Frame rendered_;
  std::size_t page_bytes_ = 0;

  std::unique_ptr<HttpServer> server_;  // last: its thread uses all of the above
};

}  // namespace

Result<std::unique_ptr<PrometheusSink>> make_prometheus_sink(const PrometheusSinkOptions& options,
                                                             Catalogue catalogue,
                                                             const Clock& clock,
                                                             PrometheusAbout about) {
  auto sink = std::make_unique<ServingSink>(options, catalogue, clock, std::move(about));
  if (auto begun = sink->begin(); !begun) return std::unexpected(std::move(begun.error()));
  return sink;
}

}  // namespace dynolog
