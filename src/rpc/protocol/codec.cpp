// Writer and reader walk the same list of fields (fields.h), so that the two cannot drift apart.
#include "rpc/protocol/codec.h"

#include <fmt/format.h>

#include <array>
#include <limits>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "rpc/protocol/fields.h"
#include "rpc/protocol/metrics_codec.h"
#include "rpc/protocol/metrics_fields.h"
#include "rpc/protocol/strict_json.h"

namespace dynolog::rpc {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

// Own methods carry names, paths and sentences, never bulk.
constexpr std::size_t kMaxStringBytes = 64U << 10U;
constexpr std::size_t kMaxElements = 100'000;

template <class T>
constexpr bool kIsOptional = false;
template <class T>
constexpr bool kIsOptional<std::optional<T>> = true;

std::string dump(const ordered_json& value) {
  return value.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

class Writer {
 public:
  explicit Writer(ordered_json start = ordered_json::object()) : out_(std::move(start)) {}

  template <class T>
  void operator()(const char* name, const T& value) {
    if constexpr (kIsOptional<T>) {
      if (value) out_[name] = json_of(*value);
    } else {
      out_[name] = json_of(value);
    }
  }
  [[nodiscard]] ordered_json take() { return std::move(out_); }

 private:
  template <class T>
  static ordered_json json_of(const T& value) {
    if constexpr (std::is_arithmetic_v<T> || std::same_as<T, std::string>) {
      return value;
    } else if constexpr (kIsOptional<T>) {
      return value ? json_of(*value) : ordered_json();
    } else {
      Writer writer;
      visit_fields(writer, value);
      return writer.take();
    }
  }
  template <class T>
  static ordered_json json_of(const std::vector<T>& values) {
    ordered_json array = ordered_json::array();
    for (const T& value : values) array.push_back(json_of(value));
    return array;
  }
  static ordered_json json_of(const std::vector<std::pair<std::string, std::uint64_t>>& counters) {
    ordered_json object = ordered_json::object();
    for (const auto& [name, value] : counters) object[name] = value;
    return object;
  }
  static ordered_json json_of(const MetricLabels& labels) {
    ordered_json object = ordered_json::object();
    for (const auto& [key, value] : labels.pairs) object[key] = value;
    return object;
  }
  // Pairs, since order and repetition mean something to the reader of a configuration.
  static ordered_json json_of(const std::vector<std::pair<std::string, std::string>>& settings) {
    ordered_json array = ordered_json::array();
    for (const auto& [key, value] : settings) {
      array.push_back(ordered_json::array({key, value}));
    }
    return array;
  }

  ordered_json out_;
};

enum class Missing : std::uint8_t { refused, left_unset };

// Stops at the first field that is missing or wrong, and names it.
class Reader {
 public:
  Reader(const json& object, std::string path, std::string& problem, Missing missing)
      : object_(object), path_(std::move(path)), problem_(problem), missing_(missing) {}

  template <class T>
  void operator()(const char* name, T& value) {
    if (!problem_.empty()) return;
    const auto found = object_.find(name);
    const std::string where = path_.empty() ? name : path_ + "." + name;
    if constexpr (kIsOptional<T>) {
      value.reset();
      if (found == object_.end() || found->is_null()) return;
      read(*found, where, value.emplace());
    } else {
      if (found == object_.end()) {
        if (missing_ == Missing::left_unset) return;
        problem_ = fmt::format("the field \"{}\" is missing", where);
        return;
      }
      read(*found, where, value);
    }
  }

 private:
  void wrong(const std::string& where, std::string_view what) {
    if (problem_.empty()) problem_ = fmt::format("the field \"{}\" is not {}", where, what);
  }

  template <class T>
  void read(const json& from, const std::string& where, T& value) {
    if constexpr (std::same_as<T, bool>) {
      if (!from.is_boolean()) return wrong(where, "true or false");
      value = from.get<bool>();
    } else if constexpr (std::integral<T>) {
      read_integer(from, where, value);
    } else if constexpr (std::floating_point<T>) {
      if (!from.is_number()) return wrong(where, "a number");
      value = from.get<T>();
    } else if constexpr (std::same_as<T, std::string>) {
      if (!from.is_string()) return wrong(where, "a string");
      const auto& text = from.get_ref<const std::string&>();
      if (text.size() > kMaxStringBytes) return wrong(where, "short enough (64 KiB)");
      value = text;
    } else if constexpr (kIsOptional<T>) {
      value.reset();
      if (!from.is_null()) read(from, where, value.emplace());
    } else {
      if (!from.is_object()) return wrong(where, "an object");
      Reader reader(from, where, problem_, missing_);
      visit_fields(reader, value);
    }
  }

  template <std::integral T>
  void read_integer(const json& from, const std::string& where, T& value) {
    if (from.is_number_unsigned()) {
      const auto number = from.get<std::uint64_t>();
      if (!std::in_range<T>(number)) return wrong(where, "in range");
      value = static_cast<T>(number);
    } else if (from.is_number_integer()) {
      const auto number = from.get<std::int64_t>();
      if (!std::in_range<T>(number)) return wrong(where, "in range");
      value = static_cast<T>(number);
    } else {
      wrong(where, "a whole number");
    }
  }

  [[nodiscard]] bool list(const json& from, const std::string& where) {
    if (!from.is_array()) {
      wrong(where, "a list");
    } else if (from.size() > kMaxElements) {
      wrong(where, "short enough");
    }
    return problem_.empty();
  }

  template <class T>
  void read(const json& from, const std::string& where, std::vector<T>& values) {
    if (!list(from, where)) return;
    values.clear();
    for (const json& element : from) {
      const std::string at = fmt::format("{}[{}]", where, values.size());
      read(element, at, values.emplace_back());
      if (!problem_.empty()) return;
    }
  }
  void read(const json& from, const std::string& where,
            std::vector<std::pair<std::string, std::uint64_t>>& counters) {
    if (!from.is_object() || from.size() > kMaxElements) return wrong(where, "an object");
    counters.clear();
    for (const auto& [name, value] : from.items()) {
      read_integer(value, where + "." + name, counters.emplace_back(name, 0).second);
      if (!problem_.empty()) return;
    }
  }
  void read(const json& from, const std::string& where, MetricLabels& labels) {
    if (!from.is_object() || from.size() > kMaxElements) return wrong(where, "an object");
    labels.pairs.clear();
    for (const auto& [name, value] : from.items()) {
      read(value, where + "." + name, labels.pairs.emplace_back(name, "").second);
      if (!problem_.empty()) return;
    }
  }
  void read(const json& from, const std::string& where,
            std::vector<std::pair<std::string, std::string>>& settings) {
    if (!list(from, where)) return;
    settings.clear();
    for (const json& pair : from) {
      if (!pair.is_array() || pair.size() != 2) return wrong(where, "a list of pairs");
      auto& [key, value] = settings.emplace_back();
      read(pair[0], where, key);
      read(pair[1], where, value);
      if (!problem_.empty()) return;
    }
  }

  const json& object_;
  std::string path_;
  std::string& problem_;
  Missing missing_;
};

template <class T>
std::string encode_reply(const T& reply) {
  Writer writer(ordered_json{{"schema", kSchema}});
  visit_fields(writer, reply);
  return dump(writer.take());
}

template <class T>
std::string encode_call(std::string_view fn, const T& request) {
  Writer writer(ordered_json{{"fn", std::string(fn)}});
  visit_fields(writer, request);
  return dump(writer.take());
}

template <class T>
Result<T> read_fields(const json& object, Missing missing = Missing::refused) {
  T value;
  std::string problem;
  Reader reader(object, "", problem, missing);
  visit_fields(reader, value);
  if (!problem.empty()) return fail(ErrorKind::invalid, clean_text(problem, 300));
  return value;
}

template <class T>
Result<T> decode_call(std::string_view text) {
  const auto object = parse_object(text);
  if (!object) return std::unexpected(object.error());
  return read_fields<T>(**object);
}

Result<ErrorReply> error_in(const json& object) {
  const auto found = object.find("error");
  if (found == object.end()) return fail(ErrorKind::not_found, "no error reply");
  if (!found->is_object()) return fail(ErrorKind::invalid, "the field \"error\" is not an object");
  return read_fields<ErrorReply>(*found);
}

template <class T>
Result<T> decode_reply(std::string_view text, Missing missing = Missing::refused) {
  const auto object = parse_object(text);
  if (!object) return with_context(object.error(), "reading the daemon's reply");
  if (const auto error = error_in(**object)) {
    return fail(kind_of_code(error->code), error->message);
  } else if (error.error().kind != ErrorKind::not_found) {
    return with_context(error.error(), "reading the daemon's reply");
  }
  const auto schema = (*object)->find("schema");
  if (schema == (*object)->end() || !schema->is_number_integer()) {
    return fail(ErrorKind::invalid, "the daemon's reply has no \"schema\" number");
  }
  if (*schema != kSchema) {
    return fail(ErrorKind::unavailable,
                fmt::format("the daemon speaks schema {}, this dyno speaks {}: use the dyno of the "
                            "daemon's version",
                            clean_text(schema->dump(), 20), kSchema));
  }
  auto reply = read_fields<T>(**object, missing);
  if (!reply) return with_context(reply.error(), "reading the daemon's reply");
  return reply;
}

struct CodeOfKind {
  std::string_view code;
  ErrorKind kind;
};
// The first code of a kind is what to_error_reply() gives.
constexpr std::array kCodes{
    CodeOfKind{"bad_request", ErrorKind::invalid},
    CodeOfKind{"ambiguous", ErrorKind::ambiguous},
    CodeOfKind{"denied", ErrorKind::denied},
    CodeOfKind{"not_identified", ErrorKind::not_identified},
    CodeOfKind{"not_found", ErrorKind::not_found},
    CodeOfKind{"unavailable", ErrorKind::unavailable},
    CodeOfKind{"unknown_method", ErrorKind::unavailable},
    CodeOfKind{"exhausted", ErrorKind::exhausted},
    CodeOfKind{"timed_out", ErrorKind::timed_out},
    CodeOfKind{"failed", ErrorKind::failed},
};

}  // namespace

std::string encode_request(std::string_view fn) {
  return dump(ordered_json{{"fn", std::string(fn)}});
}
std::string encode(const PrepareRequest& request) { return encode_call("prepareTrace", request); }
std::string encode(const CommitRequest& request) { return encode_call("commitTrace", request); }
std::string encode(const FetchRequest& request) { return encode_call("fetchTrace", request); }
std::string encode(const ReleaseRequest& request) { return encode_call("releaseTrace", request); }
std::string encode(const DiagnoseRequest& request) { return encode_call("diagnose", request); }
std::string encode(const SetLogLevelRequest& request) {
  return encode_call("setLogLevel", request);
}
std::string encode(const QueryMetricsRequest& request) {
  return encode_call("queryMetrics", request);
}
std::string encode(const ListMetricsRequest& request) {
  return encode_call("listMetrics", request);
}
std::string encode_request(std::string_view fn, const SessionRequest& request) {
  return encode_call(fn, request);
}

Result<std::string> decode_fn(std::string_view text) { return function_of(text); }
Result<PrepareRequest> decode_prepare_request(std::string_view text) {
  return decode_call<PrepareRequest>(text);
}
Result<CommitRequest> decode_commit_request(std::string_view text) {
  return decode_call<CommitRequest>(text);
}
Result<SessionRequest> decode_session_request(std::string_view text) {
  return decode_call<SessionRequest>(text);
}
Result<FetchRequest> decode_fetch_request(std::string_view text) {
  return decode_call<FetchRequest>(text);
}
Result<ReleaseRequest> decode_release_request(std::string_view text) {
  return decode_call<ReleaseRequest>(text);
}
Result<DiagnoseRequest> decode_diagnose_request(std::string_view text) {
  return decode_call<DiagnoseRequest>(text);
}
Result<SetLogLevelRequest> decode_set_log_level_request(std::string_view text) {
  return decode_call<SetLogLevelRequest>(text);
}

Result<QueryMetricsRequest> decode_query_metrics_request(std::string_view text) {
  return decode_call<QueryMetricsRequest>(text);
}
Result<ListMetricsRequest> decode_list_metrics_request(std::string_view text) {
  return decode_call<ListMetricsRequest>(text);
}

std::string encode(const ErrorReply& reply) {
  Writer writer;
  visit_fields(writer, reply);
  ordered_json out;
  out["error"] = writer.take();
  return dump(out);
}
std::string encode(const StatusReply& reply) { return encode_reply(reply); }
std::string encode(const ListProcessesReply& reply) { return encode_reply(reply); }
std::string encode(const PrepareReply& reply) { return encode_reply(reply); }
std::string encode(const CommitReply& reply) { return encode_reply(reply); }
std::string encode(const FollowFrame& frame) { return encode_reply(frame); }
std::string encode(const CancelReply& reply) { return encode_reply(reply); }
std::string encode(const FetchReply& reply) { return encode_reply(reply); }
std::string encode(const ReleaseReply& reply) { return encode_reply(reply); }
std::string encode(const ListTracesReply& reply) { return encode_reply(reply); }
std::string encode(const DeleteTraceReply& reply) { return encode_reply(reply); }
std::string encode(const DiagnoseReply& reply) { return encode_reply(reply); }
std::string encode(const SocketDirectoryReply& reply) { return encode_reply(reply); }
std::string encode(const LogLevelReply& reply) { return encode_reply(reply); }
std::string encode(const QueryMetricsReply& reply) { return encode_reply(reply); }
std::string encode(const ListMetricsReply& reply) { return encode_reply(reply); }

Result<StatusReply> decode_status_reply(std::string_view text) {
  return decode_reply<StatusReply>(text, Missing::left_unset);
}
Result<ListProcessesReply> decode_list_processes_reply(std::string_view text) {
  return decode_reply<ListProcessesReply>(text);
}
Result<PrepareReply> decode_prepare_reply(std::string_view text) {
  return decode_reply<PrepareReply>(text);
}
Result<CommitReply> decode_commit_reply(std::string_view text) {
  return decode_reply<CommitReply>(text);
}
Result<FollowFrame> decode_follow_frame(std::string_view text) {
  return decode_reply<FollowFrame>(text);
}
Result<CancelReply> decode_cancel_reply(std::string_view text) {
  return decode_reply<CancelReply>(text);
}
Result<FetchReply> decode_fetch_reply(std::string_view text) {
  return decode_reply<FetchReply>(text);
}
Result<ReleaseReply> decode_release_reply(std::string_view text) {
  return decode_reply<ReleaseReply>(text);
}
Result<ListTracesReply> decode_list_traces_reply(std::string_view text) {
  return decode_reply<ListTracesReply>(text);
}
Result<DeleteTraceReply> decode_delete_trace_reply(std::string_view text) {
  return decode_reply<DeleteTraceReply>(text);
}
Result<DiagnoseReply> decode_diagnose_reply(std::string_view text) {
  return decode_reply<DiagnoseReply>(text);
}
Result<SocketDirectoryReply> decode_socket_directory_reply(std::string_view text) {
  return decode_reply<SocketDirectoryReply>(text);
}
Result<LogLevelReply> decode_log_level_reply(std::string_view text) {
  return decode_reply<LogLevelReply>(text);
}
Result<QueryMetricsReply> decode_query_metrics_reply(std::string_view text) {
  return decode_reply<QueryMetricsReply>(text);
}
Result<ListMetricsReply> decode_list_metrics_reply(std::string_view text) {
  return decode_reply<ListMetricsReply>(text);
}
Result<ErrorReply> decode_error_reply(std::string_view text) {
  const auto object = parse_object(text);
  if (!object) return fail(ErrorKind::not_found, object.error().message);
  return error_in(**object);
}

ErrorReply to_error_reply(const Error& error) {
  for (const CodeOfKind& entry : kCodes) {
    if (entry.kind == error.kind) return {std::string(entry.code), error.message};
  }
  return {"failed", error.message};
}

ErrorKind kind_of_code(std::string_view code) {
  for (const CodeOfKind& entry : kCodes) {
    if (entry.code == code) return entry.kind;
  }
  return ErrorKind::failed;
}

}  // namespace dynolog::rpc
