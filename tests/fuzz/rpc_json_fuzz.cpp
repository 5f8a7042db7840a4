// The RPC's decoders on arbitrary bytes: each gives a value or an error, and a value survives being
// encoded and decoded again.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "rpc/protocol/codec.h"
#include "rpc/protocol/legacy.h"
#include "rpc/protocol/metrics_codec.h"

namespace {

using namespace dynolog::rpc;

template <class Decode>
void there_and_back(std::string_view text, Decode decode) {
  const auto first = decode(text);
  if (!first) return;
  const std::string again = encode(*first);
  const auto second = decode(again);
  if (!second || encode(*second) != again) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  (void)decode_fn(text);
  (void)decode_error_reply(text);
  (void)decode_session_request(text);
  there_and_back(text, [](auto t) { return decode_prepare_request(t); });
  there_and_back(text, [](auto t) { return decode_commit_request(t); });
  there_and_back(text, [](auto t) { return decode_status_reply(t); });
  there_and_back(text, [](auto t) { return decode_list_processes_reply(t); });
  there_and_back(text, [](auto t) { return decode_prepare_reply(t); });
  there_and_back(text, [](auto t) { return decode_commit_reply(t); });
  there_and_back(text, [](auto t) { return decode_follow_frame(t); });
  there_and_back(text, [](auto t) { return decode_cancel_reply(t); });
  there_and_back(text, [](auto t) { return decode_socket_directory_reply(t); });
  there_and_back(text, [](auto t) { return decode_fetch_request(t); });
  there_and_back(text, [](auto t) { return decode_fetch_reply(t); });
  there_and_back(text, [](auto t) { return decode_release_request(t); });
  there_and_back(text, [](auto t) { return decode_release_reply(t); });
  there_and_back(text, [](auto t) { return decode_list_traces_reply(t); });
  there_and_back(text, [](auto t) { return decode_delete_trace_reply(t); });
  there_and_back(text, [](auto t) { return decode_diagnose_request(t); });
  there_and_back(text, [](auto t) { return decode_diagnose_reply(t); });
  there_and_back(text, [](auto t) { return decode_set_log_level_request(t); });
  there_and_back(text, [](auto t) { return decode_log_level_reply(t); });
  there_and_back(text, [](auto t) { return decode_query_metrics_request(t); });
  there_and_back(text, [](auto t) { return decode_query_metrics_reply(t); });
  there_and_back(text, [](auto t) { return decode_list_metrics_request(t); });
  there_and_back(text, [](auto t) { return decode_list_metrics_reply(t); });
  if (const auto request = decode_legacy_trace_request(text)) {
    const auto again = decode_legacy_trace_request(encode_legacy(*request));
    if (!again || again->config != request->config || again->pids != request->pids) std::abort();
  }
  (void)decode_legacy_trace_reply(text);
  (void)decode_legacy_status(text);
  (void)decode_legacy_version(text);
  (void)decode_legacy_pause_seconds(text);
  return 0;
}
