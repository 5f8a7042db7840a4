// A small HTTP/1.1 server for pages that a handler makes in memory: GET and HEAD, with TLS where it
// is asked for. Beast and OpenSSL stay in the .cpp.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/error.h"

namespace dynolog {

struct HttpRequest {         // views are valid during the handler's call
  std::string_view path{};   // as it was sent, not decoded
  std::string_view query{};  // without the '?'
  std::string_view accept{};
  std::string_view authorization{};
};

struct HttpResponse {
  unsigned status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::string body{};          // compressed on the way when it is large and the client takes gzip
  std::string authenticate{};  // with 401: the WWW-Authenticate field
};

// On the server's thread, one call at a time. Must not wait for anything.
using HttpHandler = std::function<HttpResponse(const HttpRequest&)>;

struct HttpServerOptions {
  std::string address;  // IPv4 or IPv6; "::" takes both families
  int port = 0;         // 0: any free one
  std::string thread_name = "http";

  // PEM files. Both or none; a client CA asks every client for a certificate of its own. Renewed
  // files count from the next connection; unreadable ones leave what was.
  std::string tls_certificate{};
  std::string tls_key{};
  std::string tls_client_ca{};

  // When all are in use the one that has waited longest for a request goes.
  std::size_t max_connections = 64;
  std::size_t max_header_bytes = 8192;
  std::chrono::milliseconds request_time{10'000};  // TLS handshake; a request once it has begun
  std::chrono::milliseconds reply_time{30'000};    // until the client has taken all of a reply
  std::chrono::milliseconds idle_time{120'000};    // between two requests
};

struct HttpCounters {
  std::uint64_t requests = 0;
  std::uint64_t refused = 0;    // unreadable requests and failed handshakes
  std::uint64_t timed_out = 0;  // clients that were too slow
  std::uint64_t evicted = 0;    // closed to make room
  std::uint64_t connections = 0;
};

// Serves on a thread of its own, which the destructor ends at once and joins.
class HttpServer {
 public:
  [[nodiscard]] static Result<std::unique_ptr<HttpServer>> start(HttpServerOptions options,
                                                                 HttpHandler handler);
  virtual ~HttpServer() = default;

  [[nodiscard]] virtual int port() const = 0;
  [[nodiscard]] virtual HttpCounters counters() const = 0;  // any thread
};

}  // namespace dynolog
