// A trace session over the RPC: decoding, the service, the answer.
#include "rpc/methods/trace.h"

namespace dynolog::rpc {

void prepare_trace(const Request& request) {
  auto decoded = decode_prepare_request(request.text);
  if (!decoded) return request.responder->refuse(to_error_reply(decoded.error()));
  request.services.traces.prepare(request.caller, std::move(*decoded),
                                  reply_to<PrepareReply>(request.responder));
}

void commit_trace(const Request& request) {
  auto decoded = decode_commit_request(request.text);
  if (!decoded) return request.responder->refuse(to_error_reply(decoded.error()));
  request.services.traces.commit(request.caller, std::move(*decoded),
                                 reply_to<CommitReply>(request.responder));
}

void follow_trace(const Request& request) {
  const auto decoded = decode_session_request(request.text);
  if (!decoded) return request.responder->refuse(to_error_reply(decoded.error()));
  auto following = request.services.traces.follow(
      request.caller, *decoded, [responder = request.responder](const FollowFrame& frame) {
        responder->stream(encode(frame), frame.done);
      });
  if (!following) return request.responder->refuse(to_error_reply(following.error()));
  request.responder->keep(std::move(*following));
}

void cancel_trace(const Request& request) {
  auto decoded = decode_session_request(request.text);
  if (!decoded) return request.responder->refuse(to_error_reply(decoded.error()));
  request.services.traces.cancel(request.caller, std::move(*decoded),
                                 reply_to<CancelReply>(request.responder));
}

void fetch_trace(const Request& request) {
  auto decoded = decode_fetch_request(request.text);
  if (!decoded) return request.responder->refuse(to_error_reply(decoded.error()));
  request.services.traces.fetch(request.caller, std::move(*decoded),
                                reply_to<FetchReply>(request.responder));
}

void release_trace(const Request& request) {
  auto decoded = decode_release_request(request.text);
  if (!decoded) return request.responder->refuse(to_error_reply(decoded.error()));
  request.services.traces.release(request.caller, std::move(*decoded),
                                  reply_to<ReleaseReply>(request.responder));
}

void list_traces(const Request& request) {
  request.responder->answer(encode(request.services.traces.list_traces(request.caller)));
}

void delete_trace(const Request& request) {
  const auto decoded = decode_session_request(request.text);
  if (!decoded) return request.responder->refuse(to_error_reply(decoded.error()));
  reply_to<DeleteTraceReply>(request.responder)(
      request.services.traces.delete_trace(request.caller, *decoded));
}

}  // namespace dynolog::rpc
