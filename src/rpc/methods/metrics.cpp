// The history over the RPC: decoding, the service, the answer that it made.
#include "rpc/methods/metrics.h"

#include "rpc/protocol/metrics_codec.h"

namespace dynolog::rpc {
namespace {

MetricsService::DoneText reply_with_text(std::shared_ptr<Responder> responder) {
  return [responder = std::move(responder)](Result<std::string> json) {
    if (json) {
      responder->answer(std::move(*json));
    } else {
      responder->refuse(to_error_reply(json.error()));
    }
  };
}

}  // namespace

void query_metrics(const Request& request) {
  auto decoded = decode_query_metrics_request(request.text);
  if (!decoded) return request.responder->refuse(to_error_reply(decoded.error()));
  request.metrics.query(std::move(*decoded), reply_with_text(request.responder));
}

void list_metrics(const Request& request) {
  auto decoded = decode_list_metrics_request(request.text);
  if (!decoded) return request.responder->refuse(to_error_reply(decoded.error()));
  request.metrics.list(std::move(*decoded), reply_with_text(request.responder));
}

}  // namespace dynolog::rpc
