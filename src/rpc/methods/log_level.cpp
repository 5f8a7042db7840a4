// logLevel and setLogLevel: decoding, the service, the answer.
#include "rpc/methods/log_level.h"

namespace dynolog::rpc {

void log_level(const Request& request) {
  request.responder->answer(encode(request.services.log.log_level()));
}

void set_log_level(const Request& request) {
  const auto decoded = decode_set_log_level_request(request.text);
  if (!decoded) return request.responder->refuse(to_error_reply(decoded.error()));
  reply_to<LogLevelReply>(request.responder)(
      request.services.log.set_log_level(request.caller, *decoded));
}

}  // namespace dynolog::rpc
