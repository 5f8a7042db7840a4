// A small HTTP/1.1 client for posting to one server: a connection that is kept, TLS where it is
// asked for. Beast and OpenSSL stay in the .cpp.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/log.h"
#include "net/connector.h"

namespace dynolog {

struct HttpClientOptions {
  Destination to;
  std::string executable;  // see HostResolver
  std::string user_agent = "dynolog";

  bool tls = false;
  // PEM files. "": the system's CAs; a client's certificate and its key belong together. Renewed
  // files count from the next connection.
  std::string tls_ca{};
  std::string tls_certificate{};
  std::string tls_key{};
  // What a user can do when the server's certificate is not trusted, or ours is asked for.
  std::string ca_hint{};
  std::string certificate_hint{};

  std::size_t max_header_bytes = 16U << 10U;
  std::size_t max_body_bytes = 64U << 10U;  // of a reply; what is beyond is not read
};

struct HttpPost {
  std::string target;  // "/v1/metrics"
  std::vector<std::pair<std::string, std::string>> fields;
  std::shared_ptr<const std::string> body;
};

struct HttpReply {
  unsigned status = 0;
  std::string content_type{};
  std::string retry_after{};
  std::string body{};
};

// All on the loop's thread.
class HttpClient {
 public:
  using Done = std::function<void(Result<HttpReply>)>;

  // An error when the certificates cannot be used. `loop` and `log` outlive the client.
  [[nodiscard]] static Result<std::unique_ptr<HttpClient>> make(EventLoop& loop, Log& log,
                                                                HttpClientOptions options);
  // Gives up what is under way; its `done` is then not called.
  virtual ~HttpClient() = default;

  // The whole exchange within `patience`. Any status is a reply. Another call gives up the one
  // before. `done` is called later, never before this returns, and may post again.
  virtual void post(HttpPost post, std::chrono::milliseconds patience, Done done) = 0;
};

}  // namespace dynolog
