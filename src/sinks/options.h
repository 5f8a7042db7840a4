// The sinks' options.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace dynolog {

struct FileRotation {
  std::uint64_t max_bytes = 64U << 20U;  // 0: the file grows
  std::size_t keep = 4;                  // full ones; 0: the file is emptied
};

struct JsonSinkOptions {
  bool enabled = false;
  std::string file;  // "": standard output
  FileRotation rotation{};
  std::chrono::seconds interval{60};  // from line to line
  // What waits for a reader that does not read; older lines go first.
  std::size_t max_queued_bytes = 1U << 20U;
};

struct RelaySinkOptions {
  bool enabled = false;
  // A host's name, an IPv4 or IPv6 address, or the path of a unix socket: it begins with a '/', or
  // with an '@' for an abstract one.
  std::string address = "127.0.0.1";
  int port = 10'000;  // of TCP
  std::chrono::seconds interval{60};
  std::size_t max_queued_bytes = 1U << 20U;
};

struct OtlpSinkOptions {
  bool enabled = false;
  // http:// or https://, with a path; without one, /v1/metrics.
  std::string endpoint = "http://localhost:4318";
  std::string service_name;  // "": as resource_attributes has it, else dynolog
  std::vector<std::pair<std::string, std::string>> resource_attributes{};
  std::vector<std::pair<std::string, std::string>> headers{};
  bool compress = true;
  std::chrono::seconds interval{15};
  std::chrono::milliseconds timeout{30'000};  // of one request
  // Batches that wait for a receiver; older ones go first.
  std::size_t max_queued = 1000;
  std::size_t max_queued_bytes = 4U << 20U;
  // PEM files. "": the system's CAs; a client's certificate and its key belong together.
  std::string tls_ca{};
  std::string tls_certificate{};
  std::string tls_key{};
};

// Which families the page has, for hosts where another exporter has the others.
struct PrometheusFamilies {
  bool node = true;  // node_*: named as node_exporter names them
  bool dcgm = true;  // DCGM_*: named as dcgm-exporter names them
  bool own = true;   // the rest: dynolog_*, process_*
};

struct PrometheusSinkOptions {
  bool enabled = false;
  std::string address{};  // "": 127.0.0.1
  int port = 1779;        // 0: any free one
  PrometheusFamilies families{};
  // PEM files. Certificate and key belong together; a client CA needs them.
  std::string tls_certificate{};
  std::string tls_key{};
  std::string tls_client_ca{};
  // The first line is the secret: "user:password", or a token. Read at each request.
  std::string basic_auth_file{};
  std::string token_file{};
  std::size_t max_series = 100'000;  // more have no line
};

struct HistoryOptions {
  bool enabled = false;
  std::string directory{};     // "": history/ in the daemon's state directory
  std::int64_t mb = 256;       // on disk
  std::int64_t memory_mb = 4;  // where only memory is left
};

struct SinkOptions {
  JsonSinkOptions json;
  RelaySinkOptions relay;
  OtlpSinkOptions otlp;
  PrometheusSinkOptions prometheus;
};

}  // namespace dynolog
