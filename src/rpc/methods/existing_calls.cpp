// The five calls of existing dynolog clients.
#include "rpc/methods/existing_calls.h"

#include "rpc/protocol/legacy.h"

namespace dynolog::rpc {

void get_status(const Request& request) { request.responder->answer(encode_legacy_status(1)); }

void get_version(const Request& request) {
  request.responder->answer(encode_legacy_version(request.services.status.version()));
}

void set_kinet_on_demand_request(const Request& request) {
  auto decoded = decode_legacy_trace_request(request.text);
  if (!decoded) {
    const bool missing = decoded.error().kind == ErrorKind::not_found;
    request.responder->answer_failed(encode_legacy_failed(missing ? "" : decoded.error().message));
    return;
  }
  request.services.traces.legacy_trace(
      request.caller, std::move(*decoded),
      [responder = request.responder](Result<LegacyTraceReply> result) {
        if (result) {
          responder->answer(encode_legacy(*result));
        } else {
          responder->refuse(to_error_reply(result.error()));
        }
      });
}

// Nothing profiles the GPU yet, so there is nothing to pause: the answer is what the existing
// daemon gives without GPU monitoring.
void dcgm_prof_pause(const Request& request) {
  const auto seconds = decode_legacy_pause_seconds(request.text);
  if (seconds) {
    request.responder->answer(encode_legacy_bool_status(false));
    return;
  }
  const bool missing = seconds.error().kind == ErrorKind::not_found;
  request.responder->answer_failed(encode_legacy_failed(missing ? "" : seconds.error().message));
}

void dcgm_prof_resume(const Request& request) {
  request.responder->answer(encode_legacy_bool_status(false));
}

}  // namespace dynolog::rpc
